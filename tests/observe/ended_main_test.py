# SPDX-License-Identifier: MIT
"""Owns: looks into a process whose main thread has ended while another goes on. The kernel shows
nothing of its memory under the process's own id."""

import json
import os
import re
import subprocess
import unittest

from process import COMMAND, Preloaded, look, program, rss_of, talus, wrong_sums

HELD_BYTES = 4096 * 5000


class EndedMain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.child = Preloaded(program("without_main"), TALUS_PROFILE="16KiB", TALUS_HELPER="0")
        cls.pid = cls.child.pid

    @classmethod
    def tearDownClass(cls):
        cls.child.close()

    def read(self, *words):
        done = talus(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_kernel_hides_its_memory(self):
        """Otherwise the other tests would prove nothing."""
        try:
            with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
                self.assertEqual(maps.read(), "")
        except ProcessLookupError:
            pass

    def test_stats(self):
        numbers = look(self.pid)
        self.assertEqual(wrong_sums(numbers), [])
        self.assertGreaterEqual(numbers["heap"]["live_bytes"], HELD_BYTES)
        self.assertEqual(numbers["process"]["id"], self.pid)
        self.assertGreaterEqual(numbers["process"]["resident_bytes"], HELD_BYTES)
        self.assertGreaterEqual(numbers["resident"]["total_bytes"], HELD_BYTES)

    def test_why(self):
        thread, = set(os.listdir(f"/proc/{self.pid}/task")) - {str(self.pid)}
        seen = json.loads(self.read("why", "--json", self.pid))
        self.assertEqual(seen["total_bytes"], rss_of(f"{self.pid}/task/{thread}"))
        self.assertEqual(sum(value for part in seen["parts"].values() for value in part.values()),
                         seen["total_bytes"] + seen["beyond_total_bytes"])

    def test_profile(self):
        text = self.read("profile", self.pid)
        size = re.search(r"(?m)^ +([\d.]+) MiB .*  hold < work < ", text)
        self.assertIsNotNone(size, text)
        self.assertLess(abs(float(size[1]) * (1 << 20) - HELD_BYTES), HELD_BYTES / 5)

    def test_top(self):
        rows = self.read("top", "--once", "--filter", "observe_without").splitlines()
        row, = [line.split() for line in rows[1:] if line.split()[:1] == [str(self.pid)]]
        self.assertRegex(row[3], r"\A(19|2\d)M\Z")

    def test_a_command(self):
        """The other thread takes it in one of its calls."""
        with subprocess.Popen([COMMAND, "ctl", "--wait", "60", str(self.pid), "trim"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as command:
            while command.poll() is None:
                self.child.ask("a")
            self.assertEqual(command.returncode, 0, command.stderr.read())


if __name__ == "__main__":
    unittest.main()
