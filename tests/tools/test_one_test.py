#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of `make test-one`: from the name of a test to what is built for it.

A made-up build folder stands for a real one; ninja and ctest are scripts that write down how they
were called.
"""
import contextlib
import io
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import test_one  # noqa: E402

OUTPUTS = ("unit/unit_heap", "unit/unit_base", "libtalus.so.0.1.0", "bench/all", "all")
SCRIPT = """#!/bin/sh
case "$*" in *targets*) cat "$BUILT/outputs"; exit;; esac
echo "$(basename "$0") $* filter=$GTEST_FILTER" >>"$BUILT/calls"
exit "${FAILS:-0}"
"""


class Build(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name).resolve() / "build"
        (self.build / "unit").mkdir(parents=True)
        (self.build / "outputs").write_text("".join(f"{one}: phony\n" for one in OUTPUTS))
        (self.build / "CTestTestfile.cmake").write_text(
            f'add_test([=[tidy.tree]=] "/usr/bin/python3" "/source/tidy.py")\n'
            f'set_tests_properties([=[tidy.tree]=] PROPERTIES  LABELS "tidy" '
            f'_BACKTRACE_TRIPLES "{self.build}/unit/unit_base;1;")\n'
            f'add_test([=[bench_kept]=] "/usr/bin/python3" "-m" "unittest")\n'
            f'set_tests_properties([=[bench_kept]=] PROPERTIES  ENVIRONMENT '
            f'"PROGRAMS={self.build}/bench")\n'
            f'add_test([=[entry.installed]=] "/usr/bin/cmake" "--install" "{self.build}")\n'
            f'subdirs("unit")\n')
        (self.build / "unit/CTestTestfile.cmake").write_text(
            f'add_test([=[unit.heap]=] "{self.build}/unit/unit_heap")\n'
            f'set_tests_properties([=[unit.heap]=] PROPERTIES  ENVIRONMENT '
            f'"LIBRARY={self.build}/libtalus.so.0.1.0;OTHER=1")\n'
            f'add_test([=[unit.base]=] "{self.build}/unit/unit_base" "--x")\n')

    def run_it(self, *words, fails="0"):
        programs = self.build / "programs"
        programs.mkdir(exist_ok=True)
        for name in ("ninja", "ctest"):
            (programs / name).write_text(SCRIPT)
            (programs / name).chmod(stat.S_IRWXU)
        path = f"{programs}:{os.environ['PATH']}"
        variables = {"PATH": path, "BUILT": str(self.build), "FAILS": fails}
        with mock.patch.dict(os.environ, variables), \
                contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()) as errors:
            os.environ.pop("GTEST_FILTER", None)
            status = test_one.main(["--build", str(self.build), "--jobs", "1", *words])
        calls = self.build / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return status, [line.replace(str(self.build), "B") for line in lines], errors.getvalue()

    def test_builds_the_program_and_the_library_that_the_test_names(self):
        status, calls, _ = self.run_it("unit.heap", "--filter", "Slab.*")
        self.assertEqual(0, status)
        self.assertEqual(
            ["ninja -C B -j 1 --quiet libtalus.so.0.1.0 unit/unit_heap filter=",
             r"ctest --test-dir B --output-on-failure -R ^(unit\.heap)$ filter=Slab.*"], calls)

    def test_a_folder_means_all_that_is_built_there(self):
        self.assertIn("--quiet bench/all ", self.run_it("bench_kept")[1][0])
        self.assertIn("--quiet all ", self.run_it("entry.installed")[1][-2])

    def test_a_script_builds_nothing(self):
        self.assertEqual(["ctest"], [call.split()[0] for call in self.run_it("tidy.tree")[1]])

    def test_an_expression_runs_all_that_it_finds(self):
        _, calls, _ = self.run_it("^unit")
        self.assertIn("libtalus.so.0.1.0 unit/unit_base unit/unit_heap", calls[0])
        self.assertIn(r"^(unit\.heap|unit\.base)$", calls[1])

    def test_a_wrong_name_says_which_there_are(self):
        status, calls, errors = self.run_it("heap.unit")
        self.assertEqual((2, []), (status, calls))
        self.assertIn("no test is named 'heap.unit'", errors)
        self.assertIn("  unit.heap\n", errors)

    def test_a_failed_build_ends_it(self):
        status, calls, _ = self.run_it("unit.heap", fails="3")
        self.assertEqual((1, 1), (status, len(calls)))


if __name__ == "__main__":
    unittest.main()
