#!/usr/bin/env python3
# What it owns: the proof that the pages that every process touches lie together in the library. The
# kernel maps a file's pages by sixteen around each touched one, from the start of a segment on.
# Startup code that is scattered over the library would make all of it resident in each idle
# process. Each page to which the loader writes addresses is private to the process.
# It must not know what these functions do, nor how compiler and linker are told
# (base/attributes.hpp, entry/layout.ld.in).
# SPDX-License-Identifier: MIT
"""Checks that what a process touches of a libtalus.so lies in few windows of pages."""

import fnmatch
import re
import sys
from pathlib import Path

import check_symbols
import fast_path
import report

# Endings of names, as compilers write them, with * for any text: of the start and the end, and of
# what nearly all processes use that allocate.
START = ("14process_startsEv", "12process_endsEv", "13Configuration4readEv",
         "19read_machine_limitsERKNS0_11CgroupRootsE", "12allow_helperEv", "14forget_threadsEv",
         "talus_register_forks", "11SymbolTable4findEPKc")
USUAL = ("malloc", "free", "realloc",
         "6refillERNS0_11ThreadCacheENS0_7ClassIdE", "13allocate_slowEmRNS0_13ThreadContextE",
         "11take_blocksERNS0_4HeapENS0_7ClassIdEPPvm", "11give_blocksERNS0_4HeapEPKPvm",
         "24slab_unused_to_availableERNS0_4HeapENS0_7ClassIdE",
         "5Space4takeERNS0_4Held*7PlacingE",
         "6Arenas7reserveEmNS0_11PageRequestEmm",
         "7PageMap5coverEmm",
         "9free_slowEPvRNS0_13ThreadContextE", "9free_fullEPvRNS0_13ThreadContextEm",
         "8free_farEPvRNS0_13ThreadContextE", "11thread_endsEPv", "_Znwm", "_ZdlPv", "_ZdlPvm")
WINDOW_BYTES = 64 * 1024
OTHER_WINDOW_BYTES = 112 * 1024  # with what is usual in larger processes among it
# The first two segments: what a process that does nothing touches of the file. One that allocates
# and frees a little touches the next that has code as well.
START_BYTES_MAX = 20 * 1024 + 256  # clang; gcc has 18 KiB
TABLES_BYTES_MAX = 52 * 1024
FIRST_BYTES_MAX = 52 * 1024
# What is written while a process starts lies here; large objects have a section behind.
SMALL_DATA_BYTES_MAX = 4096
# Each is 24 bytes that the loader reads and 8 that it writes.
ADDRESSES_MAX = 375


def segments(listing):
    """[(start, bytes in the file, flags, sections)] of the loaded segments of `readelf -l`."""
    found = [(int(start, 16), int(size, 16), flags.strip()) for start, size, flags in re.findall(
        r"^\s+LOAD\s+0x\w+\s+(0x\w+)\s+0x\w+\s+(0x\w+)\s+0x\w+\s+([RWE ]{3})", listing, re.M)]
    sections = re.findall(r"^\s+\d\d\s(.*)$", listing, re.M)
    # Program headers before the first segment (PHDR, INTERP) have lines of their own.
    kinds = re.findall(r"^\s+([A-Z_]+)\s+0x\w+\s+0x\w+\s+0x\w+", listing, re.M)
    loaded = [sections[index].split() for index, kind in enumerate(kinds) if kind == "LOAD"]
    return [(*segment, names) for segment, names in zip(found, loaded)]


def places(functions, endings):
    """(ending, address, end) of each function with such a name; None for one that is not there."""
    for ending in endings:
        found = [place for name, place in functions.items()
                 if name == ending or fnmatch.fnmatchcase(name, "_ZN*" + ending)]
        if not found:
            yield ending, None, None
        for address, size in found:
            yield ending, address, address + size


def check_functions(functions, loaded, usual=USUAL, window=WINDOW_BYTES):
    """Findings on functions that do not lie in the first window of their segment."""
    code = [start for start, _, flags, _ in loaded if "E" in flags]
    for ending, address, end in places(functions, usual):
        if address is None:
            yield f"{ending} is not defined"
            continue
        behind = end - max(start for start in code if start <= address)
        if behind > window:
            yield f"{ending} ends {behind} bytes behind the start of the code, over {window}"


def check_start(functions, loaded, start=START):
    """Findings on the first two segments: tables and constants, and the code of the start."""
    (_, table_bytes, _, tables), (code, code_bytes, _, _) = loaded[:2]
    if ".dynsym" not in tables or ".rodata" not in tables:
        yield "the loader's tables and the constants are not together in the first segment"
    if ".eh_frame" in tables:
        yield "the tables for unwinding lie in the first segment"
    for what, size, most in (("tables and constants", table_bytes, TABLES_BYTES_MAX),
                             ("the code of the start", code_bytes, START_BYTES_MAX)):
        if size > most:
            yield f"{what} are {size} bytes, over {most}"
    yield from check_within(functions, code, code_bytes, start, "the segment of the start")


def check_first(functions, loaded, first=USUAL):
    """Findings on the second segment of code: what nearly all processes run that allocate."""
    segments_of_code = [(start, size) for start, size, flags, _ in loaded if "E" in flags]
    if len(segments_of_code) < 3:
        yield "first code has no segment of its own"
        return
    code, code_bytes = segments_of_code[1]
    if code_bytes > FIRST_BYTES_MAX:
        yield f"first code is {code_bytes} bytes, over {FIRST_BYTES_MAX}"
    yield from check_within(functions, code, code_bytes, first, "first code")


def check_within(functions, code, code_bytes, endings, what):
    """Findings on functions that do not lie in a segment of code."""
    for ending, address, _ in places(functions, endings):
        if address is None:
            yield f"{ending} is not defined"
        elif not code <= address < code + code_bytes:
            yield f"{ending} does not lie in {what}"


def check_data(listing):
    """Findings on `readelf -S`: large objects among the small ones that the start writes."""
    found = re.search(r"\s\.bss\s+NOBITS\s+\w+\s+\w+\s+(\w+)", listing)
    size = int(found.group(1), 16) if found else 0
    if size > SMALL_DATA_BYTES_MAX:
        yield f".bss is {size} bytes, over {SMALL_DATA_BYTES_MAX}: a large object lies in it"


def check_dynamic(listing):
    """Findings on `readelf -d`: code at the ends of the library, addresses that are written."""
    for name in re.findall(r"\((INIT|FINI)\)", listing):
        yield f"has {name}: code apart from all other that each process runs"
    count = re.search(r"\(RELACOUNT\)\s+(\d+)", listing)
    if count and int(count.group(1)) > ADDRESSES_MAX:
        yield f"the loader writes {count.group(1)} addresses, at most {ADDRESSES_MAX}"


def check_names(template, source):
    """Findings on the template of the linker's script: names that the source does not have.

    Compilers differ in what they inline, so a name need not be in the library.
    """
    words = set(re.findall(r"\w+", source))
    for line in re.findall(r"^\s*@(?:HOT|BSS) ([^@\n]*)@$", template, re.M):
        for name in line.split():
            for part in name.split("::"):
                if part not in words:
                    yield f"the layout names {name}, which is not in the source"


def findings(library, usual=USUAL, window=WINDOW_BYTES, with_linker=True):
    functions = fast_path.symbols(library)
    loaded = segments(check_symbols.readelf(library, "-l"))
    yield from check_functions(functions, loaded, usual, window)
    yield from check_dynamic(check_symbols.readelf(library, "-d"))
    if with_linker:
        yield from check_start(functions, loaded)
        yield from check_first(functions, loaded)
        yield from check_data(check_symbols.readelf(library, "-S"))


def main(arguments):
    if "--other-linker" in arguments:  # which was not told what comes first
        found = findings(arguments[0], USUAL, OTHER_WINDOW_BYTES, with_linker=False)
    else:
        found = list(findings(arguments[0]))
    if "--source" in arguments:
        root = Path(arguments[arguments.index("--source") + 1])
        files = [*root.rglob("*.hpp"), *root.rglob("*.cpp")]
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        found = [*found, *check_names((root / "entry/layout.ld.in").read_text("utf-8"), text)]
    return report.report(arguments[0], found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
