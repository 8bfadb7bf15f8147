#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the header-only entry point: one file, talus.hpp, with all of Talus and its C++ types.

Owns: the order of the pieces. Each header of src/ appears once, after the headers it includes.
System headers come first, because Talus is wrapped in hidden visibility and they must not be. The
result is the code of the compiled library, not a second copy kept by hand. Without
TALUS_HEADER_ONLY it is include/talus/talus.hpp: the C++ types on top of the library.

With --alone the file is the one to copy: it needs no definition and no other file of Talus, and
has the C++ classes of heap.hpp and bounded.hpp, too. Comments of src/ are for maintainers and are
left out in both. Those of include/ are for users and stay.

    tools/amalgamate.py [--alone] OUTPUT
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRY = ROOT / "src" / "entry" / "header_only.hpp"
TYPES = ROOT / "include" / "talus" / "talus.hpp"
CLASSES = [ROOT / "include" / "talus" / name for name in ("heap.hpp", "bounded.hpp")]
ONE_HEADER = "talus/talus.hpp"
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
GUARD = re.compile(r"^#(?:ifndef|define|endif)\b.*\bTALUS_[A-Z_]+_(?:HPP|H)\b")

# What a comment of C++ may be mistaken for comes first: numbers with separators, and texts.
TOKEN = re.compile(r"""
    (?P<kept> \b\d(?:'?[\w.])*
      | \bR"(?P<end>[^()\s\\]*)\(.*?\)(?P=end)"
      | "(?:\\.|[^"\\\n])*"
      | '(?:\\.|[^'\\\n])*')
  | (?P<comment> //[^\n]*(?:\\\n[^\n]*)* | /\*.*?\*/)""", re.VERBOSE | re.DOTALL)

TITLE = """// SPDX-License-Identifier: MIT
// talus.hpp: Talus {version}, a general-purpose memory allocator for Linux, in one file.
//
"""
USE = """\
// The C++ types are at the end. With the library linked, this file declares only them and talus.h.
// Define TALUS_HEADER_ONLY before the include, in every unit, and no library is needed. The
// functions of talus.h are then inline, and all units of one executable or shared object share one
// heap. Each shared object has a heap of its own, so free a block in the object that allocated it.
// Compile types that have members of Talus' with -fvisibility=hidden. Otherwise the loader merges
// their functions across objects (g++ warns of such types). Needs C++17, gcc or clang.
// Made by tools/amalgamate.py; do not edit.
"""
USE_ALONE = """\
// Copy this file and include it: there is nothing to build, and nothing to link but -pthread.
//
//     #include "talus.hpp"
//     void* block = talus::malloc(100);    // the C library's malloc stays as it is
//     talus::free(block);
//     talus::heap heap{"requests"};        // frees all its blocks at its end
//     talus::bounded pools{16, 1 << 20};   // 16 pools with a budget of 1 MiB each
//     std::vector<int, talus::allocator<int>> numbers;
//
// Needs C++17, gcc or clang, Linux on x86-64 or AArch64. All units of one executable or shared
// object share one heap. Each shared object has a heap of its own, so free a block in the object
// that allocated it. Compile types that have members of Talus' with -fvisibility=hidden. Otherwise
// the loader merges their functions across objects (g++ warns of such types).
//
// The functions of talus.h, bounded.h and profile.h are documented below, each at its declaration.
// The C++ types are at the end. Comments for maintainers are left out: they are in the source
// archive.
// Made by tools/amalgamate.py; do not edit.
//
"""
GUARD_HEAD = """#ifndef TALUS_TALUS_HPP
#define TALUS_TALUS_HPP
#define TALUS_ONE_HEADER
"""
LATE = """#if defined(TALUS_HEADER_ONLY) && defined(TALUS_API)
#error "define TALUS_HEADER_ONLY before the first header of Talus is included"
#endif
"""
ALONE = """#if defined(TALUS_API)
#error "this talus.hpp stands alone: include no other header of Talus before it"
#endif
#if !defined(TALUS_HEADER_ONLY)
#define TALUS_HEADER_ONLY
#endif
#define TALUS_HEAP_HPP
#define TALUS_BOUNDED_HPP
"""


def without_comments(text: str) -> str:
    """C++ without comments. Lines that held nothing else are gone, doubled empty ones too."""
    plain = TOKEN.sub(lambda found: found["kept"] or "\0", text)
    lines = []
    for line in plain.splitlines():
        code = line.replace("\0", "" if not line.strip("\0 ") else " ").rstrip()
        if code or ("\0" not in line and lines and lines[-1]):
            lines.append(code)
    return "\n".join(lines)


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
    text = "\n".join(line for line in path.read_text().splitlines() if not GUARD.match(line))
    lines = [f"// ---- {path.relative_to(ROOT).as_posix()}"]
    for line in (text if path.parent == TYPES.parent else without_comments(text)).splitlines():
        match = INCLUDE.match(line)
        if match is None:
            lines.append(line)
        elif match.group(1) == ONE_HEADER:
            pass  # a C header that is included first uses it to reach the file made here
        elif match.group(1):
            lines += gather(find(match.group(1)), seen, system)
        elif match.group(2) not in system:
            system.append(match.group(2))
    return lines


def made(alone: bool) -> str:
    """The whole file."""
    seen = set()
    system = []
    body = gather(ENTRY, seen, system)
    system_of_types = []
    types = gather(TYPES, seen, system_of_types)
    for path in CLASSES if alone else ():
        types += gather(path, seen, system_of_types)
    header = (ROOT / "include/talus/talus.h").read_text()
    version = re.search(r'TALUS_VERSION "([^"]+)"', header).group(1)
    text = TITLE.format(version=version)
    if alone:
        licence = (ROOT / "LICENSE").read_text().splitlines()
        text += USE_ALONE
        text += "".join(f"// {line}".rstrip() + "\n" for line in licence)
        text += GUARD_HEAD + ALONE
    else:
        text += USE + GUARD_HEAD + LATE
    text += "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"
                    for name in system_of_types)
    text += "" if alone else "#if defined(TALUS_HEADER_ONLY)\n"
    # The declarations of the C headers are below, so a later include must not repeat them. An
    # earlier include of a C header reaches this file through that header.
    text += "#define TALUS_TALUS_H\n#define TALUS_BOUNDED_H\n"
    text += "".join(f"#include <{name}>\n" for name in system)
    text += "#pragma GCC visibility push(hidden)\n"
    text += "\n".join(body)
    text += "\n" if alone else '\n#else\n#include "talus/talus.h"\n#endif  // TALUS_HEADER_ONLY\n'
    text += "\n".join(types)
    pop = "#pragma GCC visibility pop\n"
    text += "\n" + (pop if alone else f"#if defined(TALUS_HEADER_ONLY)\n{pop}#endif\n")
    return text + "#endif  // TALUS_TALUS_HPP\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alone", action="store_true", help="the one file to copy")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    text = made(arguments.alone)
    output = arguments.output
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists() or output.read_text() != text:
        output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
