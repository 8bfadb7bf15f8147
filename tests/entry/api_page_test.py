#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares docs/api.md with the headers and with the library.

Owns: the completeness of that page. Each function that a C header declares has one row of a table
there, and the library exports it. The library exports no other talus_ name, and the page names no
other function. All other names that the library exports, but the C++ operators, are in the section
about them, once each and with a reason.

    api_page_test.py --root DIR --library LIB
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

DECLARATION = re.compile(r"^TALUS_API [^;(]*?\b(talus_\w+)\(", re.MULTILINE)
NAME = re.compile(r"`(talus_\w+)")
OPERATOR = re.compile(r"^_Z[nd][wal]")
SECTION = "## Names that libtalus.so exports\n"
TYPES = {"talus_block", "talus_limit_handler", "talus_page_listener", "talus_heap", "talus_options",
         "talus_bounded"}


def faults_of_other_names(page: str, others: set) -> list:
    """What the section about names that are not ours has wrong."""
    section = page.partition(SECTION)[2].partition("\n## ")[0]
    listed = []
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`(\w+)`", cells[0]) if line.startswith("| `") else []
        listed += names
        if names and (len(cells) != 2 or not cells[1]):
            found.append(f"{names}: no reason in docs/api.md")
    found += [f"{name}: {listed.count(name)} times in docs/api.md" for name in sorted(set(listed))
              if listed.count(name) != 1]
    return found + [f"{name}: exported by the library or listed in docs/api.md, not both"
                    for name in sorted(others ^ set(listed))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--library", required=True)
    arguments = parser.parse_args()
    root = Path(arguments.root)
    headers = sorted((root / "include/talus").glob("*.h"))
    declared = [name for header in headers for name in DECLARATION.findall(header.read_text())]
    page = (root / "docs/api.md").read_text()
    rows = [name for line in page.partition(SECTION)[0].splitlines() if line.startswith("|")
            for name in NAME.findall(line.split("|")[1])]
    listed = subprocess.run(["nm", "-D", "--defined-only", arguments.library], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    symbols = {line.split()[2].split("@")[0] for line in listed.splitlines()}
    exported = {name for name in symbols if name.startswith("talus_")}
    found = [f"{name}: declared in a header, {rows.count(name)} rows in docs/api.md"
             for name in declared if rows.count(name) != 1]
    found += [f"{name}: named in docs/api.md, in no header"
              for name in sorted(set(NAME.findall(page)) - set(declared) - TYPES)]
    found += [f"{name}: exported by the library or declared in a header, not both"
              for name in sorted(exported ^ set(declared))]
    others = {name for name in symbols - exported if not OPERATOR.match(name)}
    found += faults_of_other_names(page, others)
    print("\n".join(found) if found else f"{len(declared)} functions, each in its place")
    return 1 if found or not declared else 0


if __name__ == "__main__":
    sys.exit(main())
