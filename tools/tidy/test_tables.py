#!/usr/bin/env python3
# What it owns: the proof that the rules on the tables of hooks, terms and lock ranks fire, and
# stay silent if the tables agree with the code. It must not know the other rules; test_tidy.py has
# these.
# SPDX-License-Identifier: MIT
"""Tests of tables.py, on made-up sources and a made-up page."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tables  # noqa: E402

LOW = "// A shelf\n// of slabs.\nTALUS_HOOK void wake(int now) noexcept;\n"
HIGH = "TALUS_HOOK void wake(int now) noexcept {\n}\n"
PAGE = """# The floors
## Hooks
| hook | declared in | defined in | what for |
|---|---|---|---|
| `wake` | heap/low.hpp | process/high.hpp | wakes |
## Glossary
| term | what it is | elsewhere called |
|---|---|---|
| shelf, shelf of slabs | slabs | bin |
"""
RANKS = "enum class LockRank : uint8_t {\n  heap,   // slabs\n  space,  // addresses\n};\n"
RANK_TABLE = """## Lock ranks
| rank | type | what it guards |
|---|---|---|
| heap | HeapLock | slabs |
| space | SpaceLock | addresses |
"""


class Tables(unittest.TestCase):
    def findings(self, page=PAGE, low=LOW, high=HIGH, ranks=""):
        with tempfile.TemporaryDirectory() as folder:
            files = {"src/heap/low.hpp": low, "src/process/high.hpp": high, tables.RANKS: ranks}
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)))
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return [finding[:2] for finding in tables.check_tables(folder, page, list(files))]

    def test_tables_that_agree(self):
        self.assertEqual(self.findings(), [])

    def test_a_hook_without_a_row(self):
        more = "[[noreturn]] TALUS_HOOK void end(const char* text,\n  int line) noexcept;\n"
        self.assertEqual(self.findings(low=LOW + more), [(1, "hook")])

    def test_a_row_without_a_hook(self):
        self.assertEqual(self.findings(low="// A shelf of slabs.\n", high=""), [(5, "hook")])

    def test_a_hook_that_moved(self):
        self.assertEqual(self.findings(low="// A shelf of slabs.\n", high=HIGH + LOW),
                         [(5, "hook")])

    def test_a_row_with_a_hole(self):
        self.assertEqual(self.findings(PAGE.replace("| wakes |", "|  |")),
                         [(5, "hook"), (1, "hook")])

    def test_a_term_that_the_code_has_not(self):
        self.assertEqual(self.findings(PAGE.replace("| shelf, ", "| shelf, rack, ")),
                         [(9, "glossary")])

    def test_ranks_that_agree(self):
        self.assertEqual(self.findings(RANK_TABLE + PAGE, ranks=RANKS), [])

    def test_ranks_in_another_order(self):
        swapped = RANKS.replace("heap,", "other,").replace("space,", "heap,").replace(
            "other,", "space,")
        self.assertEqual(self.findings(RANK_TABLE + PAGE, ranks=swapped), [(4, "lock-rank")])

    def test_a_rank_without_a_row(self):
        more = RANKS.replace("};", "  printer,\n};")
        self.assertEqual(self.findings(RANK_TABLE + PAGE, ranks=more), [(4, "lock-rank")])

    def test_a_rank_without_its_words(self):
        page = RANK_TABLE.replace("| addresses |", "| |") + PAGE
        self.assertEqual(self.findings(page, ranks=RANKS), [(5, "lock-rank")])

    def first(self, rows):
        return self.findings("## Floors\n| floor | folder | what |\n|---|---|---|\n"
                             "| 6 | heap | x |\n| 14 | process | x |\n"
                             "## Read first\n| folder | file | shows |\n|---|---|---|\n" + rows +
                             PAGE)

    def test_a_first_file_for_each_folder(self):
        self.assertEqual(self.first("| heap | low.hpp | a |\n| process | high.hpp | b |\n"), [])

    def test_a_first_file_that_is_gone_or_missing(self):
        self.assertEqual(self.first("| heap | gone.hpp | a |\n"),
                         [(9, "read-first"), (1, "read-first")])

    def test_too_many_terms(self):
        row = "| shelf | slabs | |\n"
        self.assertEqual(self.findings(PAGE + row * 39), [])
        self.assertEqual(self.findings(PAGE + row * 40), [(49, "glossary")])


if __name__ == "__main__":
    unittest.main()
