#!/usr/bin/env python3
# What it owns: the proof that the rule of owners finds each form of a mutable object and refuses
# a stale row. It is silent about constants and functions.
# SPDX-License-Identifier: MIT
"""Tests of owners.py on small trees."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import owners  # noqa: E402

CODE = "TALUS_CONSTINIT inline Space space;\n"
TABLE = "## Owners\n| object | file | what it holds |\n|---|---|---|\n"


class Objects(unittest.TestCase):
    def names(self, code):
        return [name for _, name, _ in owners.objects_of(code)]

    def test_each_form_is_found(self):
        self.assertEqual(self.names(
            "inline Space space;\n"
            "TALUS_CONSTINIT inline void* no_blocks[3] = {};\n"
            "inline TALUS_THREAD_LOCAL Atomic<Context*> this_context{&first};\n"
            "TALUS_CONSTINIT inline ThreadContext first_context =\n    make();\n"
            "static Next next_prctl{\"prctl\", {}};\n"
            "inline const char* last_text = nullptr;\n"
            "inline Atomic<size_t> shared_bytes{most};\n"
            "inline Words words\n    [[gnu::section(\"words\")]];\n"),
            ["space", "no_blocks", "this_context", "first_context", "next_prctl", "last_text",
             "shared_bytes", "words"])

    def test_constants_functions_and_types_are_no_objects(self):
        self.assertEqual(self.names(
            "inline constexpr size_t most = 1;\n"
            "inline const Table table = make();\n"
            "inline void run() noexcept {\n  static int calls;\n}\n"
            "TALUS_FAST bool has(int* at) { return *at; }\n"
            "static_assert(sizeof space == 8);\n"
            "struct Space {\n  int field = 0;\n};\n"), [])


class Rows(unittest.TestCase):
    def findings(self, table, code):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src/space"))
            with open(os.path.join(root, "src/space/space.hpp"), "w", encoding="utf-8") as file:
                file.write(code)
            return [found[:3] for found in owners.check_owners(root, TABLE + table,
                                                               ["src/space/space.hpp"])]

    def test_listed(self):
        self.assertEqual(self.findings("| `space` | space/space.hpp | ranges |\n",
                                       CODE), [])

    def test_not_listed(self):
        self.assertEqual(self.findings("", "\n" + CODE),
                         [("src/space/space.hpp", 2, "owner")])

    def test_listed_for_another_file(self):
        self.assertEqual(self.findings("| `space` | heap/heap.hpp | ranges |\n",
                                       CODE),
                         [("src/space/space.hpp", 1, "owner"), ("src/README.md", 4, "owner")])

    def test_without_an_initialiser_at_start(self):
        self.assertEqual(self.findings("| `space` | space/space.hpp | ranges |\n",
                                       "inline Space space;\n"),
                         [("src/space/space.hpp", 1, "owner")])

    def test_stale_and_short_rows(self):
        self.assertEqual(self.findings("| `gone` | space/space.hpp | ranges |\n| a | b |\n", ""),
                         [("src/README.md", 5, "owner"), ("src/README.md", 4, "owner")])


if __name__ == "__main__":
    unittest.main()
