#!/usr/bin/env python3
# What it owns: what libtalus.so needs from others and what it shows to them. A preloaded allocator
# must need little, because it is called before everything else, and must show exactly the names
# it replaces. Also refused: static TLS beyond its bound (it is scarce for libraries opened late),
# C++ or compiler runtimes, unique symbols, an executable stack, text relocations.
# It must not know the source; it reads the ELF file with readelf alone.
# SPDX-License-Identifier: MIT
"""Checks the dynamic symbols and the segments of a libtalus.so."""

import argparse
import fnmatch
import os
import re
import subprocess
import sys

import report

TLS_BYTES_MAX = 64
NEEDED_ALLOWED = ("libc.so.*", "libc.musl-*", "libpthread.so.*", "libdl.so.*", "ld-linux*.so.*")


def readelf(library, *flags):
    return subprocess.run(["readelf", "-W", *flags, library], check=True, capture_output=True,
                          text=True).stdout


def read_list(path):
    """Lines of a list without comments and blank lines."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [line for line in lines if line]


def dynamic_symbols(listing):
    """Yields (name, type, binding, is defined, visibility) of `readelf --dyn-syms`."""
    for line in listing.split("\n"):
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            yield fields[7].split("@")[0], fields[3], fields[4], fields[6] != "UND", fields[5]


def check_undefined(symbols, allowed):
    """Findings on symbols that are needed and not allowed."""
    for name, _, binding, is_defined, _ in symbols:
        if is_defined:
            continue
        weak = binding == "WEAK"
        patterns = [entry.split()[-1] for entry in allowed
                    if weak or not entry.startswith("weak ")]
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield f"needs {name}{' (weak)' if weak else ''}, which is not allowed"


def check_exported(symbols, expected):
    """Findings on the difference between the exported and the expected names."""
    exported = {name for name, _, _, is_defined, visibility in symbols
                if is_defined and visibility in ("DEFAULT", "PROTECTED")}
    patterns = [entry.lstrip("?") for entry in expected]
    for name in sorted(exported):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield f"exports {name}, which is not expected"
    for entry in expected:
        if entry.startswith("?"):
            continue
        if "*" in entry and not fnmatch.filter(exported, entry):
            yield f"exports nothing of the form {entry}"
        elif "*" not in entry and entry not in exported:
            yield f"does not export {entry}"


def check_unique(symbols):
    for name, _, binding, _, _ in symbols:
        if binding == "UNIQUE":
            yield f"{name} is a unique symbol, so the library could never be closed"


def check_segments(listing):
    """Findings on `readelf -l`: TLS size, stack flags, segments writable and executable."""
    has_stack = False
    for line in listing.split("\n"):
        found = re.match(r"\s+([A-Z_]+)((?:\s+0x[0-9a-f]+){5})\s+([RWE ]{3})", line)
        if not found:
            continue
        kind, numbers, flags = found.group(1), found.group(2).split(), found.group(3)
        if kind == "TLS" and int(numbers[4], 16) > TLS_BYTES_MAX:
            yield f"{int(numbers[4], 16)} bytes of TLS, at most {TLS_BYTES_MAX}"
        if kind == "GNU_STACK":
            has_stack = True
            if "E" in flags:
                yield "asks for an executable stack"
        if kind == "LOAD" and "W" in flags and "E" in flags:
            yield "has a segment that is writable and executable"
    if not has_stack:
        yield "has no GNU_STACK header, which asks for an executable stack"


def check_dynamic(listing):
    """Findings on `readelf -d`: needed libraries, text relocations."""
    for name in re.findall(r"\(NEEDED\).*?\[(.*?)\]", listing):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in NEEDED_ALLOWED):
            yield f"depends on {name}"
    if re.search(r"\(TEXTREL\)|\bTEXTREL\b", listing):
        yield "has text relocations"


def check_library(library, allowed, expected):
    symbols = [symbol for symbol in dynamic_symbols(readelf(library, "--dyn-syms"))
               if symbol[0] and symbol[1] != "SECTION"]
    found = list(check_undefined(symbols, allowed))
    found += check_exported(symbols, expected)
    found += check_unique(symbols)
    found += check_segments(readelf(library, "-l"))
    found += check_dynamic(readelf(library, "-d"))
    return found


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--allowed", default=os.path.join(here, "allowed_undefined.txt"))
    parser.add_argument("--exported", default=os.path.join(here, "exported.txt"))
    options = parser.parse_args(arguments)
    return report.report(options.library,
                         check_library(options.library, read_list(options.allowed),
                                       read_list(options.exported)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
