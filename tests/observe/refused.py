# SPDX-License-Identifier: MIT
"""Owns: how a command is refused, and the users and programs to which the kernel refuses it."""

import os
import shutil
import subprocess
import tempfile
import unittest

from process import COMMAND, Process, program

AS_ROOT = os.geteuid() == 0


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


class reachable_command:  # pylint: disable=invalid-name
    """A copy of the command that any user may start."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        return shutil.copy(COMMAND, self.folder)

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def run_as_nobody(command, name, pid, *words):
    return subprocess.run([command, name, str(pid), *words], preexec_fn=as_nobody,
                          capture_output=True, text=True, check=False)


def asked_of_another_user(name, *words):
    """What the command says of a process of root, to a user who is not."""
    with reachable_command() as command, Process("static") as process:
        return run_as_nobody(command, name, process.pid, *words)


def asked_of_a_set_user_id_program(name, *words):
    with reachable_command() as command, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = shutil.copy(program("static"), os.path.join(folder, "privileged"))
        os.chown(path, 65533, -1)
        os.chmod(path, 0o4755)
        child = subprocess.Popen([path], preexec_fn=as_nobody, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        done = run_as_nobody(command, name, child.pid, *words)
        child.communicate(b"q")
        return done


class RefusedCase(unittest.TestCase):
    def assert_refused(self, done, code, words):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("talus: "), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)
