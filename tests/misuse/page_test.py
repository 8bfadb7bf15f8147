#!/usr/bin/env python3
"""Tests that docs/hardening.md is that of kept.json, and that its tables say what results say.

Made-up results; nothing is run. Only the standard library is used.
SPDX-License-Identifier: MIT
"""

import contextlib
import io
import json
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True  # the source folder stays clean

import cases  # noqa: E402
import page  # noqa: E402

KEPT_BYTES_MAX = 200_000


def run_of(name, verdict_of):
    """What run.py --json writes of one allocator; verdict_of(case) gives verdict and stage."""
    results = {}
    for case in cases.all_cases():
        verdict, stage = verdict_of(case)
        results[case.name] = {"verdict": verdict, "stage": stage}
    return {"allocators": [{"name": name, "variables": {}}], "results": {name: results}}


def by_size(case):
    return ("overlap", "later") if case.size == 24 else ("stopped", "free")


class Kept(unittest.TestCase):
    def test_the_page_is_that_of_the_kept_run(self):
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["page.py", "--check"]), \
                contextlib.redirect_stdout(said):
            self.assertEqual(page.main(), 0, said.getvalue())

    def test_it_is_small_and_of_rows_that_exist(self):
        text = page.KEPT.read_text(encoding="utf-8")
        self.assertLess(len(text), KEPT_BYTES_MAX)
        for column in json.loads(text):
            self.assertLessEqual(set(column["rows"]), set(cases.BY_NAME), column["name"])

    def test_it_has_the_modes_and_the_allocators_that_the_page_is_about(self):
        names = [column["name"] for column in json.loads(page.KEPT.read_text(encoding="utf-8"))]
        self.assertEqual(names[0], page.TALUS)
        self.assertTrue(any(name.startswith("glibc") for name in names))
        self.assertEqual(len(names), len(set(names)))


class Columns(unittest.TestCase):
    def test_a_run_becomes_a_letter_a_case(self):
        kept = []
        page.add(kept, run_of("a", by_size), "2026-01-01")
        row = cases.BY_NAME["double_free"]
        ways = len(cases.WAYS[row.ways])
        self.assertEqual(kept[0]["rows"]["double_free"],
                         " ".join(["O" * ways] + ["F" * ways] * (len(cases.SIZES) - 1)))

    def test_a_column_of_the_same_name_is_replaced_in_its_place(self):
        kept = []
        for name in ("a", "b"):
            page.add(kept, run_of(name, by_size), "2026-01-01")
        page.add(kept, run_of("a", lambda case: ("silent", "later")), "2026-01-02")
        self.assertEqual([(one["name"], one["date"]) for one in kept],
                         [("a", "2026-01-02"), ("b", "2026-01-01")])
        self.assertEqual(set(kept[0]["rows"]["double_free"]), {"-", " "})

    def test_a_new_mode_comes_behind_the_others(self):
        kept = []
        for name in ("Talus", "glibc", "Talus checked", "jemalloc"):
            page.add(kept, run_of(name, by_size), "2026-01-01")
        self.assertEqual([one["name"] for one in kept],
                         ["Talus", "Talus checked", "glibc", "jemalloc"])

    def test_an_error_of_the_suite_is_not_kept(self):
        self.assertRaises(KeyError, page.add, [], run_of("a", lambda case: ("error", "setup")), "")

    def test_each_verdict_has_a_letter_that_cells_order(self):
        for letter in page.LETTERS.values():
            self.assertTrue(letter == "." or letter in page.ORDER, letter)


class Tables(unittest.TestCase):
    def test_a_cell_counts_where_cases_differ(self):
        self.assertEqual(page.cell("SSS SSS ..."), "S")
        self.assertEqual(page.cell("OOO OOO"), "**O**")
        self.assertEqual(page.cell("S-O LLF"), "S 1, F 1, L 2, **O** 1, - 1")
        self.assertEqual(page.cell("... ..."), "")

    def test_shares_are_of_the_mistakes_that_were_made(self):
        self.assertEqual(page.share("SS--", "S"), "50 %")
        self.assertEqual(page.share("SS.h", "S"), "100 %")
        self.assertEqual(page.share("..", "S"), "")
        self.assertEqual(page.share("S" * 996 + "O" * 4, "O"), "0.4 %")
        self.assertEqual(page.share("S" * 996 + "O" * 4, "S"), "99.6 %")

    def test_a_page_without_a_block_is_refused(self):
        self.assertRaises(ValueError, page.fill_in, "# no blocks", [])

    def test_costs_are_those_of_the_first_allocator(self):
        text = page.costs_of({"date": "2026-01-01", "rounds": 3, "processors": 2,
                              "allocators": [{"name": "a"}, {"name": "b"}],
                              "least": {"sort": {"a": [2.0, 100], "b": [1.0, 150]}}})
        self.assertIn("| b | 0.50 |", text)
        self.assertIn("| b | 1.50 |", text)
        self.assertIn("3 rounds", text)

    def test_talus_alone_has_tables_by_size(self):
        kept = []
        for name in ("Talus checked", "glibc"):
            page.add(kept, run_of(name, by_size), "2026-01-01")
        text = page.by_size(kept)
        self.assertIn("**Talus checked**", text)
        self.assertNotIn("glibc", text)
        self.assertIn("| `free(p); free(p)` | **O** | F | F | F | F | F |", text)


if __name__ == "__main__":
    unittest.main()
