#!/usr/bin/env python3
# What it owns: the tests of plain_words.py on made-up tables and sources.
# It must not read the tree of the project, so that a change there does not change what is tested.
# SPDX-License-Identifier: MIT
"""Tests of the rules on words and sentences."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import plain_words   # noqa: E402
import source_text   # noqa: E402

PAGE = """## Retired words

| word | say | where |
|---|---|---|
| granule, granules | slice | both |
| shelf | bin | names |
| so many | the number | comments |
"""


def findings(text, page=PAGE, path="src/heap/heap.hpp"):
    retired = plain_words.RetiredWords(page)
    code, comments = source_text.split_cpp(text)
    return [finding[:2] for finding in plain_words.check_file(path, code, comments, retired)]


class PlainWords(unittest.TestCase):
    def test_a_retired_word_in_a_name_is_found(self):
        for name in ("granule_bytes", "NextGranule", "GRANULE", "is_granule_free"):
            self.assertEqual(findings(f"int a;\nint {name};\n"), [(2, "retired")], name)

    def test_a_word_that_only_contains_it_is_not(self):
        self.assertEqual(findings("int shelfish; int granularity;\n"), [])

    def test_a_retired_word_in_a_comment_is_found(self):
        self.assertEqual(findings("// A granule.\n"), [(1, "retired")])
        self.assertEqual(findings("// So many blocks.\n"), [(1, "retired")])

    def test_each_kind_of_row_is_for_its_place(self):
        self.assertEqual(findings("// A shelf.\nint so_many;\n"), [])

    def test_paths_in_comments_are_no_words(self):
        self.assertEqual(findings("// See heap/granule.hpp and granule().\n"), [])

    def test_other_folders_may_say_what_they_like(self):
        self.assertEqual(findings("int granule;\n", path="tests/unit/x_test.cpp"), [])

    def test_a_row_of_another_form_is_found(self):
        wrong = plain_words.RetiredWords(PAGE + "| guest | foreign block | somewhere |\n")
        self.assertEqual([problem[:2] for problem in wrong.problems], [(8, "retired")])

    def test_a_long_sentence_is_found_where_its_paragraph_begins(self):
        words = "word " * 16
        self.assertEqual(findings(f"int a;\n// A {words}\n// {words}.\n"), [(2, "sentence")])
        self.assertEqual(findings(f"// A {words}.\n// {words}.\n"), [])

    def test_tables_and_comments_behind_code_are_no_sentences(self):
        words = "word " * 16
        self.assertEqual(findings(f"// A  {words}\n// {words}\n"), [])
        self.assertEqual(findings(f"int a;  // {words}\nint b;  // {words}\n"), [])


if __name__ == "__main__":
    unittest.main()
