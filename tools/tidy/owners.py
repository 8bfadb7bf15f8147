# What it owns: the rule that each mutable object of namespace scope in src/ has a row in the table
# "Owners" of src/README.md. A room keeps its state in few owners, objects of a struct. A reader who
# needs all state of the process, for fork or statistics, finds it in this table. Each is
# initialised before any code runs (TALUS_CONSTINIT): an initialiser at start would wipe what is in
# use by then.
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
    r"(?P<type>(?:const +)?[\w:]+(?:<[^;()=]*>)?[ *&]+)(?P<name>\w+)(?:\[[^\]]*\])*"
    r"(?:\s*\[\[[^\]]*\]\])?\s*(?:=|\{|;)",
    re.MULTILINE)
CONSTANT = re.compile(r"\bconst [^*]*$|\* *const\b")


def objects_of(code):
    """(line, name, is it constinit) of each mutable object of namespace scope in a file's code."""
    for match in OBJECT.finditer(code):
        if CONSTANT.search(match.group("type")):
            continue
        line = code.count("\n", 0, match.start()) + 1
        yield line, match.group("name"), "TALUS_CONSTINIT" in match.group()


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
        for line, name, is_constant in objects_of(code):
            seen.add((name, path))
            if not is_constant:
                yield path, line, "owner", f"declare {name} TALUS_CONSTINIT"
            if (name, path) not in listed:
                yield path, line, "owner", (f"put {name} into an owner of its room, or list it "
                                            "under '## Owners' of src/README.md")
    for key in sorted(set(listed) - seen):
        yield tables.PAGE, listed[key], "owner", f"delete the row: {key[1]} has no object {key[0]}"
