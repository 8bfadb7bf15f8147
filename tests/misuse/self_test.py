#!/usr/bin/env python3
"""Tests the misuse suite: an allocator with a known answer must get the verdict of it.

    self_test.py PROGRAM KNOWN_ANSWERS_LIBRARY

Owns: which answer of known_answers.c stands for which verdict. What needs no process is tested on
made-up ends of one. Only the standard library is used.
SPDX-License-Identifier: MIT
"""

import argparse
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import cases  # noqa: E402
import expected  # noqa: E402
import run  # noqa: E402

PROGRAM, LIBRARY = sys.argv[1], Path(sys.argv[2])
# answer, case, verdict as expected.csv writes it
KNOWN = (
    ("trusts", "double_free 64 own", "overlap"),
    ("trusts", "double_free 64 other-child-warm", "overlap"),
    ("trusts", "double_free_between 307200 gone", "overlap"),
    ("trusts", "double_free_concurrent 24 own", "overlap"),
    ("trusts", "realloc_freed_same 24 own", "overlap"),
    ("trusts", "free_moved 5120 own", "overlap"),
    ("ignores", "double_free 64 own", "silent"),
    ("aborts", "double_free 64 own", "stopped"),
    ("aborts", "double_free 5120 child", "stopped"),
    ("aborts", "double_free_crossed 64 other", "stopped"),
    ("aborts", "double_free_late 24 own", "overlap"),
    ("aborts_next", "double_free 64 own", "late"),
    ("faults", "double_free 64 own", "crash"),
    ("hangs", "double_free 64 own", "hang"),
    ("hangs", "double_free 64 child", "hang"),
    ("says", "double_free 64 own", "reported"),
    ("trusts", "usable_size_freed 64 own", "silent"),
    ("trusts", "overflow_1 24 own", "harmless"),
    ("trusts", "overflow_1_usable 24 own", "silent"),
    ("trusts", "string_end 5120 other", "harmless"),
    ("trusts", "underrun_1 64 own", "silent"),
    ("trusts", "write_after_free 64 own", "silent"),
    ("trusts", "uninitialised_read 64 own", "exposed"),
    ("zeroes", "uninitialised_read 64 own", "clean"),
    ("never_reuses", "uninitialised_read 5120 other", "clean"),
    ("trusts", "read_after_free 64 own", "exposed"),
    ("zeroes", "read_after_free 64 own", "clean"),
    ("trusts", "address_base 64 own", "foreseen"),
    ("scatters", "address_base 64 own", "varied"),
    ("trusts", "address_reuse 64 own", "foreseen"),
    ("never_reuses", "address_reuse 64 own", "varied"),
    ("trusts", "address_order 64 own", "foreseen"),
    ("trusts", "double_free 64 heap", "skip"),
)
TIMEOUT_SECONDS = 3


def case_of(name):
    row, size, way = name.split()
    return cases.Case(row, int(size), way)


class KnownAnswers(unittest.TestCase):
    def test_each_gets_its_verdict(self):
        for answer, name, verdict in KNOWN:
            with self.subTest(answer=answer, case=name):
                allocator = run.Allocator(answer, LIBRARY, {"KNOWN_ANSWER": answer})
                self.assertIn(case_of(name), cases.all_cases())
                result = run.run_case(PROGRAM, allocator, case_of(name), TIMEOUT_SECONDS)
                self.assertEqual(result.key, verdict, result)

    def test_a_library_that_is_none_is_an_error(self):
        allocator = run.Allocator("none", Path(__file__).resolve())
        result = run.run_case(PROGRAM, allocator, case_of("double_free 64 own"))
        self.assertEqual(result.verdict, "error")

    def test_what_a_line_says_is_kept(self):
        allocator = run.Allocator("says", LIBRARY, {"KNOWN_ANSWER": "says"})
        result = run.run_case(PROGRAM, allocator, case_of("double_free 64 own"))
        self.assertEqual(result.said, "known answers: double free\n")


class Ends(unittest.TestCase):
    def judge(self, status, out, said="", is_access=False, is_timed_out=False):
        return run.judge(run.Ended(status, is_timed_out, out, said), is_access)

    def test_a_fault_at_the_access_is_a_stop_and_in_a_call_a_crash(self):
        out = "stage setup 0x0\nstage wrong 0x10\n"
        self.assertEqual(self.judge(-signal.SIGSEGV, out, is_access=True).key, "stopped")
        self.assertEqual(self.judge(-signal.SIGSEGV, out).key, "crash")
        self.assertEqual(self.judge(-signal.SIGSEGV, out, said="why\n").key, "stopped")
        out += "stage free 0x10\n"
        self.assertEqual(self.judge(-signal.SIGSEGV, out, is_access=True).key, "crash@free")
        self.assertEqual(self.judge(-signal.SIGABRT, out, is_access=True).key, "stopped@free")
        out += "stage later 0x0\n"
        self.assertEqual(self.judge(-signal.SIGABRT, out, is_access=True).key, "late")

    def test_an_end_before_the_mistake_is_an_error(self):
        self.assertEqual(self.judge(-signal.SIGABRT, "stage setup 0x0\n").key, "error")
        self.assertEqual(self.judge(0, "stage setup 0x0\nstage wrong 0x10\n").key, "error")
        self.assertEqual(self.judge(2, "", said="misuse: no such row\n").key, "error")

    def test_a_time_limit_is_a_hang(self):
        out = "stage wrong 0x10\n"
        self.assertEqual(self.judge(-signal.SIGKILL, out, is_timed_out=True).key, "hang")
        self.assertEqual(self.judge(-signal.SIGXCPU, out).key, "hang")

    def test_the_pointer_is_that_of_the_last_wrong_call(self):
        out = "stage wrong 0x10\nstage wrong 0x20\nstage later 0x0\nverdict silent it is\n"
        result = self.judge(0, out)
        self.assertEqual((result.pointer, result.detail), ("0x20", "it is"))


class Expected(unittest.TestCase):
    RULES = (("default", "a", "24", "*", "stopped", "double"), ("default", "a", "*", "own|child",
             "overlap|late", ""), ("default", "b", "*", "*", "late", "double_at_any"))
    LINE = "talus: double free of 0x10 (a free block of 32 bytes)\n"

    def faults(self, results, is_whole=False):
        rules = [expected.Rule(*fields, number) for number, fields in enumerate(self.RULES, 1)]
        read, expected.read_rules = expected.read_rules, lambda: rules
        try:
            return expected.faults_of("default", results, is_whole)
        finally:
            expected.read_rules = read

    def fault(self, case, verdict, said="", pointer="0x10", stage="wrong"):
        return self.faults({case: run.Result(verdict, stage, pointer, said)})

    def test_the_first_rule_that_fits_counts(self):
        small, large = cases.Case("a", 24, "own"), cases.Case("a", 64, "own")
        self.assertEqual(self.fault(small, "stopped", self.LINE), [])
        self.assertEqual(len(self.fault(small, "overlap")), 1)
        self.assertEqual(self.fault(large, "overlap"), [])
        self.assertEqual(self.fault(large, "late"), [])
        self.assertEqual(len(self.fault(large, "stopped", self.LINE)), 1)

    def test_the_line_must_be_exact(self):
        case = cases.Case("a", 24, "own")
        for said in ("", self.LINE + "\n", self.LINE.replace("0x10", "0x18"), "x" + self.LINE):
            self.assertEqual(len(self.fault(case, "stopped", said)), 1, said)
        self.assertEqual(len(self.fault(cases.Case("a", 64, "own"), "overlap", "more")), 1)
        self.assertEqual(self.fault(cases.Case("b", 64, "own"), "late",
                                    self.LINE.replace("0x10", "0x18")), [])

    def test_a_stop_at_a_later_call_is_another_verdict(self):
        case = cases.Case("a", 24, "own")
        self.assertEqual(len(self.fault(case, "stopped", self.LINE, stage="free")), 1)

    def test_each_case_needs_a_rule_and_each_rule_a_case(self):
        self.assertIn("no rule", self.fault(cases.Case("a", 64, "other"), "silent")[0])
        result = run.Result("stopped", "wrong", "0x10", self.LINE)
        faults = self.faults({cases.Case("a", 24, "own"): result}, is_whole=True)
        self.assertEqual(len(faults), 2)
        self.assertIn("never needed", faults[0])


class Names(unittest.TestCase):
    def test_the_program_has_the_rows_of_cases_py(self):
        listed = subprocess.run([PROGRAM, "--rows"], check=True, capture_output=True, text=True)
        self.assertEqual(listed.stdout.split(), [row.name for row in cases.ROWS])

    def test_each_rule_names_rows_sizes_ways_and_lines_that_exist(self):
        sizes, ways = {str(size) for size in cases.SIZES}, set().union(*cases.WAYS.values())
        for rule in expected.read_rules():
            for field, known in ((rule.row, set(cases.BY_NAME)), (rule.bytes, sizes),
                                 (rule.way, ways)):
                for part in field.split("|"):
                    self.assertTrue(any(expected.fits(part, value) for value in known), rule)
            for line in rule.line.split("|"):
                self.assertIn(line.removesuffix(expected.ANY_POINTER), expected.LINES, rule)

    def test_a_way_and_its_parts_are_the_same(self):
        for way in set().union(*cases.WAYS.values()):
            self.assertEqual(cases.way_name(cases.way_parts(way)), way)
        self.assertEqual(cases.way_parts("other-child-heap"), ("other", "child", "heap", "fresh"))

    def test_an_allocator_has_variables_with_commas(self):
        found = run.parse_allocator(f"a={LIBRARY},X=1,2,TALUS_MODE=mapped")
        self.assertEqual(found.variables, {"X": "1,2", "TALUS_MODE": "mapped"})
        self.assertIsNone(run.parse_allocator("glibc=").library)
        for wrong in ("glibc", "=x", "a=/no/such/library.so"):
            self.assertRaises(argparse.ArgumentTypeError, run.parse_allocator, wrong)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
