# SPDX-License-Identifier: MIT
"""Owns: what the command says, and with which exit code, where it cannot look into a process."""

import os
import pwd
import shutil
import subprocess
import time
import unittest

from process import COMMAND, Process, talus
from refused import (AS_ROOT, RefusedCase, as_nobody, asked_of_a_set_user_id_program,
                     asked_of_another_user, reachable_command, run_as_nobody)


class Refusals(RefusedCase):
    def test_no_such_process(self):
        self.assert_refused(talus("stats", 4194305), 2, "no such process")

    def test_wrong_use(self):
        for words in (["12x"], ["-1"], ["0"], ["99999999999999"], []):
            self.assertEqual(talus("stats", *words).returncode, 2, words)
        self.assertEqual(talus("stats", "--json", "--csv", "1").returncode, 2)
        for seconds in ("x", "0", "-1", "nan", "1e9", ""):
            done = talus("stats", f"--watch={seconds}", os.getpid())
            self.assertNotEqual(done.returncode, 0, seconds)

    def test_not_talus(self):
        with subprocess.Popen([shutil.which("sleep"), "60"]) as child:
            done = talus("stats", child.pid)
            child.kill()
        self.assert_refused(done, 1, "no Talus in it")

    def test_a_process_that_has_ended(self):
        with subprocess.Popen([shutil.which("true")]) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.assert_refused(talus("stats", child.pid), 2, "has ended")

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_of_another_user(self):
        done = asked_of_another_user("stats")
        self.assert_refused(done, 3, f"user {pwd.getpwuid(0).pw_name}")

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_of_a_set_user_id_program(self):
        done = asked_of_a_set_user_id_program("stats")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_not_dumpable(self):
        script = ("import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0);"
                  "print('ready', flush=True); input()")
        if not os.access("/usr/bin/python3", os.X_OK):
            self.skipTest("needs an interpreter that any user may start")
        with reachable_command() as command:
            child = subprocess.Popen(["/usr/bin/python3", "-c", script], text=True,
                                     preexec_fn=as_nobody, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
            child.stdout.readline()
            done = run_as_nobody(command, "stats", child.pid)
            child.communicate("\n")
        self.assert_refused(done, 3, "not dumpable")

    def test_child_of_vfork(self):
        with Process("shared") as process:
            process.ask("v")
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                child = int(file.read().split()[0])
            done = talus("stats", child)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"shares its memory with process {process.pid}", done.stderr)
            process.ask("x")  # for the child

    def test_a_process_that_is_killed_meanwhile(self):
        """It was looked at in time, or is gone. No look finds its heap damaged."""
        for i in range(40):
            process = Process("shared")
            reader = subprocess.Popen([COMMAND, "stats", "--json", str(process.pid)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(i / 2000)
            process.kill()
            process.__exit__()
            complaints = reader.communicate(timeout=30)[1].decode()
            self.assertIn(reader.returncode, (0, 2), complaints)


if __name__ == "__main__":
    unittest.main()
