#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Heap tools that stand before Talus see what operator new and delete do.

Owns: the cases. A tool is preloaded, or an allocator of the program's own is. A tool patches the
running process. A program only takes the address of malloc. The real heaptrack counts, where it is
installed.

    heap_tools_test.py --talus LIB --tool LIB --heap LIB --work FILE --fixed FILE --group GROUP
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

SKIPPED = 77
# heap_tool_work.cpp: two threads, each with 1000 blocks and 50 aligned ones.
SEEN = "made 2000, aligned 100, freed 2100"
NOT_SEEN = "made 0, aligned 0, freed 0"


def run(command: list, preload: list, **environment):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("LD_", "TALUS_"))}
    if preload:
        kept["LD_PRELOAD"] = ":".join(preload)
    return subprocess.run(command, env={**kept, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)


def expect(what: str, done, pattern: str, status=0) -> int:
    """The number of faults."""
    said = done.stdout + done.stderr
    if done.returncode == status and re.search(pattern, said):
        print(f"ok   {what}")
        return 0
    print(f"FAIL {what}: status {done.returncode}, no {pattern!r} in {said[-500:]!r}")
    return 1


def preloaded(given) -> int:
    """A tool, an allocator in its place, and the option."""
    counts = [given.work, "counts"]
    tool, heap, talus = given.tool, given.heap, given.talus
    return sum((
        expect("a tool before Talus", run(counts, [tool, talus]), f"counted: {SEEN}"),
        expect("a tool behind Talus", run(counts, [talus, tool]), f"counted: {NOT_SEEN}"),
        expect("the option", run(counts, [tool, talus], TALUS_HEAP_TOOLS="0"),
               f"counted: {NOT_SEEN}"),
        expect("an allocator of its own", run(counts, [heap, talus]), f"counted: {NOT_SEEN}"),
        expect("with a profile", run(counts, [tool, talus], TALUS_PROFILE="4KiB"),
               f"counted: {SEEN}"),
        expect("checked mode", run(counts, [tool, talus], TALUS_MODE="checked"),
               f"counted: {SEEN}")))


def patched(given) -> int:
    """A tool that comes and goes while the process runs."""
    done = run([given.work, "patches"], [given.talus])
    return sum(expect(f"{when} the patch", done, f"{when}: {seen}") for when, seen in
               (("before", NOT_SEEN), ("found", "made 1"), ("patched", SEEN), ("after", NOT_SEEN)))


def address(given) -> int:
    """No tool is there, although the name malloc has a place in the program."""
    kinds = {"TALUS_MODE": "checked", "TALUS_CHECK_KINDS": "1"}
    report = "from operator new, passed to free"
    mismatch = [given.fixed, "mismatches"]
    return sum((
        expect("an address that is taken", run(mismatch, [given.talus], **kinds), report, -6),
        expect("a tool, and the address", run(mismatch, [given.tool, given.talus], **kinds), "")))


def installed(given) -> int:
    """The real heaptrack sees all blocks of the work."""
    if which("heaptrack") is None or which("heaptrack_print") is None:
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "work"
        done = run(["heaptrack", "-o", str(out), given.work, "counts"], [given.talus])
        files = sorted(Path(folder).glob("work*"))
        if done.returncode != 0 or not files:
            print(f"FAIL heaptrack: {done.stdout[-300:]} {done.stderr[-300:]}")
            return 1
        printed = run(["heaptrack_print", str(files[0])], [])
        found = re.search(r"calls to allocation functions: (\d+)", printed.stdout)
        calls = int(found.group(1)) if found else 0
    print(f"heaptrack counts {calls} calls")
    return 0 if calls >= 2100 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("talus", "tool", "heap", "work", "fixed"):
        parser.add_argument("--" + name, required=True)
    groups = {group.__name__: group for group in (preloaded, patched, address, installed)}
    parser.add_argument("--group", choices=groups, required=True)
    given = parser.parse_args()
    return groups[given.group](given)


if __name__ == "__main__":
    sys.exit(main())
