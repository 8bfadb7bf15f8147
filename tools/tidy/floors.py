# What it owns: the layers of src/ as src/README.md describes them, and the rules on includes that
# follow. Arrows point down, includes name face headers, system headers are on a list, and one file
# wraps the atomics. The tables are the only source; this code names no floor.
# It must not know how a file is read or how a finding is printed.
# SPDX-License-Identifier: MIT
"""Reads the tables of src/README.md and checks the includes of one file against them."""

import os
import re


class House:
    """The tables of src/README.md."""

    def __init__(self, text):
        self.floors = {}
        self.faces = {}
        self.headers = {}
        self.exceptions = []  # (line, rule, file, reason)
        self.problems = []    # (line, what to do)
        readers = {"floors": self._floor, "faces": self._face,
                   "allowed headers": self._headers, "exceptions": self._exception}
        section = None
        for number, line in enumerate(text.split("\n"), 1):
            heading = re.match(r"##\s+(.*?)\s*$", line)
            if heading:
                section = heading.group(1).lower()
                continue
            if section not in readers or not line.startswith("|"):
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            is_rule = all(re.fullmatch(r":?-+:?", cell) for cell in cells)
            is_title = cells[:2] in (["floor", "folder"], ["folder", "faces"],
                                     ["place", "headers"], ["rule", "file"])
            if not is_rule and not is_title:
                readers[section](number, cells)
        if not self.floors:
            self.problems.append((1, "write the table of floors under '## Floors'"))

    def _floor(self, number, cells):
        if len(cells) != 3 or not cells[0].isdigit() or not cells[2]:
            self.problems.append((number, "write the row as | floor | folder | what it owns |"))
            return
        self.floors[cells[1].strip("`/")] = int(cells[0])

    def _face(self, number, cells):
        if len(cells) != 2 or cells[0] not in self.floors:
            self.problems.append((number, "name a folder of the table of floors"))
            return
        self.faces[cells[0]] = set(cells[1].split())

    def _headers(self, number, cells):
        if len(cells) != 2:
            self.problems.append((number, "write the row as | place | headers |"))
            return
        self.headers.setdefault(cells[0], set()).update(cells[1].split())

    def _exception(self, number, cells):
        if len(cells) != 3 or not all(cells):
            self.problems.append((number, "write the row as | rule | file | reason |"))
            return
        self.exceptions.append((number, cells[0].strip("`"), cells[1].strip("`"), cells[2]))

    def allowed_headers(self, inside):
        """System headers that the file src/<inside> may include."""
        return (self.headers.get("everywhere", set()) | self.headers.get(inside, set())
                | self.headers.get(inside.split("/")[0], set()))

    def may_use_atomics(self, inside):
        return "atomic" in self.headers.get(inside, set())


INCLUDE = re.compile(
    r'''^[ \t]*#[ \t]*include(?:_next)?(?:[ \t]|\\\n)*(?:"([^"]+)"|<([^>]+)>|(?<=\s)(\w+))''',
    re.MULTILINE)
RELAXED = re.compile(r"\b(load|store|fetch_add|fetch_sub)_relaxed\(")
EDGE = re.compile(r"\[E\d+[^\]]*\]")
ATOMIC_BUILTIN = re.compile(r"\b__(?:atomic|sync)_\w+|\bstd::atomic\w*")


def resolve(root, including, spelled):
    """The path from the root of an included project file; None: there is none."""
    for base in (os.path.dirname(including), "src", "include", ""):
        path = os.path.normpath(os.path.join(base, spelled))
        if os.path.isfile(os.path.join(root, path)):
            return path.replace(os.sep, "/")
    return None


def check_place(path, house):
    """Yields a finding if a file of src/ is in a folder without a floor."""
    inside = path[len("src/"):]
    if "/" not in inside:
        if inside != "README.md":
            yield 1, "place", "move it into a folder of src/ that has a floor"
    elif inside.split("/")[0] not in house.floors:
        yield 1, "place", f"give src/{inside.split('/')[0]} a floor in src/README.md"


def check_namespaces(code):
    """Yields a finding for each namespace of src/ in which a user of the one header finds names."""
    for match in re.finditer(r"^[ \t]*namespace[ \t]+(talus(?!::core\b)[\w:]*)", code, re.M):
        line = code.count("\n", 0, match.start()) + 1
        yield line, "namespace", (f"put it into talus::core: {match.group(1)} has public names, "
                                  "which stand in include/")


def check_includes(root, path, code, house):
    """Yields (line, rule, what to do) for each include of src/<...> that the tables refuse."""
    inside = path[len("src/"):]
    folder = inside.split("/")[0]
    if folder not in house.floors:
        return
    highest = None  # the include of the highest floor so far
    for match in INCLUDE.finditer(code):
        line = code.count("\n", 0, match.start(match.lastindex)) + 1
        quoted, system, macro = match.groups()
        if macro:
            yield line, "header", f"name the file itself, not the macro {macro}"
            continue
        if system and system not in house.allowed_headers(inside):
            if resolve(root, path, system) is None:
                yield line, "header", (f"do without <{system}>, or allow it for {folder} "
                                       "in src/README.md with a reason")
                continue
        target = resolve(root, path, quoted or system)
        if target is None:
            if quoted:
                yield line, "missing-include", f"no such file: {quoted}"
        elif target.startswith("src/"):
            yield from arrow(line, folder, target[len("src/"):], house)
            floor = house.floors.get(target.split("/")[1], 0)
            if highest and floor < highest[0]:
                yield line, "order", (f"move it above the include of {highest[1]}: includes "
                                      "stand in the order of floors, the lowest first")
            if not highest or floor > highest[0]:
                highest = floor, target[len("src/"):]
        elif target.startswith("include/"):
            if target[len("include/"):] not in house.allowed_headers(inside):
                yield line, "header", f"allow {target} for {folder} in src/README.md"
        else:
            yield line, "arrow", f"src/ must not include {target}, which is outside of the house"


def arrow(line, folder, target, house):
    """The findings of one include of src/<target> from a file in src/<folder>."""
    other = target.split("/")[0]
    if other == folder:
        return
    if other not in house.floors:
        yield line, "arrow", f"give src/{other} a floor in src/README.md"
    elif house.floors[other] > house.floors[folder]:
        yield line, "arrow", (f"{folder} (floor {house.floors[folder]}) must not include "
                              f"{other} (floor {house.floors[other]}): turn the arrow downward")
    elif house.floors[other] == house.floors[folder]:
        yield line, "arrow", (f"{folder} and {other} share floor {house.floors[folder]} and must "
                              "not see each other: join them on a higher floor")
    elif other in house.faces and target[len(other) + 1:] not in house.faces[other]:
        yield line, "face", (f"include a face of {other} "
                             f"({', '.join(sorted(house.faces[other]))}), not {target}")


def check_atomics(path, code, comments, house):
    """Yields findings for atomic builtins outside of the file that wraps them, and for relaxed
    accesses that do not say why they need no order."""
    if house.may_use_atomics(path[len("src/"):]):
        return
    pairs = zip(code.split("\n"), comments.split("\n"))
    for number, (line, comment) in enumerate(pairs, 1):
        found = RELAXED.search(line)
        if found and not EDGE.search(comment):
            how = found.group(1)
            yield number, "relaxed", (
                f"say why instead of {how}_relaxed (base/atomic.hpp has the words), "
                "or name the protocol's edge in a comment")
    for match in ATOMIC_BUILTIN.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield line, "atomics", f"use Atomic<T> of base/atomic.hpp instead of {match.group()}"
