#!/usr/bin/env python3
# What it owns: the rule "include what you use" for src/. Each name that a file uses of another file
# of Talus comes from a header that the file includes itself. For a folder with faces
# (src/README.md), a face that includes the header counts. An include that serves no name is
# refused. include-what-you-use finds the names; this file applies the faces and prints one line a
# finding. An include for its effect is marked `// IWYU pragma: keep`, with the reason above it.
# A hook (src/README.md) comes from the file that declares it, not from the one that defines it.
# It must not know the floors: a missing include that points up is a finding of tidy.py.
# SPDX-License-Identifier: MIT
"""Checks that each file of src/ includes what it uses, and nothing else."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import floors  # noqa: E402
import tables  # noqa: E402
import units  # noqa: E402

TOOL = "include-what-you-use"
SKIPPED = 77
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"(.*)$')
LISTED = re.compile(r'^#include ["<]([\w./+-]+)[">](?:[ \t]*// for (.*))?$')
# size_t and the integers of fixed width may come from the face of the lowest floor.
INTEGER_HEADERS = {"stddef.h", "stdint.h", "cstddef", "cstdint"}
INTEGERS_FROM = "base/base.hpp"
KEPT = "IWYU pragma: keep"


def output_of(root, unit, flags):
    """What include-what-you-use says of a unit and of all headers of src/."""
    command = [TOOL, "-Xiwyu", "--no_fwd_decls", "-Xiwyu", "--max_line_length=2000",
               "-Xiwyu", f"--check_also={root}/src/*/*.hpp",
               "-w", *units.flags_of(root, flags), os.path.join(root, unit)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stderr


def uses_of(root, output):
    """{file: {header: [names]}} of one output; None for a file that is as the tool wants it."""
    found, here = {}, None
    for correct in re.findall(r"^\((.*) has correct #includes/fwd-decls\)$", output, re.MULTILINE):
        found[os.path.relpath(correct, root)] = None
    for line in output.split("\n"):
        heading = re.match(r"The full include-list for (.*):$", line)
        if heading:
            here = found.setdefault(os.path.relpath(heading.group(1), root), {})
        elif line == "---":
            here = None
        elif here is not None:
            listed = LISTED.match(line)
            if listed:
                names = [name.strip() for name in (listed.group(2) or "").split(",")]
                here.setdefault(listed.group(1), []).extend(name for name in names if name)
    return found


class Source:
    """The includes of one file of src/, by line."""

    def __init__(self, root, path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.includes, self.kept = {}, set()
        for number, line in enumerate(self.lines, 1):
            match = INCLUDE.match(line)
            if match:
                self.includes[match.group(1)] = number
                if KEPT in match.group(2):
                    self.kept.add(match.group(1))

    def line_of(self, names):
        """The first line that has one of the names outside of comments and includes."""
        words = [re.escape(re.sub(r"<.*", "", name).split("::")[-1]) for name in names]
        pattern = re.compile(r"\b(?:" + "|".join(words) + r")\b") if words else None
        for number, line in enumerate(self.lines, 1):
            if pattern and not INCLUDE.match(line) and pattern.search(line.split("//")[0]):
                return number
        return 1


class Rooms:
    """Which header a name may come from."""

    def __init__(self, sources, faces, hooks):
        self.sources = sources
        self.hooks = hooks
        self.faces = faces
        self.reached = {}

    def inside(self, header):
        """All headers of the same folder that a header brings along, and itself."""
        if header not in self.reached:
            self.reached[header] = {header}
            source = self.sources.get("src/" + header)
            for name in source.includes if source else ():
                if os.path.dirname(name) == os.path.dirname(header):
                    self.reached[header] = self.reached[header] | self.inside(name)
        return self.reached[header]

    def providers(self, path, header):
        """The headers that a file may include to use the names of `header`, the best first."""
        folder = os.path.dirname(header)
        if os.path.dirname(path) == "src/" + folder or folder not in self.faces:
            return [header]
        faces = [f"{folder}/{face}" for face in self.faces[folder]]
        faces.sort(key=lambda face: (face != header, face != f"{folder}/{folder}.hpp", face))
        return [face for face in faces if header in self.inside(face)]

    def is_face(self, path):
        """Whether a file is the face that hands on the headers of its folder."""
        folder = os.path.basename(os.path.dirname(path))
        return folder in self.faces and os.path.basename(path) == folder + ".hpp"


def check_file(path, source, uses, rooms):
    """Yields (file, line, header, what to do) for one file."""
    needed, missing, uses = set(), {}, dict(uses)
    for hook, (declared, defined) in rooms.hooks.items():
        if hook in [name.split("::")[-1] for name in uses.get(defined, [])]:
            uses[defined] = [name for name in uses[defined] if name.split("::")[-1] != hook]
            uses.setdefault(declared, []).append(hook)
    if uses.keys() & INTEGER_HEADERS:
        needed.add(INTEGERS_FROM)
    for header, names in sorted(uses.items()):
        if "src/" + header not in rooms.sources and not header.startswith("talus/"):
            continue
        if not names:
            continue
        providers = rooms.providers(path, header)
        included = [name for name in providers if name in source.includes]
        needed.update(included)
        if not included and providers and "src/" + header != path:
            missing.setdefault(providers[0], []).extend(names)
    for header, names in missing.items():
        shown = ", ".join(list(dict.fromkeys(names))[:3])
        yield path, source.line_of(names), header, f'include "{header}" for {shown}'
    if rooms.is_face(path):
        return
    for name in sorted(set(source.includes) - needed - source.kept):
        yield path, source.includes[name], "-" + name, (
            f'no name comes from "{name}": leave it out, or mark it `// {KEPT}` and say why')


def house_of(root):
    """The tables of src/README.md, and {hook: (header that declares it, that defines it)}."""
    with open(os.path.join(root, "src", "README.md"), encoding="utf-8") as file:
        text = file.read()
    hooks = {cells[0].strip("`"): (cells[1].strip("`"), cells[2].strip("`"))
             for _, cells in tables.rows_of(text, "hooks") if len(cells) == 4}
    return floors.House(text), hooks


def findings_of(root):
    """All findings of the tree, and the files that no unit contains."""
    house, hooks = house_of(root)
    paths = [f"src/{folder}/{name}" for folder in sorted(os.listdir(os.path.join(root, "src")))
             if os.path.isdir(os.path.join(root, "src", folder))
             for name in sorted(os.listdir(os.path.join(root, "src", folder)))
             if name.endswith((".hpp", ".cpp"))]
    sources = {path: Source(root, path) for path in paths}
    uses, read = {}, set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for output in pool.map(lambda unit: output_of(root, *unit), units.ALL):
            for path, headers in uses_of(root, output).items():
                read.add(path)
                for header, names in (headers or {}).items():
                    uses.setdefault(path, {}).setdefault(header, []).extend(names)
            broken = re.search(r"^.*(?:fatal error|error): .*$", output, re.MULTILINE)
            if broken:
                return [("src", 1, "", broken.group(0))]
    rooms = Rooms(sources, house.faces, hooks)
    found = []
    for path in paths:
        if path in uses:
            found += check_file(path, sources[path], uses[path], rooms)
        elif path not in read and path not in units.UNREAD:
            found.append((path, 1, "", "no unit contains it: add one to tools/tidy/units.py"))
    return found


def fix(root, path, changes, rank):
    """Writes missing includes into a file, in the order of the floors, and drops unused ones."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for _, change in sorted(changes):
        if change.startswith("-"):
            lines = [line for line in lines
                     if not (INCLUDE.match(line) and INCLUDE.match(line).group(1) == change[1:])]
    added = {change for _, change in changes if change[:1] not in ("", "-")}
    for header in sorted(added, key=rank):
        places = [number for number, line in enumerate(lines) if INCLUDE.match(line)]
        after = [number for number in places
                 if rank(INCLUDE.match(lines[number]).group(1)) <= rank(header)]
        if after or places:
            lines.insert(after[-1] + 1 if after else places[0], f'#include "{header}"')
        else:
            system = [number for number, line in enumerate(lines) if line.startswith("#include <")]
            guard = [number for number, line in enumerate(lines) if line.startswith("#define ")]
            at = (system or guard)[-1 if system else 0] + 1
            lines[at:at] = ["", f'#include "{header}"']
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main(arguments):
    default_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=default_root, help="root of the tree")
    parser.add_argument("--fix", action="store_true", help="write the includes into the files")
    options = parser.parse_args(arguments)
    if shutil.which(TOOL) is None:
        print(f"includes: there is no {TOOL} (package iwyu)")
        return SKIPPED
    root = os.path.abspath(options.root)
    found = findings_of(root)
    if options.fix:
        house, _ = house_of(root)
        def rank(header):
            return house.floors.get(os.path.dirname(header), 0), header
        for path in sorted({finding[0] for finding in found}):
            fix(root, path, {finding[1:3] for finding in found if finding[0] == path}, rank)
    for path, line, _, what in sorted(found):
        print(f"{path}:{line}: includes: {what}")
    print(f"includes: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
