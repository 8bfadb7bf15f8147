#!/usr/bin/env python3
# What it owns: the proof that includes.py finds missing and unused includes, accepts faces, hooks
# and marked lines, and that --fix writes what is missing. Each case gives made-up files and what
# include-what-you-use says of them, so the tool itself is not needed.
# It must not know the project's own tree.
# SPDX-License-Identifier: MIT
"""Tests of includes.py."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import includes  # noqa: E402

FACES = {"base": {"base.hpp"}}
HOOKS = {"wake": ("heap/low.hpp", "process/high.hpp")}
TREE = {"src/base/base.hpp": '#include "base/bits.hpp"\n', "src/base/bits.hpp": "",
        "src/heap/low.hpp": "void wake();\n", "src/process/high.hpp": "void wake() {}\n"}


class Includes(unittest.TestCase):
    def findings(self, text, uses, path="src/store/a.hpp"):
        """The (line, change) of one file with this text and these used names."""
        with tempfile.TemporaryDirectory() as root:
            for name, content in {**TREE, path: text}.items():
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            sources = {name: includes.Source(root, name) for name in {**TREE, path: text}}
            rooms = includes.Rooms(sources, FACES, HOOKS)
            return [found[1:3] for found in includes.check_file(path, sources[path], uses, rooms)]

    def test_a_missing_include_at_the_line_of_its_use(self):
        self.assertEqual(self.findings("// f\n\nint x = f();\n", {"heap/low.hpp": ["f"]}),
                         [(3, "heap/low.hpp")])

    def test_an_include_of_the_file_itself(self):
        self.assertEqual(self.findings('#include "heap/low.hpp"\nint x = f();\n',
                                       {"heap/low.hpp": ["f"]}), [])

    def test_an_include_without_use(self):
        self.assertEqual(self.findings('\n#include "heap/low.hpp"\n', {}), [(2, "-heap/low.hpp")])

    def test_an_include_for_its_effect(self):
        self.assertEqual(self.findings('#include "heap/low.hpp"  // IWYU pragma: keep\n', {}), [])

    def test_a_face_hands_on_what_it_includes(self):
        self.assertEqual(self.findings('#include "base/base.hpp"\nint x = bits();\n',
                                       {"base/bits.hpp": ["bits"]}), [])

    def test_what_is_behind_a_face_is_asked_of_the_face(self):
        self.assertEqual(self.findings("int x = bits();\n", {"base/bits.hpp": ["bits"]}),
                         [(1, "base/base.hpp")])

    def test_a_hook_comes_from_the_file_that_declares_it(self):
        uses = {"process/high.hpp": ["wake"]}
        self.assertEqual(self.findings("void f() { wake(); }\n", uses), [(1, "heap/low.hpp")])
        self.assertEqual(self.findings('#include "heap/low.hpp"\nvoid f() { wake(); }\n', uses), [])

    def test_integers_come_from_the_lowest_face(self):
        self.assertEqual(self.findings('#include "base/base.hpp"\nsize_t x;\n',
                                       {"stddef.h": ["size_t"]}), [])

    def test_reading_the_tool(self):
        output = ("The full include-list for /r/src/heap/a.hpp:\n"
                  '#include <stddef.h>        // for size_t\n'
                  '#include "base/bits.hpp"   // for Bits, f\n---\n'
                  '#include "not/read.hpp"  // for g\n'
                  "(/r/src/heap/b.hpp has correct #includes/fwd-decls)\n")
        self.assertEqual(includes.uses_of("/r", output), {"src/heap/a.hpp": {
            "stddef.h": ["size_t"], "base/bits.hpp": ["Bits", "f"]}, "src/heap/b.hpp": None})

    def test_what_is_written(self):
        ranks = {"base/base.hpp": 1, "heap/low.hpp": 6, "store/b.hpp": 8}
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, "a.hpp")
            with open(path, "w", encoding="utf-8") as file:
                file.write('#include "base/base.hpp"\n#include "store/b.hpp"\n\nint x;\n')
            includes.fix(root, "a.hpp", {(1, "heap/low.hpp"), (2, "-store/b.hpp")}, ranks.get)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(),
                                 '#include "base/base.hpp"\n#include "heap/low.hpp"\n\nint x;\n')


if __name__ == "__main__":
    unittest.main()
