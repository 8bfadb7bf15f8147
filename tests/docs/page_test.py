#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests docs/claims.md: quoted statements stand on their pages, named tests exist, none is missing.

Owns: the reading of that page. A test is one that CTest lists in the build folder, a case of
GoogleTest that a source names, or a target of the Makefile. Tests that need a package which is not
installed are looked for in the CMake files.

    page_test.py ROOT COMMAND LIBRARY CTEST BUILD
"""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT, CTEST, BUILD = Path(sys.argv[1]), sys.argv[4], sys.argv[5]
ROWS_MIN = 120
CELL = re.compile(r"(?<!\\)\|")
CASE = re.compile(r"^\s*TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
OPTIONAL = ("entry.musl_", "asm.")  # asm: x86-64 alone
# A comment and the declaration right behind it, of a public function or a type of the header.
FUNCTION = re.compile(r"/\*((?:[^*]|\*(?!/))*)\*/\n(?:typedef [^;]*;\n)?TALUS_API", re.MULTILINE)


def plain(text: str) -> str:
    """The text of a page or header on one line, without the marks of comments."""
    return " ".join(re.sub(r"^\s*(?:\*|//)(?= |$)", " ", text, flags=re.MULTILINE).split())


def read(page: str) -> str:
    return plain((ROOT / page).read_text(encoding="utf-8"))


def claims() -> list:
    """(page, statement, tests) of each row; a section of one page has its name as the heading."""
    found, page = [], ""
    for line in (ROOT / "docs/claims.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            page = line[3:]
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        if len(cells) < 2 or cells[-1] == "held by" or set(cells[0]) <= {"-"}:
            continue
        statement = cells[-2].replace("\\|", "|")
        found.append((cells[0] if len(cells) == 3 else page, statement,
                      re.findall(r"`([^`]+)`", cells[-1])))
    return found


def known_tests() -> set:
    listed = subprocess.run([CTEST, "--test-dir", BUILD, "-N"], check=True, capture_output=True,
                            text=True).stdout
    names = set(re.findall(r"Test +#\d+: (\S+)", listed))
    for source in (ROOT / "tests").rglob("*.cpp"):
        names |= {".".join(case) for case in CASE.findall(source.read_text(encoding="utf-8"))}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return names | {f"make {name}" for name in re.findall(r"^([\w-]+):", makefile, re.MULTILINE)}


class Claims(unittest.TestCase):
    def test_each_statement_stands_on_its_page(self):
        pages = {page: read(page) for page in {page for page, _, _ in claims()}}
        gone = [f"{page}: {statement}" for page, statement, _ in claims()
                if plain(statement) not in pages[page]]
        self.assertEqual(gone, [])

    def test_each_named_test_exists(self):
        known = known_tests()
        gone = [f"{name}: {statement}" for _, statement, tests in claims()
                for name in tests or ["no test"]
                if name not in known and not name.startswith(OPTIONAL)]
        self.assertEqual(gone, [])

    def test_there_are_as_many_as_there_were(self):
        self.assertGreaterEqual(len(claims()), ROWS_MIN)


class Complete(unittest.TestCase):
    def test_each_function_of_the_header_has_a_row(self):
        header = (ROOT / "include/talus/talus.h").read_text(encoding="utf-8")
        told = [plain(statement) for page, statement, _ in claims() if page.endswith("talus.h")]
        comments = [plain(comment) for comment in FUNCTION.findall(header)]
        self.assertGreater(len(comments), 40)
        self.assertEqual([comment for comment in comments
                          if not any(statement in comment for statement in told)], [])

    def test_each_point_of_the_readme_has_a_row(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        told = [plain(statement) for page, statement, _ in claims() if page == "README.md"]
        points = []
        for title in ("What it does", "What it stops"):
            section = re.search(rf"^## {title}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
            points += re.split(r"\n\n|\n(?=- )", section.strip())
        points = [plain(point) for point in points if not point.startswith("    ")]
        self.assertGreater(len(points), 10)
        self.assertEqual([point for point in points
                          if not any(statement in point for statement in told)], [])


class Figures(unittest.TestCase):
    def test_the_readme_has_the_instruction_budget(self):
        """A budget that changes changes the sentence, too."""
        budget = json.loads((ROOT / "tests/asm/budget.json").read_text(encoding="utf-8"))["gcc"]
        self.assertIn(f"{budget['malloc']} instructions for malloc and {budget['free']} for free",
                      read("README.md"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
