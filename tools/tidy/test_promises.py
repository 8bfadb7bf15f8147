#!/usr/bin/env python3
# What it owns: the proof that assertions are counted in code, not in comments, strings or
# definitions of macros. Each room counts, and so does all of src/.
# SPDX-License-Identifier: MIT
"""Tests of promises.py."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import promises  # noqa: E402


class Promises(unittest.TestCase):
    def findings(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                full = os.path.join(folder, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            return [finding[3].split(":")[0] for finding in
                    promises.check_density(folder, list(files))]

    def test_counts_code_only(self):
        text = ("// TALUS_ASSERT(a)\n#define TALUS_ASSERT(x) (x)\n\n"
                "TALUS_ASSERT(a); TALUS_CHECK(b);\n"
                'const char* text = "TALUS_ASSERT(c)";\n'
                'static_assert(d, "");\nTALUS_AUDIT_SOUND(e);\n')
        self.assertEqual(promises.count(text), (4, 5))

    def test_few_assertions_are_found(self):
        self.assertEqual(self.findings({"src/heap/a.hpp": "int a;\n" * 400}),
                         ["all of src", "heap"])

    def test_enough_are_not(self):
        text = ("int a;\n" * 49 + "TALUS_ASSERT(a);\n") * 10
        self.assertEqual(self.findings({"src/heap/a.hpp": text}), [])

    def test_each_room_of_the_heap_counts(self):
        rich = ("int a;\n" * 9 + "TALUS_ASSERT(a);\n") * 100
        self.assertEqual(self.findings({"src/heap/a.hpp": rich, "src/cache/b.hpp": "int a;\n" * 400,
                                        "src/api/c.hpp": "int a;\n" * 400}), ["cache"])

    def test_small_trees_and_other_folders_do_not(self):
        self.assertEqual(self.findings({"src/heap/a.hpp": "int a;\n" * 30,
                                        "tests/b.cpp": "int a;\n" * 4000}), [])


if __name__ == "__main__":
    unittest.main()
