#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that docs/README.md lists each page, and that each page says first who it is for.

Owns: the completeness of the index, the first line of pages, and the question and the result at the
top of decision records. Also words that no page for readers has, and the length of README.md.

    index_test.py ROOT
"""
import re
import sys
from pathlib import Path

README_WORDS_MAX = 1300
RECORD = re.compile(r"^\*\*Question\.\*\* (?:.+\n)+\n\*\*Result\.\*\* ", re.MULTILINE)
# Words of a dialect that no reader of other documentation expects; say which thread, or how many.
DIALECT = re.compile(r"\b(nobody|anybody|somebody|whoever|whom|so many|so much)\b|(?<=[.:;] )Who ",
                     re.IGNORECASE)
TABLE_LINK = re.compile(r"^\| \[[^\]]+\]\(([^)]+\.md)\) \|", re.MULTILINE)


def pages_of(docs: Path) -> set:
    """Paths of all pages below docs/, but the index."""
    found = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    return found - {"README.md"}


def first_line(page: Path) -> str:
    """The first line behind the title that is not empty."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines[1:] if line), "")


def findings(root: Path) -> list:
    docs = root / "docs"
    listed = TABLE_LINK.findall((docs / "README.md").read_text(encoding="utf-8"))
    pages = pages_of(docs)
    found = [f"docs/{page}: no row in docs/README.md" for page in sorted(pages - set(listed))]
    found += [f"docs/README.md: two rows of {page}" for page in sorted(set(listed))
              if listed.count(page) > 1]
    found += [f"docs/README.md: no such page: {page}" for page in sorted(set(listed) - pages)]
    found += [f"docs/{page}: the line behind the title begins with 'For ', not with "
              f"{first_line(docs / page)[:40]!r}" for page in sorted(pages)
              if not first_line(docs / page).startswith("For ")]
    found += [f"docs/{page}: write '**Question.** ...' and '**Result.** ...' at its top"
              for page in sorted(pages) if page.startswith("decisions/")
              and not RECORD.search((docs / page).read_text(encoding="utf-8"))]
    for page in [root / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("design/*.md"))]:
        found += [f"{page.relative_to(root)}:{number}: say it without '{match[0]}'"
                  for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
                  if page.name != "claims.md" and (match := DIALECT.search(line))]
    words = len((root / "README.md").read_text(encoding="utf-8").split())
    if words > README_WORDS_MAX:
        found.append(f"README.md: {words} words, at most {README_WORDS_MAX}")
    return found


def main() -> int:
    found = findings(Path(sys.argv[1]))
    print("\n".join(found) if found else "each page is listed and says who it is for")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
