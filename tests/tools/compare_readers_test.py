# SPDX-License-Identifier: MIT
"""Owns: the test of `talus compare` whose reader leaves: the rounds go on, the files get what they
are to get, and the program finds its signals as they were.
"""

import json
import signal
import subprocess
import unittest

from command import COMMAND, environment
from compare_test import Folder

SCRIPT = """#!/bin/sh
head -c 100000 /dev/zero
grep SigIgn /proc/self/status >&2
"""


class Readers(Folder):
    def test_a_reader_that_leaves_ends_nothing(self):
        file = self.path("result.json")
        words = self.words(("same",), "--show-output", "--json", file, self.script(SCRIPT))
        with subprocess.Popen([COMMAND, *words], env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            child.stdout.close()
            errors = child.stderr.read()
        self.assertEqual(child.returncode, 2, errors)
        self.assertIn("talus: the output cannot be written\n", errors)
        ignored = [int(line.split()[1], 16) for line in errors.splitlines() if "SigIgn" in line]
        self.assertEqual([mask >> (signal.SIGPIPE - 1) & 1 for mask in ignored], [0] * 8)
        with open(file, encoding="utf-8") as text:
            self.assertEqual(json.load(text)["rounds_done"], 3)


if __name__ == "__main__":
    unittest.main()
