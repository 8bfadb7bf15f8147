# SPDX-License-Identifier: MIT
"""Owns: the test of `talus compare` in a process that has children already, as a shell has that
becomes the command: they go on, and are nothing that the program left behind.
"""

import json
import os
import signal
import subprocess
import unittest

from command import COMMAND, environment
from compare_test import PROGRAM, Folder

# Two jobs, one of them with a child, and one that has ended.
SHELL = """sleep 600 & echo $! >> "$0"
(sleep 600 & echo $! >> "$0"; echo $(exec sh -c 'echo $PPID') >> "$0"; wait) &
true &
while [ $(wc -l < "$0") -lt 3 ]; do sleep 0.01; done
exec "$@"
"""


def state(pid):
    """The letter that /proc has for the process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


class Jobs(Folder):
    def end(self, jobs):
        with open(jobs, encoding="utf-8") as file:
            for pid in map(int, file):
                if state(pid) is not None:
                    os.kill(pid, signal.SIGKILL)

    def compare_beside_jobs(self, act):
        jobs, file = self.path("jobs"), self.path("result.json")
        words = [COMMAND, *self.words(("same",), "--json", file), PROGRAM, act]
        self.addCleanup(self.end, jobs)
        subprocess.run(["sh", "-c", SHELL, jobs, *words], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=environment(COMPARE_LEFT=self.path("left")))
        with open(jobs, encoding="utf-8") as text:
            states = [state(int(pid)) for pid in text]
        with open(file, encoding="utf-8") as text:
            return states, " ".join(json.load(text)["notes"])

    def test_they_go_on(self):
        states, notes = self.compare_beside_jobs("work")
        self.assertEqual([letter in ("S", "R") for letter in states], [True] * 3, states)
        self.assertNotIn("left processes behind", notes)

    def test_what_the_program_leaves_behind_is_ended_beside_them(self):
        states, notes = self.compare_beside_jobs("leave")
        self.assertEqual([letter in ("S", "R") for letter in states], [True] * 3, states)
        self.assertIn("left processes behind", notes)
        with open(self.path("left"), encoding="utf-8") as text:
            self.assertEqual([pid for pid in text if state(int(pid)) is not None], [])


if __name__ == "__main__":
    unittest.main()
