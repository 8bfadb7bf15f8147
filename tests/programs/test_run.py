#!/usr/bin/env python3
# What it owns: the proof that the runner of real programs fails when it must. No case may pass with
# a library that crashes, hangs, spoils memory, prints, or is never loaded.
# Each bad library is built here from a few lines of C and preloaded by the runner itself.
# Exits 77 without a C compiler (CC, default cc).
# SPDX-License-Identifier: MIT
"""Tests of the frame in harness.py."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402
import run  # noqa: E402

COMPILER = os.environ.get("CC", "cc")
HOOK = "__attribute__((constructor)) static void start(void)"
HEADERS = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdlib.h>\n#include <string.h>\n" \
          "#include <unistd.h>\n"


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def library(self, text):
        source, built = (os.path.join(self.folder.name, name) for name in ("x.c", "x.so"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(HEADERS + text + "\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"],
                       check=True, capture_output=True)
        return built

    def judge(self, library, function, needs=(), timeout=20):
        one = harness.Case("one", "light", needs, timeout, function)
        return harness.judge(one, os.path.join(self.folder.name, "base"), library)

    def sorted_lines(self, stage):
        return stage.run(["sort", stage.write("in", "b\na\nc\n" * 50)])

    def test_good_library_passes(self):
        verdict, note = self.judge(self.library(HOOK + "{}"), self.sorted_lines)
        self.assertEqual(verdict, "passed", note)
        self.assertIn("1 processes", note)

    def test_crash(self):
        verdict, note = self.judge(self.library(HOOK + "{ abort(); }"), self.sorted_lines)
        self.assertEqual(verdict, "failed")
        self.assertIn("SIGABRT", note)

    def test_hang(self):
        verdict, note = self.judge(self.library(HOOK + "{ for (;;) pause(); }"),
                                   self.sorted_lines, timeout=1)
        self.assertEqual(verdict, "failed")
        self.assertIn("timed out", note)

    def test_other_exit_code(self):
        verdict, note = self.judge(self.library(HOOK + "{ _exit(3); }"), self.sorted_lines)
        self.assertEqual(verdict, "failed")
        self.assertIn("exit code 3", note)

    def test_other_output(self):
        library = self.library(HOOK + '{ if (write(1, "x\\n", 2)) return; }')
        verdict, note = self.judge(library, self.sorted_lines)
        self.assertEqual((verdict, "the output differs" in note), ("failed", True))
        self.assertIn("+x", note)

    def test_spoilt_memory(self):
        library = self.library(
            "void* realloc(void* p, size_t n) {\n"
            "  static void* (*next)(void*, size_t);\n"
            '  if (!next) next = (void* (*)(void*, size_t))dlsym(RTLD_NEXT, "realloc");\n'
            "  char* q = next(p, n);\n  if (p && q && n > 300) memset(q, 'z', 300);\n"
            "  return q;\n}")
        verdict, _ = self.judge(library, lambda stage: stage.run(
            ["perl", "-e", "my $s = ''; $s .= $_ x 9 for 1..2000; print unpack('%32C*', $s)"]),
            needs=["perl"])
        self.assertIn(verdict, ("failed", "skipped"))
        self.assertEqual(verdict == "skipped", shutil.which("perl") is None)

    def test_library_that_is_not_loaded(self):
        verdict, note = self.judge("/nowhere/libtalus.so", self.sorted_lines)
        self.assertEqual(verdict, "failed")
        self.assertIn("0 of 1 processes loaded", note)

    def test_process_that_lost_the_library(self):
        def drops(stage):
            return stage.run(["bash", "-c", "unset LD_PRELOAD; sort /dev/null; true"])
        verdict, note = self.judge(self.library(HOOK + "{}"), drops)
        self.assertEqual(verdict, "failed")
        self.assertIn("1 of 2 processes", note)

    def test_failure_without_the_library_is_told_apart(self):
        verdict, note = self.judge(self.library(HOOK + "{}"), lambda stage: stage.run(["false"]))
        self.assertEqual(verdict, "failed")
        self.assertIn("already without", note)

    def test_missing_program_is_skipped(self):
        verdict, note = self.judge(self.library(HOOK + "{}"), self.sorted_lines,
                                   needs=["no-such-program"])
        self.assertEqual((verdict, note), ("skipped", "not installed: no-such-program"))

    def test_children_are_ended(self):
        started = []

        def leaves_one(stage):
            started.append(stage.start(["sleep", "1000"]))
            return stage.run(["true"])
        self.assertEqual(self.judge(self.library(HOOK + "{}"), leaves_one)[0], "passed")
        self.assertEqual([child.returncode for child in started], [-9, -9])


class Command(unittest.TestCase):
    def run_command(self, *arguments):
        here = os.path.dirname(os.path.abspath(__file__))
        return subprocess.run([sys.executable, "-B", os.path.join(here, "run.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def test_the_mode_is_that_of_the_programs(self):
        seen = []
        with mock.patch.dict(os.environ), \
                mock.patch.object(run, "run_cases", lambda *_: seen.append(
                    os.environ["TALUS_MODE"]) or {"passed": 1, "failed": 0, "skipped": 0}), \
                contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run.main(["--talus-lib", __file__, "--mode", "checked"]), 0)
        self.assertEqual(seen, ["checked"])

    def test_list_and_exit_codes(self):
        light, everything = (self.run_command("--list", "--set", name).stdout.split("\n")
                             for name in ("light", "all"))
        self.assertLess(set(light), set(everything))
        self.assertNotEqual(self.run_command("--talus-lib", "/nowhere.so").returncode, 0)
        nothing = self.run_command("--talus-lib", __file__, "--only", "no-such-case")
        self.assertEqual(nothing.stdout.strip(), "0 passed, 0 failed, 0 skipped")
        self.assertEqual(nothing.returncode, 1)


if __name__ == "__main__":
    if shutil.which(COMPILER) is None:
        print("skipped: no C compiler")
        sys.exit(77)
    unittest.main()
