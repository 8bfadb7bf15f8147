# SPDX-License-Identifier: MIT
"""Owns: the tests of tools/install_packages.sh on a made-up apt, of tools/demo.py, and of the words
that the Makefile gives to commands. Nothing is installed: apt-get, apt-cache and dpkg-query are
stand-ins.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from command import SOURCE

STAND_INS = {
    "dpkg-query": 'case "$4" in have*) printf "install ok installed";; *) exit 1;; esac',
    "apt-cache": 'case "$2" in new*) echo "Package: $2";; *) exit 100;; esac',
    "apt-get": 'echo "$*" >> "$APT_LOG"; echo "much of $1"; '
               'case "$*" in *broken*) exit 100;; esac',
    "sudo": 'exec "$@"',
}


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="talus-scripts-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in STAND_INS.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, stat.S_IRWXU)

    def install(self, *words):
        """The result, and what apt-get was asked to install."""
        log = os.path.join(self.folder, "log")
        result = subprocess.run(
            ["sh", f"{SOURCE}/tools/install_packages.sh", *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60,
            env={"PATH": f"{self.folder}:{os.environ['PATH']}", "APT_LOG": log})
        asked = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                asked = [line.split() for line in file if line.startswith("install ")]
            os.remove(log)
        return result, [[word for word in words if not word.startswith("-")][1:] for words in asked]

    def test_nothing_is_asked_where_all_is_there(self):
        result, asked = self.install("have-a", "unknown|have-b", "--optional", "have-c")
        self.assertEqual((result.returncode, result.stderr, asked), (0, "", []))

    def test_what_is_missing_is_installed(self):
        result, asked = self.install("have-a", "new-b", "unknown|new-c", "--optional", "new-d")
        self.assertEqual((result.returncode, asked), (0, [["new-b", "new-c", "new-d"]]))
        self.assertEqual(result.stdout + result.stderr, "talus: installing new-b new-c new-d\n")

    def test_what_apt_says_is_shown_where_it_fails(self):
        result, _ = self.install("new-broken")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("much of install", result.stderr)

    def test_an_unknown_name_is_an_error_and_nothing_is_installed(self):
        result, asked = self.install("new-a", "unknown-b", "unknown-c|unknown-d")
        self.assertEqual((result.returncode, asked), (1, []))
        self.assertEqual(result.stderr, "talus: apt has no package of the name: unknown-b "
                                        "unknown-c|unknown-d\n")

    def test_an_unknown_name_is_told_where_it_is_optional(self):
        result, asked = self.install("new-a", "--optional", "unknown-b", "new-c")
        self.assertEqual((result.returncode, asked), (0, [["new-a", "new-c"]]))
        self.assertIn("goes without unknown-b", result.stderr)
        result, asked = self.install("--optional", "unknown-b")
        self.assertEqual((result.returncode, asked), (0, []))


class Demo(unittest.TestCase):
    """The failures of tools/demo.py; that it works is shown by `make test-fresh`."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="talus-demo-")
        self.addCleanup(shutil.rmtree, self.folder)

    def demo(self, cmake):
        """The demo's result where cmake is this script."""
        path = os.path.join(self.folder, "cmake")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{cmake}\n")
        os.chmod(path, stat.S_IRWXU)
        return subprocess.run(
            [sys.executable, "-B", f"{SOURCE}/tools/demo.py", "--build", f"{self.folder}/build"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
            cwd=self.folder, env={"PATH": f"{self.folder}:{os.environ['PATH']}"})

    def test_a_build_that_fails_shows_the_end_of_its_log(self):
        result = self.demo("seq 100; echo bad luck >&2; exit 3")
        self.assertEqual(result.returncode, 1)
        lines = result.stdout.splitlines()
        self.assertEqual((lines[0], lines[1], lines[-1]), ("talus: building", "62", "bad luck"))
        self.assertIn(f"{self.folder}/build/demo.log", result.stderr)

    def test_a_program_that_fails_ends_the_demo(self):
        os.mkdir(f"{self.folder}/build")
        os.symlink("/bin/false", f"{self.folder}/build/talus")
        result = self.demo("exit 0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("talus: python3 ended with status 1", result.stderr)
        self.assertNotIn("page faults", result.stdout)

    def test_a_run_without_talus_ends_the_demo(self):
        os.mkdir(f"{self.folder}/build")
        os.symlink(shutil.which("env"), f"{self.folder}/build/talus")
        os.symlink(shutil.which("env"), f"{self.folder}/run")
        result = self.demo("exit 0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the wrong allocator is active", result.stderr)


@unittest.skipUnless(shutil.which("make"), "there is no make here")
class Make(unittest.TestCase):
    def test_a_prefix_with_a_space_is_one_word(self):
        result = subprocess.run(["make", "-n", "-C", SOURCE, "install", "PREFIX=/tmp/a b"],
                                stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        self.assertIn('--prefix "/tmp/a b"\n', result.stdout)


if __name__ == "__main__":
    unittest.main()
