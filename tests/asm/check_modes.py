#!/usr/bin/env python3
# What it owns: the proof that modes cost nothing. The fast paths of malloc and free name no data
# but the thread's context and the page map, so they cannot ask whether there is a mode. Each way
# out of them leads to a function of no mode. check_budget.py counts their instructions. Both
# together hold the promise "a mode costs nothing to a program that does not use it".
# It must not know how a path is found (fast_path.py) nor its budget. x86-64 only: else it exits 77.
# SPDX-License-Identifier: MIT
"""Checks that the fast paths of a libtalus.so know nothing of modes."""

import re
import sys

import check_budget
import fast_path
import report

NAMES = ("malloc", "free", "talus_malloc", "talus_free")
# A word of the global offset table (the place of the thread's context), and the page map.
DATA_ALLOWED = re.compile(
    r"_GLOBAL_OFFSET_TABLE_|_ZN5talus4core8page_mapE|_ZN5talus4core12this_contextE")
MODE = re.compile(r"mapped|counting|mode", re.IGNORECASE)


def names_of_data(path):
    """(address, name) of what the instructions of a path address relative to themselves."""
    for step in path:
        if "(%rip)" not in step.text:
            continue
        found = re.search(r"#\s*[0-9a-f]+ <([^>+]+)", step.text)
        yield step.address, found.group(1) if found else "what has no name"


def ways_out(code):
    """Names of the functions that a function jumps to or calls."""
    for address in sorted(code):
        step = code[address]
        if not (step.is_jump() or step.is_call() or step.is_branch()):
            continue
        found = re.search(r"<([^>+]+)>", step.operands)
        if found and step.target() not in code:
            yield address, found.group(1)


def findings(library):
    functions = fast_path.symbols(library)
    for name in NAMES:
        if name not in functions:
            yield f"{name} is not defined"
            continue
        try:
            path, code = check_budget.path_of(library, functions, name)
        except fast_path.NoFastPath as failure:
            yield f"{name}: {failure}"
            continue
        for address, data in names_of_data(path):
            if not DATA_ALLOWED.search(data):
                yield f"{name} reads {data} at {address:x}"
        for address, function in ways_out(code):
            if MODE.search(function):
                yield f"{name} leads to {function} at {address:x}"


def main(arguments):
    library = arguments[0]
    if not check_budget.is_x86_64(library):
        print("skipped: the walk reads x86-64 code only")
        return check_budget.SKIPPED
    return report.report(library, findings(library))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
