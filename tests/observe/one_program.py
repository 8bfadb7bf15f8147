# SPDX-License-Identifier: MIT
"""Owns: a program that runs with a heap profile while all tests of a class look at it."""

import os
import tempfile
import unittest

from process import Preloaded, program, talus


class OneProgram(unittest.TestCase):
    PROGRAM = ""
    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.child = Preloaded(program(cls.PROGRAM), **cls.OPTIONS)

    @classmethod
    def tearDownClass(cls):
        cls.child.close()
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def profile(self, *words):
        done = talus("profile", *words, self.child.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout
