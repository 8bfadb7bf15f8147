#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the header-only entry point: one file, talus.hpp, with all of Talus and its C++ types.

Owns: the order of the pieces. Each header of src/ appears once, after the headers it includes.
System headers come first, because Talus is wrapped in hidden visibility and they must not be. The
result is the code of the compiled library, not a second copy kept by hand. Without
TALUS_HEADER_ONLY it is include/talus/talus.hpp: the C++ types on top of the library.

    tools/amalgamate.py OUTPUT
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRY = ROOT / "src" / "entry" / "header_only.hpp"
TYPES = ROOT / "include" / "talus" / "talus.hpp"
ONE_HEADER = "talus/talus.hpp"
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
GUARD = re.compile(r"^#(?:ifndef|define|endif)\b.*\bTALUS_[A-Z_]+_(?:HPP|H)\b")

HEAD = """// SPDX-License-Identifier: MIT
// talus.hpp: Talus {version}, a general-purpose memory allocator for Linux, in one file.
//
// The C++ types are at the end. With the library linked, this file declares only them and talus.h.
// Define TALUS_HEADER_ONLY before the include, in every unit, and no library is needed. The
// functions of talus.h are then inline, and all units of one executable or shared object share one
// heap. Each shared object has a heap of its own, so free a block in the object that allocated it.
// Compile types that have members of Talus' with -fvisibility=hidden. Otherwise the loader merges
// their functions across objects (g++ warns of such types). Needs C++17, gcc or clang.
// Made by tools/amalgamate.py; do not edit.
#ifndef TALUS_TALUS_HPP
#define TALUS_TALUS_HPP
#define TALUS_ONE_HEADER
#if defined(TALUS_HEADER_ONLY) && defined(TALUS_API)
#error "define TALUS_HEADER_ONLY before the first header of Talus is included"
#endif
"""


def find(name: str) -> Path:
    for folder in ("src", "include"):
        path = ROOT / folder / name
        if path.is_file():
            return path
    raise SystemExit(f"amalgamate: no such header: {name}")


def gather(path: Path, seen: set, system: list) -> list:
    """The lines of a header, with each included header in the place of its first include."""
    if path in seen:
        return []
    seen.add(path)
    lines = [f"// ---- {path.relative_to(ROOT).as_posix()}"]
    for line in path.read_text().splitlines():
        match = INCLUDE.match(line)
        if match is None:
            if not GUARD.match(line):
                lines.append(line)
        elif match.group(1) == ONE_HEADER:
            pass  # a C header that is included first uses it to reach the file made here
        elif match.group(1):
            lines += gather(find(match.group(1)), seen, system)
        elif match.group(2) not in system:
            system.append(match.group(2))
    return lines


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    seen = set()
    system = []
    body = gather(ENTRY, seen, system)
    system_of_types = []
    types = gather(TYPES, seen, system_of_types)
    header = (ROOT / "include/talus/talus.h").read_text()
    version = re.search(r'TALUS_VERSION "([^"]+)"', header).group(1)
    text = HEAD.format(version=version)
    text += "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"
                    for name in system_of_types)
    text += "#if defined(TALUS_HEADER_ONLY)\n"
    # The declarations of the C headers are below, so a later include must not repeat them. An
    # earlier include of a C header reaches this file through that header.
    text += "#define TALUS_TALUS_H\n#define TALUS_BOUNDED_H\n"
    text += "".join(f"#include <{name}>\n" for name in system)
    text += "#pragma GCC visibility push(hidden)\n"
    text += "\n".join(body)
    text += '\n#else\n#include "talus/talus.h"\n#endif  // TALUS_HEADER_ONLY\n'
    text += "\n".join(types)
    text += "\n#if defined(TALUS_HEADER_ONLY)\n#pragma GCC visibility pop\n#endif\n"
    text += "#endif  // TALUS_TALUS_HPP\n"
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists() or output.read_text() != text:
        output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
