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
| drop_* | purge_ | names |
"""


def findings(text, page=PAGE, path="src/heap/heap.hpp"):
    retired = plain_words.RetiredWords(page)
    parts = source_text.split_cpp(text)
    return [finding[:2] for finding in plain_words.check_cpp(path, *parts, retired)]


def hash_findings(text, path="tests/entry/x_test.py"):
    retired = plain_words.RetiredWords(PAGE)
    comments = source_text.hash_comments(text)
    return sorted(finding[:2] for finding in plain_words.check_hash(path, text, comments, retired))


class PlainWords(unittest.TestCase):
    def test_a_retired_word_in_a_name_is_found(self):
        for name in ("granule_bytes", "NextGranule", "GRANULE", "is_granule_free"):
            self.assertEqual(findings(f"int a;\nint {name};\n"), [(2, "retired")], name)

    def test_a_word_that_only_contains_it_is_not(self):
        self.assertEqual(findings("int shelfish; int granularity;\n"), [])

    def test_a_retired_opening_is_found_at_the_start_of_a_name_alone(self):
        self.assertEqual(findings("void drop_pages();\n"), [(1, "retired")])
        self.assertEqual(findings("void may_drop_it(); int drop;\n"), [])

    def test_a_retired_word_in_a_comment_is_found(self):
        self.assertEqual(findings("// A granule.\n"), [(1, "retired")])
        self.assertEqual(findings("// So many blocks.\n"), [(1, "retired")])

    def test_each_kind_of_row_is_for_its_place(self):
        self.assertEqual(findings("// A shelf.\nint so_many;\n"), [])

    def test_paths_in_comments_are_no_words(self):
        self.assertEqual(findings("// See heap/granule.hpp and granule().\n"), [])

    def test_a_phrase_is_found_across_lines(self):
        self.assertEqual(findings("int a;\n// A list of so\n//   many blocks.\n"), [(2, "retired")])
        self.assertEqual(findings("int a;  // so\nint many;\n"), [])
        self.assertEqual(findings("// Or so\nint a;\n// many blocks.\n"), [])
        self.assertEqual(hash_findings("# A list of so\n# many blocks.\n"), [(1, "retired")])

    def test_cited_words_are_names(self):
        self.assertEqual(findings('// Mode `granule` and option "granule".\n'), [])

    def test_strings_of_tests_are_read(self):
        text = 'EXPECT_TRUE(a) << "takes so many blocks";\n'
        self.assertEqual(findings(text, path="tests/unit/x_test.cpp"), [(1, "retired")])
        self.assertEqual(findings(text, path="bench/workloads/x.cpp"), [])
        self.assertEqual(findings('#include "so many.hpp"\nchar c = \'"\'; int so_many;\n'), [])

    def test_each_folder_has_its_rules(self):
        for folder in ("src", "include", "tests", "tools", "examples"):
            self.assertEqual(findings("int granule;\n", path=f"{folder}/x.cpp"), [(1, "retired")])
        self.assertEqual(findings("int granule;\n", path="bench/x.cpp"), [])
        for folder in ("tests", "tools", "bench", "cmake"):
            self.assertEqual(hash_findings("# A granule.\n", f"{folder}/CMakeLists.txt"),
                             [(1, "retired")])
        self.assertEqual(hash_findings("# A granule.\n", "Makefile"), [])
        self.assertEqual(findings("// A granule.\nint granule;\n", path="docs/x.cpp"), [])

    def test_a_relative_without_antecedent_is_found(self):
        self.assertEqual(findings("// Who frees waits.\n"), [(1, "relative")])
        self.assertEqual(findings("// The list is long; who frees waits.\n"), [(1, "relative")])
        self.assertEqual(findings("// Whoever frees waits.\n"), [(1, "relative")])
        self.assertEqual(hash_findings("# It ends. Who frees waits.\n"), [(1, "relative")])
        self.assertEqual(findings("// Who frees it? The owner, who has the lock.\n"), [])

    def test_docstrings_are_comments(self):
        long = "word " * 31
        self.assertEqual(hash_findings(f'def f():\n    """A.\n\n    {long}.\n    """\n'),
                         [(4, "sentence")])
        self.assertEqual(hash_findings('class A:\n    """A granule."""\n'), [(2, "retired")])
        self.assertEqual(hash_findings(f'text = "granule {long}"\n'), [])
        self.assertEqual(hash_findings(f'text = """\n# A granule {long}\n"""\n'), [])
        self.assertEqual(hash_findings("def f(:\n"), [])

    def test_a_row_of_another_form_is_found(self):
        wrong = plain_words.RetiredWords(PAGE + "| guest | foreign block | somewhere |\n")
        self.assertEqual([problem[:2] for problem in wrong.problems], [(9, "retired")])

    def test_a_long_sentence_is_found_where_its_paragraph_begins(self):
        words = "word " * 16
        self.assertEqual(findings(f"int a;\n// A {words}\n// {words}.\n"), [(2, "sentence")])
        self.assertEqual(findings(f"// A {words}.\n// {words}.\n"), [])

    def test_block_comments_have_sentences(self):
        words = "word " * 16
        head = "/* SPDX-License-Identifier: MIT\n *\n"
        self.assertEqual(findings(f"{head} * A {words}\n * {words}.\n */\n"), [(3, "sentence")])
        self.assertEqual(findings(f"/* A {words}\n * {words}. */\n"), [(1, "sentence")])
        self.assertEqual(findings(f"/* A {words}.\n * {words}. */\nint a = b\n * c;\n"), [])

    def test_tables_and_comments_behind_code_are_no_sentences(self):
        words = "word " * 16
        self.assertEqual(findings(f"// A  {words}\n// {words}\n"), [])
        self.assertEqual(findings(f"int a;  // {words}\nint b;  // {words}\n"), [])


if __name__ == "__main__":
    unittest.main()
