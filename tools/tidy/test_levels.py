#!/usr/bin/env python3
# What it owns: the proof that tidy counts levels of includes inside a folder, and only there. Each
# case writes a tree of headers and counts the findings.
# It must not know the project's own tree.
# SPDX-License-Identifier: MIT
"""Tests of levels.py."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import levels  # noqa: E402


def findings(files):
    """What check_levels says of a tree of {path: [included name]}."""
    with tempfile.TemporaryDirectory() as root:
        for path, included in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write("".join(f'#include "{name}"\n' for name in included))
        return list(levels.check_levels(root, sorted(files)))


def tower(folder, height):
    """Headers of one folder, each of which includes the one below."""
    return {f"src/{folder}/h{level}.hpp": [f"{folder}/h{level - 1}.hpp"] if level > 1 else []
            for level in range(1, height + 1)}


class Levels(unittest.TestCase):
    def test_as_many_as_allowed(self):
        self.assertEqual(findings(tower("heap", levels.LEVELS_MAX)), [])

    def test_one_too_many(self):
        found = findings(tower("heap", levels.LEVELS_MAX + 1))
        self.assertEqual([(path, rule) for path, _, rule, _ in found],
                         [(f"src/heap/h{levels.LEVELS_MAX + 1}.hpp", "levels")])
        self.assertIn("h7.hpp > h6.hpp", found[0][3])

    def test_the_longest_way_counts(self):
        files = tower("heap", levels.LEVELS_MAX)
        files["src/heap/top.hpp"] = ["heap/h1.hpp", f"heap/h{levels.LEVELS_MAX}.hpp"]
        self.assertEqual(len(findings(files)), 1)

    def test_names_beside_the_file_count(self):
        files = tower("heap", levels.LEVELS_MAX)
        files["src/heap/top.hpp"] = [f"h{levels.LEVELS_MAX}.hpp"]
        self.assertEqual(len(findings(files)), 1)

    def test_other_folders_do_not_count(self):
        files = {**tower("heap", 4), **tower("store", 4)}
        files["src/store/h1.hpp"] = ["heap/h4.hpp"]
        self.assertEqual(findings(files), [])

    def test_a_circle_ends(self):
        files = {"src/heap/a.hpp": ["heap/b.hpp"], "src/heap/b.hpp": ["heap/a.hpp"]}
        self.assertEqual(findings(files), [])


if __name__ == "__main__":
    unittest.main()
