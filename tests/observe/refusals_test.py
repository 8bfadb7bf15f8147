# SPDX-License-Identifier: MIT
"""Owns: what the command says, and with which exit code, where it cannot look into a process."""

import os
import pwd
import shutil
import subprocess
import tempfile
import unittest

from process import COMMAND, Process, program, talus

AS_ROOT = os.geteuid() == 0


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


class Refusals(unittest.TestCase):
    def assert_refused(self, done, code, words):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("talus: "), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

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
        with reachable_command() as command, Process("static") as process:
            done = subprocess.run([command, "stats", str(process.pid)], preexec_fn=as_nobody,
                                  capture_output=True, text=True, check=False)
        self.assert_refused(done, 3, f"user {pwd.getpwuid(0).pw_name}")

    @unittest.skipUnless(AS_ROOT, "needs root")
    def test_of_a_set_user_id_program(self):
        with reachable_command() as command, tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            path = shutil.copy(program("static"), os.path.join(folder, "privileged"))
            os.chown(path, 65533, -1)
            os.chmod(path, 0o4755)
            child = subprocess.Popen([path], preexec_fn=as_nobody, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
            self.assertEqual(child.stdout.readline(), b"ready\n")
            done = subprocess.run([command, "stats", str(child.pid)], preexec_fn=as_nobody,
                                  capture_output=True, text=True, check=False)
            child.communicate(b"q")
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
            done = subprocess.run([command, "stats", str(child.pid)], preexec_fn=as_nobody,
                                  capture_output=True, text=True, check=False)
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
        for _ in range(20):
            process = Process("shared")
            reader = subprocess.Popen([COMMAND, "stats", "--json", str(process.pid)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.kill()
            process.__exit__()
            reader.communicate(timeout=30)
            self.assertIn(reader.returncode, (0, 1, 2, 3, 4))


class reachable_command:  # pylint: disable=invalid-name
    """A copy of the command that any user may start."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        return shutil.copy(COMMAND, self.folder)

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


if __name__ == "__main__":
    unittest.main()
