# SPDX-License-Identifier: MIT
"""Owns: one reader at 100 looks a second beside random calls, and what the program holds at rest.

TALUS_TEST_SECONDS: how long; a `soak` test has ten minutes.
"""

import json
import os
import select
import subprocess
import time
import unittest

from process import COMMAND, Process, wrong_sums

LOOKS_A_SECOND = 100
SECONDS = float(os.environ.get("TALUS_TEST_SECONDS", "6"))
IS_SOAK = "TALUS_TEST_SECONDS" in os.environ  # on an idle machine
BUSY_S, LOOKS_AT_REST = 0.3, 4


class Reader:
    """`talus stats --watch`: a line of JSON each look."""

    def __init__(self, pid):
        words = [COMMAND, "stats", "--json", f"--watch={1 / LOOKS_A_SECOND}", str(pid)]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      bufsize=0)
        self.rest = b""

    def look(self):
        while b"\n" not in self.rest:
            more = os.read(self.child.stdout.fileno(), 1 << 16)
            assert more, self.child.stderr.read().decode()
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def look_that_begins_now(self):
        """Leaves out what is on its way, and one look more, which may have begun before."""
        while select.select([self.child.stdout], [], [], 0)[0]:
            self.rest = os.read(self.child.stdout.fileno(), 1 << 16)
            assert self.rest, self.child.stderr.read().decode()
        self.rest = self.rest.rpartition(b"\n")[2]
        self.look()
        return self.look()

    def end(self):
        """The exit status after the process has ended, and the complaints."""
        complaints = self.child.communicate(timeout=30)[1].decode()
        return self.child.returncode, complaints


class Looks(unittest.TestCase):
    def setUp(self):
        self.looks = self.consistent = 0

    def check(self, seen):
        self.looks += 1
        self.consistent += seen["consistent"]
        self.assertEqual(wrong_sums(seen), [], seen)
        return seen

    def test_beside_random_calls(self):
        at_rest = 0
        with Process("shared", TALUS_HELPER="1") as process:
            reader = Reader(process.pid)
            others = self.check(reader.look())["heap"]["live_bytes"] - int(process.ask("h"))
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                process.ask("b")
                pause = time.monotonic() + BUSY_S
                while time.monotonic() < pause:
                    self.check(reader.look())
                held = int(process.ask("h"))
                self.check(reader.look_that_begins_now())
                for _ in range(LOOKS_AT_REST):
                    seen = self.check(reader.look())
                    # The helper may move free memory just then, never a live block.
                    self.assertEqual(seen["heap"]["live_bytes"], held + others)
                    at_rest += seen["consistent"]
            if IS_SOAK:
                reader.look_that_begins_now()
                begin = time.monotonic()
                for _ in range(2 * LOOKS_A_SECOND):
                    self.check(reader.look())
                self.assertLess(time.monotonic() - begin, 2.2)
        status, complaints = reader.end()
        self.assertEqual((status, complaints), (0, ""))
        print(f"{self.looks} looks, {self.consistent} of them consistent, {at_rest} at rest")
        self.assertGreater(at_rest, 0)


if __name__ == "__main__":
    unittest.main()
