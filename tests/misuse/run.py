#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frees blocks wrongly in every way that Talus promises to stop, and reads what it says.

A variant is a kind of wrong free, a size, the thread that frees, the process or the child of a
fork, and a heap that is fresh or warm. Each must end by SIGABRT, with the one line that names the
fault and the pointer. With --table, prints what an allocator (any library to preload; none: the C
library) does instead, and fails for nothing.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import signal
import subprocess
import sys

KINDS = ("twice", "between", "plus8", "plus16", "middle")
SIZES = (16, 64, 512, 5000, 40_000, 300_000)
OWNERS = ("own", "other", "gone")
PLACES = ("process", "child")
STATES = ("fresh", "warm")
# Of these nothing is promised.
OTHER_KINDS = ("late", "crossed", "behind", "after", "realloc", "local")

DOUBLE = (r"talus: (double free of {0} \(a free block of \d+ bytes\)"
          r"|invalid pointer {0} passed to free\(\) \(not a block of this heap: freed twice,"
          r" or from another allocator\))\n")
INSIDE = (r"talus: (invalid free of {0} \(not the start of a block; it points \d+ bytes into"
          r" \d+ bytes at 0x[0-9a-f]+\)"
          r"|invalid pointer {0} passed to free\(\) \(not a block of this heap: freed twice,"
          r" or from another allocator\))\n")


def run(program, library, variant):
    """One variant; returns (status, what was announced, standard error)."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("TALUS_") and key != "LD_PRELOAD"}
    if library:
        environment["LD_PRELOAD"] = library
    done = subprocess.run([program, *map(str, variant)], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout, done.stderr


def fault_in(variant, result):
    """What is wrong with the answer to a variant; None: it is the promised one."""
    status, announced, said = result
    if status != -signal.SIGABRT:
        return f"ended with {status}, not by SIGABRT; it said: {said!r}"
    pointer = re.search(r"wrong (0x[0-9a-f]+)", announced).group(1)
    wording = DOUBLE if variant[0] in ("twice", "between") else INSIDE
    if not re.fullmatch(wording.format(pointer), said):
        return f"said {said!r} of {pointer}"
    return None


def word_for(result):
    """A result in a word, for the table."""
    words = {0: "silent", 3: "OVERLAP", -signal.SIGABRT: "stopped"}
    return words.get(result[0], "crash")


def print_table(program, library):
    """What happens in a fresh process, by kind and size, for the own and for another thread."""
    print("| kind | thread | " + " | ".join(map(str, SIZES)) + " |")
    print("|---|---|" + "---|" * len(SIZES))
    for kind, owner in itertools.product(KINDS, ("own", "other")):
        words = [word_for(run(program, library, (kind, size, owner, "process", "fresh")))
                 for size in SIZES]
        print(f"| {kind} | {owner} | " + " | ".join(words) + " |")
    for kind in OTHER_KINDS:
        words = [word_for(run(program, library, (kind, size, "own", "process", "fresh")))
                 for size in SIZES]
        print(f"| {kind} | own | " + " | ".join(words) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print_table(options.program, options.library)
        return 0
    variants = list(itertools.product(KINDS, SIZES, OWNERS, PLACES, STATES))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda it: run(options.program, options.library, it), variants)
        faults = [(variant, fault_in(variant, result))
                  for variant, result in zip(variants, results)]
    faults = [(variant, fault) for variant, fault in faults if fault]
    for variant, fault in faults:
        print(" ".join(map(str, variant)) + ": " + fault)
    print(f"{len(variants) - len(faults)} of {len(variants)} wrong frees were stopped as promised")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
