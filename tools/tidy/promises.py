# What it owns: how many promises the core checks itself: assertions in a thousand lines of code, in
# all of src/ and in each room of the heap. So their density cannot fall unnoticed.
# It must not know what an assertion says; reviewers do, and tests/mistakes has the proof.
# SPDX-License-Identifier: MIT
"""The density of assertions in src/."""

import os
import re

import source_text

# Assertions in 1000 lines of code that are neither empty nor a comment.
ALL_LEAST = 14
ROOM_LEAST = 10
ROOMS = ("base", "bounded", "cache", "classes", "heap", "instances", "paths", "pools", "reclaim",
         "regions", "slab", "store")
# A smaller tree has no density.
LINES_LEAST = 300
ASSERTION = re.compile(r"\b(?:TALUS_CHECK|TALUS_ASSERT|TALUS_AUDIT_SOUND|static_assert)\s*\(")


def count(text):
    """Returns (assertions, lines of code) of a C++ source."""
    assertions = lines = 0
    for line in source_text.split_cpp(text)[0].split("\n"):
        lines += bool(line.strip())
        if not line.lstrip().startswith("#"):
            assertions += len(ASSERTION.findall(line))
    return assertions, lines


def check_density(root, paths):
    """Yields a finding (file, line, rule, what to do) for each room with too few assertions."""
    rooms = {}
    for path in paths:
        if not path.startswith("src/") or not path.endswith((".hpp", ".cpp")):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            found = count(file.read())
        for room in (path.split("/")[1], "all of src"):
            before = rooms.get(room, (0, 0))
            rooms[room] = (before[0] + found[0], before[1] + found[1])
    for room, (assertions, lines) in sorted(rooms.items()):
        least = ALL_LEAST if room == "all of src" else ROOM_LEAST if room in ROOMS else 0
        if lines >= LINES_LEAST and 1000 * assertions < least * lines:
            yield ("src/README.md", 1, "promises",
                   f"{room}: {assertions} assertions in {lines} lines of code: check what new code "
                   f"promises (at least {least} in 1000 lines)")
