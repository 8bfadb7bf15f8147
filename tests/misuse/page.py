#!/usr/bin/env python3
"""Keeps results of the misuse matrix in git, and writes the tables of docs/hardening.md from them.

    page.py --add result.json     puts the columns of a run (run.py --json) into kept.json
    page.py                       writes the tables between the marks of the page
    page.py --check               exit status 1 where the page is not that of kept.json

A column of the same name is replaced, so a mode is measured anew alone. Owns: the kept form, one
letter a case, and the blocks "<!-- generated: NAME -->" of the page; its prose is written by hand.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import datetime
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import cases  # noqa: E402

HERE = Path(__file__).resolve().parent
KEPT = HERE / "kept.json"
COSTS = HERE / "costs.json"
PAGE = HERE.parent.parent / "docs" / "hardening.md"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# The letter of a verdict; a stop at the free or the reuse of the damaged block has its own.
LETTERS = {"stopped": "S", "stopped@free": "F", "stopped@reuse": "F", "late": "L", "crash": "C",
           "crash@free": "C", "crash@reuse": "C", "overlap": "O", "silent": "-", "reported": "R",
           "harmless": "h", "exposed": "X", "clean": "c", "foreseen": "P", "varied": "v",
           "hang": "T", "skip": "."}
ORDER = "SFLCTRO-hcvXP"  # in a cell
BOLD = "O"
NOT_TRIED = ".h"  # no mistake was made
GROUPS = (("free", "Wrong calls"), ("mismatch", "Calls of another family, or with another size"),
          ("write", "Wrong writes"), ("look", "Reads and addresses"))
TALUS = "Talus"


def letter_of(result):
    """The letter of a result of run.py's JSON. Raises KeyError for an error."""
    verdict, stage = result["verdict"], result["stage"]
    return LETTERS.get(f"{verdict}@{stage}") or LETTERS[verdict]


def letters_of(row, results):
    """One letter a case of the row: a word for each size, in the order of cases.py. A dot: the run
    left the case out (run.py --only)."""
    def letter(name):
        return letter_of(results[name]) if name in results else "."
    return " ".join("".join(letter(cases.Case(row.name, size, way).name)
                            for way in cases.WAYS[row.ways]) for size in cases.SIZES)


def add(kept, run, today):
    """Puts all columns of a run into the kept ones. A new mode of Talus comes behind the others."""
    for described in run["allocators"]:
        name = described["name"]
        column = {"name": name, "date": today,
                  **{key: described[key] for key in ("variables", "library", "sha256")
                     if described.get(key)}}
        column["rows"] = {row.name: letters_of(row, run["results"][name]) for row in cases.ROWS}
        places = [place for place, one in enumerate(kept) if one["name"] == name]
        if places:
            kept[places[0]] = column
        else:
            modes = sum(one["name"].startswith(TALUS) for one in kept)
            kept.insert(modes if name.startswith(TALUS) else len(kept), column)


def text_of(kept):
    """JSON with a line for each row of a column."""
    return json.dumps(kept, indent=1) + "\n"


def cell(letters):
    """All letters of a cell, counted where they differ: "S 40, L 8"."""
    counts = collections.Counter(letters.replace(" ", "").replace(".", ""))
    if not counts:
        return ""
    parts = []
    for letter in sorted(counts, key=ORDER.index):
        shown = f"**{letter}**" if letter in BOLD else letter
        parts.append(shown if len(counts) == 1 else f"{shown} {counts[letter]}")
    return ", ".join(parts)


def table(heads, lines):
    return "\n".join([" | ".join(["", *heads, ""]).strip(), "|---" * len(heads) + "|",
                      *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def matrix(kept):
    """A table for each group of rows: rows by columns."""
    parts = []
    for group, title in GROUPS:
        lines = [[row.title, *(cell(column["rows"].get(row.name, "")) for column in kept)]
                 for row in cases.ROWS if row.group == group]
        parts.append(f"**{title}**\n\n" + table(["mistake", *(c["name"] for c in kept)], lines))
    return "\n" + "\n".join(parts) + "\n"


def share(letters, wanted):
    """Per cent of the mistakes that were made."""
    tried = [letter for letter in letters if letter not in NOT_TRIED and letter != " "]
    if not tried:
        return ""
    percent = 100 * sum(letter in wanted for letter in tried) / len(tried)
    return f"{percent:.0f} %" if percent in (0, 100) or 1 <= percent < 99 else f"{percent:.1f} %"


def summary(kept):
    """A line for each column: what became of wrong calls, writes and reads."""
    lines = []
    for column in kept:
        group = {name: "".join(column["rows"].get(row.name, "") for row in cases.ROWS
                               if row.group == name) for name, _ in GROUPS}
        reads = column["rows"]["uninitialised_read"] + column["rows"]["read_after_free"]
        lines.append([column["name"], *(share(group["free"], of) for of in ("S", "L", "C", "O")),
                      *(share(group["write"], of) for of in ("S", "F", "L")), share(reads, "X")])
    return "\n" + table(["", "wrong calls: stopped at once", "later", "crash", "overlap",
                         "wrong writes: stopped at once", "when freed", "later",
                         "reads: old bytes seen"], lines) + "\n"


def by_size(kept):
    """A table for each mode of Talus: rows by sizes, all ways together."""
    parts = []
    for column in kept:
        if not column["name"].startswith(TALUS):
            continue
        lines = [[row.title, *(cell(word) for word in column["rows"][row.name].split())]
                 for row in cases.ROWS if row.name in column["rows"]]
        parts.append(f"**{column['name']}**\n\n"
                     + table(["mistake", *cases.SIZE_TITLES], lines))
    return "\n" + "\n".join(parts) + "\n"


def measured(kept):
    days = sorted({column["date"] for column in kept})
    count = len(cases.all_cases())
    between = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return (f"\n{len(cases.ROWS)} mistakes in {count} cases, measured {between}: "
            f"{', '.join(column['name'] for column in kept)}.\n\n")


def costs_of(run):
    """A table of time and one of memory of a run of costs.py; its first allocator is 1."""
    names = [one["name"] for one in run["allocators"]]
    parts = [f"The least of {run['rounds']} rounds in turn, {run['date']}, on a busy machine of"
             f" {run['processors']} processors.\n"]
    for title, place in (("time of the processor", 0), ("most memory", 1)):
        lines = [[name, *(f"{by_name[name][place] / by_name[names[0]][place]:.2f}"
                          for by_name in run["least"].values())] for name in names]
        parts.append(table([f"{title}, {names[0]} = 1", *run["least"]], lines))
    return "\n" + "\n".join(parts) + "\n"


def costs(_kept):
    return costs_of(json.loads(COSTS.read_text(encoding="utf-8")))


BLOCKS = {"costs": costs, "measured": measured, "summary": summary, "matrix": matrix,
          "sizes": by_size}


def fill_in(page, kept):
    """The page with all blocks as kept.json says. Raises ValueError where one is missing."""
    names = [match[2] for match in BLOCK.finditer(page)]
    if sorted(names) != sorted(BLOCKS):
        raise ValueError(f"{PAGE.name} has the blocks {names}, not {sorted(BLOCKS)}")
    return BLOCK.sub(lambda match: match[1] + BLOCKS[match[2]](kept) + match[4], page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", type=Path, metavar="RESULT.json", help="a run to keep")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else []
    if arguments.add:
        add(kept, json.loads(arguments.add.read_text(encoding="utf-8")),
            datetime.date.today().isoformat())
        KEPT.write_text(text_of(kept), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    filled = fill_in(page, kept)
    if arguments.check:
        if filled != page:
            print(f"{PAGE.name} is not that of kept.json: run tests/misuse/page.py")
            return 1
        print("the page is that of kept.json")
        return 0
    PAGE.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
