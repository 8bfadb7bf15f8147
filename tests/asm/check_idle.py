#!/usr/bin/env python3
# What it owns: what a process that allocates nothing pays for the library. That is the number of
# resident pages above those with the C library's allocator. It is a mean: the address of a library
# decides how many pages the kernel maps around each touched one.
# It must not know what these pages are; check_layout.py does. Where the kernel does not tell (no
# smaps_rollup) or pages are not of 4 KiB it exits 77.
# SPDX-License-Identifier: MIT
"""Checks the resident size that a libtalus.so adds to a program that does nothing."""

import os
import statistics
import subprocess
import sys

import report

SKIPPED = 77
# One start differs from the next by 60 KiB, by where the C library lies: a mean of 400 by 4 KiB.
STARTS = 400
KIB_MAX = 270  # 250 are usual; each code page outside the start maps 64 more


def resident_kib(program, **environment):
    """Of one start of the program; None if the kernel does not tell."""
    done = subprocess.run([program], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin", **environment})
    return int(done.stdout.split()[1]) if done.returncode == 0 else None


def findings(without, preloaded):
    more = statistics.mean(preloaded) - statistics.mean(without)
    print(f"{more:.0f} KiB more than the {statistics.mean(without):.0f} without")
    if more > KIB_MAX:
        yield f"a process that does nothing is {more:.0f} KiB larger, at most {KIB_MAX}"


def main(arguments):
    library, program = arguments
    if resident_kib(program) is None or os.sysconf("SC_PAGE_SIZE") != 4096:
        print("skipped: no smaps_rollup, or pages that are not of 4 KiB")
        return SKIPPED
    without, preloaded = [], []
    for _ in range(STARTS):
        without.append(resident_kib(program))
        preloaded.append(resident_kib(program, LD_PRELOAD=library))
    return report.report(library, findings(without, preloaded))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
