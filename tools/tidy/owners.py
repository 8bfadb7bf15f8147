# What it owns: the rule that each mutable object of namespace scope in src/ has a row in the table
# "Owners" of src/README.md. A room keeps its state in few owners, objects of a struct. A reader who
# needs all state of the process, for fork or statistics, finds it in this table.
# It must not know the floors (floors.py) nor how a finding is printed.
# SPDX-License-Identifier: MIT
"""Compares the mutable objects of namespace scope with the table of their owners."""

import os
import re

import source_text
import tables

# An object at namespace scope begins at column one, as clang-format lays it out.
OBJECT = re.compile(
    r"^(?:(?:TALUS_CONSTINIT|inline|static|TALUS_THREAD_LOCAL|thread_local) +)+"
    r"(?P<type>(?:const +)?[\w:]+(?:<[^;()=]*>)?[ *&]+)(?P<name>\w+)(?:\[[^\]]*\])*\s*(?:=|\{|;)",
    re.MULTILINE)
CONSTANT = re.compile(r"\bconst [^*]*$|\* *const\b")


def objects_of(code):
    """(line, name) of each mutable object of namespace scope in the code of a file."""
    for match in OBJECT.finditer(code):
        if CONSTANT.search(match.group("type")):
            continue
        yield code.count("\n", 0, match.start()) + 1, match.group("name")


def check_owners(root, house_text, paths):
    """Yields (file, line, rule, what to do) for objects and rows that do not match."""
    listed = {}
    for line, cells in tables.rows_of(house_text, "owners"):
        if len(cells) != 3 or not all(cells):
            yield tables.PAGE, line, "owner", "write the row as | object | file | what it holds |"
            continue
        for name in re.sub("`", "", cells[0]).split():
            listed[name, "src/" + cells[1]] = line
    seen = set()
    for path in paths:
        if not path.startswith("src/") or not path.endswith((".hpp", ".cpp")):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            code = source_text.split_cpp(file.read())[0]
        for line, name in objects_of(code):
            seen.add((name, path))
            if (name, path) not in listed:
                yield path, line, "owner", (f"put {name} into an owner of its room, or list it "
                                            "under '## Owners' of src/README.md")
    for key in sorted(set(listed) - seen):
        yield tables.PAGE, listed[key], "owner", f"delete the row: {key[1]} has no object {key[0]}"
