#!/usr/bin/env python3
# What it owns: the proof that what every process runs lies together in the library. The kernel maps
# a file's pages by sixteen around each one that is run, so a start that is scattered over the
# library makes all of it resident in each process that does nothing.
# It must not know what these functions do, nor how the compiler is told (base/attributes.hpp).
# SPDX-License-Identifier: MIT
"""Checks that the usual functions of a libtalus.so lie close to each other."""

import sys

import fast_path
import report

# Endings of names, as compilers write them: of the start, of the first block, of the usual ways.
USUAL = ("malloc", "free", "realloc",
         "14process_startsEv", "13Configuration4readEv", "12attach_cacheEv",
         "6refillERNS_11ThreadCacheENS_7ClassIdE", "13allocate_slowEmRNS_8HeapFaceE",
         "11take_blocksERNS_4HeapENS_7ClassIdEPPvm", "11give_blocksERNS_4HeapEPKPvm",
         "24slab_unused_to_availableERNS_4HeapENS_7ClassIdE",
         "5Space4takeERNS_6LockedEmmNS_7FillingE",
         "12release_slowEPvRNS_8HeapFaceE", "12release_fullEPvRNS_8HeapFaceEm")
SPAN_BYTES_MAX = 80 * 1024


def findings(library, usual=USUAL, span_max=SPAN_BYTES_MAX):
    functions = fast_path.symbols(library)
    first, last = None, None
    for ending in usual:
        found = [place for name, place in functions.items()
                 if name == ending or name.startswith("_ZN") and name.endswith(ending)]
        if not found:
            yield f"{ending} is not defined"
        for address, size in found:
            first = min(first or address, address)
            last = max(last or 0, address + size)
    if first is not None and last - first > span_max:
        yield f"the usual functions lie {last - first} bytes apart, more than {span_max}"


def main(arguments):
    return report.report(arguments[0], findings(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
