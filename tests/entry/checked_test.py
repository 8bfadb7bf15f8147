#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/entry/checked_test: TALUS_MODE=checked by way of every entry, and from where it may come.

Owns: that the mode holds in the program whose section of a configuration file asks for it, and in
no other.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import unittest

options = None


def run(**environment):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("TALUS_", "LD_PRELOAD"))}
    clean |= {"TALUS_CONFIG": "none"} | environment
    if options.preload:
        clean["LD_PRELOAD"] = options.preload
    return subprocess.run([options.program], env=clean, stdin=subprocess.DEVNULL, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Checked(unittest.TestCase):
    def expect_stop(self, **environment):
        result = run(**environment)
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGABRT, ""))
        self.assertRegex(result.stderr,
                         r"^talus: double free of 0x[0-9a-f]+ \(a free block of 64 bytes\)\n$")

    def expect_passed(self, **environment):
        result = run(**environment)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "passed\n", ""))

    def in_file(self, *lines):
        file = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.addCleanup(file.close)
        print(*lines, sep="\n", file=file, flush=True)
        return file.name

    def test_the_environment(self):
        self.expect_passed()
        self.expect_stop(TALUS_MODE="checked")
        self.expect_passed(TALUS_MODE="none")

    def test_the_section_of_a_program(self):
        name = os.path.basename(options.program)
        own = self.in_file("mode = none", f"[{name}]", "mode = checked")
        self.expect_stop(TALUS_CONFIG=own)
        self.expect_stop(TALUS_CONFIG=self.in_file(f"[{name[:-2]}*]", "mode = checked"))
        self.expect_passed(TALUS_CONFIG=own, TALUS_MODE="none")

    def test_the_section_of_another_program(self):
        self.expect_passed(TALUS_CONFIG=self.in_file("[of_no_program]", "mode = checked"))
        name = os.path.basename(options.program)
        self.expect_passed(TALUS_CONFIG=self.in_file("mode = checked", f"[{name}]", "mode = none"))

    def test_the_home_of_a_user(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(home + "/.config")
            with open(home + "/.config/talus.conf", "w") as file:
                print(f"[{os.path.basename(options.program)}]\nmode = checked", file=file)
            self.expect_stop(HOME=home, TALUS_CONFIG="")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preload", default="")
    parser.add_argument("program")
    options = parser.parse_args()
    sys.exit(not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful())
