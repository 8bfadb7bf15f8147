# SPDX-License-Identifier: MIT
"""Owns: `talus leak`, and `talus run --leak-check`, on a program that is known to leak."""

import os
import re
import signal
import subprocess
import time
import unittest

from process import COMMAND, REAL, Preloaded, program, talus

LEAKING = program("leaking")


def verdicts(text):
    """{function: (verdict, survival)}"""
    rows = re.findall(r"(?m)^ +\+[\d.]+ \w+ .* (\d+ %|-) +[\d.]+ \w+  (\w+) +(\w+) < main", text)
    return {name: (verdict, survive) for survive, verdict, name in rows}


class Leak(unittest.TestCase):
    def watch(self, pid):
        return talus("leak", "--for", "4s", "--every", "16KiB", pid)

    def assert_found(self, done):
        self.assertEqual(done.returncode, 23, done.stdout + done.stderr)
        found = verdicts(done.stdout)
        self.assertEqual(found["lose_blocks"], ("leaks", "100 %"), done.stdout)
        for cache in ("fill_cache", "turn_over"):
            self.assertIn(found.get(cache, ("steady",))[0], ("steady", "stopped"), done.stdout)
        self.assertIn("1 places grow as a leak does", done.stdout)

    def test_a_leak_beside_caches(self):
        with Preloaded(LEAKING, TALUS_PROFILE="16KiB") as process:
            self.assert_found(self.watch(process.pid))

    def test_a_process_that_was_started_plainly(self):
        options = {"TALUS_PRINT_STATS": "/dev/null", "TALUS_PRINT_STATS_TRIGGER": "2"}
        with Preloaded(LEAKING, **options) as process:
            self.assert_found(self.watch(process.pid))
            done = talus("profile", process.pid)
            self.assertEqual(done.returncode, 0, "the samples can still be read")

    def test_a_process_that_ends_meanwhile(self):
        with Preloaded(LEAKING, TALUS_PROFILE="16KiB") as process:
            with subprocess.Popen([COMMAND, "leak", "--for", "60s", str(process.pid)], text=True,
                                  stderr=subprocess.PIPE) as command:
                time.sleep(0.5)
                os.kill(process.pid, signal.SIGKILL)
                self.assertIn("ended", command.communicate(timeout=30)[1])
                self.assertEqual(command.returncode, 2)


class LeakCheck(unittest.TestCase):
    def run_checked(self, *words):
        return talus("run", "--leak-check", "--lib", REAL, "--", *words)

    def test_what_is_lost_is_told(self):
        done = self.run_checked(LEAKING, "lose")
        self.assertEqual((done.returncode, done.stdout), (23, ""), done.stderr)
        lost = re.search(r"lost ([\d.]+) MiB", done.stderr)
        self.assertAlmostEqual(float(lost[1]), 2.86, delta=1, msg=done.stderr)
        self.assertRegex(done.stderr, r"blocks  lose_blocks")
        self.assertNotIn("hold_blocks", done.stderr)

    def test_what_is_held_is_not_lost(self):
        done = self.run_checked(LEAKING, "hold")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_an_exit_by_another_thread(self):
        done = self.run_checked(LEAKING, "thread")
        self.assertEqual(done.returncode, 23, done.stderr)

    def test_the_status_of_the_program_goes_first(self):
        self.assertEqual(self.run_checked(LEAKING, "lose", "7").returncode, 7)
        self.assertEqual(self.run_checked("sh", "-c", "kill -KILL $$").returncode, 137)
        self.assertEqual(self.run_checked("sh", "-c", "kill -USR1 $$").returncode, 138)
        self.assertEqual(self.run_checked("/nowhere").returncode, 127)

    def test_a_signal_reaches_the_program(self):
        with subprocess.Popen([COMMAND, "run", "--leak-check", "--lib", REAL, "--", "sh", "-c",
                               "trap 'echo told; exit 0' TERM; echo ready; sleep 30 & wait"],
                              stdout=subprocess.PIPE, text=True) as command:
            self.assertEqual(command.stdout.readline(), "ready\n")
            command.terminate()
            self.assertEqual(command.stdout.readline(), "told\n")
        self.assertEqual(command.returncode, 0)

    def test_a_check_that_cannot_be_made_is_no_success(self):
        done = talus("run", "--leak-check", "--lib", REAL, "PROFILE=0", "--", "/bin/true")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no leak check", done.stderr)


if __name__ == "__main__":
    unittest.main()
