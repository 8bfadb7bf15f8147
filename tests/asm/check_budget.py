#!/usr/bin/env python3
# What it owns: the comparison of the fast paths of malloc, free and related calls with the
# committed budget, budget.json. A path fails that is over budget, or that has a call, a lock, an
# exchange with memory, a division or a fence. The run then prints its listing, so that the cause is
# on the screen. When the path is shorter than the budget the run passes and says by how much: lower
# the budget.
# It must not know how a path is found; fast_path.py does. x86-64 only: elsewhere it exits 77.
# SPDX-License-Identifier: MIT
"""Checks the instruction budget of the fast paths of a libtalus.so."""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fast_path  # noqa: E402

SKIPPED = 77
# Their fast path changes nothing.
CHANGE_NOTHING = ("realloc", "talus_realloc", "malloc_usable_size")


def compiler_key(compiler):
    """'gcc' or 'clang' of a CMake compiler id or of a command name."""
    name = compiler.lower()
    return "clang" if "clang" in name else "gcc" if "gnu" in name or "gcc" in name else name


def is_x86_64(library):
    header = subprocess.run(["readelf", "-h", library], check=True, capture_output=True,
                            text=True).stdout
    return "X86-64" in header


def path_of(library, functions, name):
    """The fast path of a function, through one entry thunk at most."""
    address, size = functions[name]
    code = fast_path.disassemble(library, address, size)
    changes = name not in CHANGE_NOTHING
    thunk = fast_path.entry_thunk(code, address)
    sizes = dict(functions.values())
    if thunk in sizes:
        inner = fast_path.disassemble(library, thunk, sizes[thunk])
        jump = [code[at] for at in sorted(code) if not code[at].is_padding()]
        head = jump[:next(i for i, step in enumerate(jump) if step.is_jump()) + 1]
        return head + fast_path.fast_path(inner, thunk, changes), {**code, **inner}
    return fast_path.fast_path(code, address, changes), code


def show(code, path):
    on_path = {instruction.address for instruction in path}
    for address in sorted(code):
        mark = ">" if address in on_path else " "
        print(f"  {mark} {address:8x}: {code[address].text}")


def check_function(library, functions, name, budget):
    """Prints one line, and the listing on failure; returns whether it is within its budget."""
    try:
        path, code = path_of(library, functions, name)
    except fast_path.NoFastPath as failure:
        print(f"FAIL {name}: {failure}")
        address, size = functions[name]
        show(fast_path.disassemble(library, address, size), [])
        return False
    faults = [f"{step.refusal()} at {step.address:x}" for step in path if step.refusal()]
    if len(path) > budget:
        faults.append(f"{len(path)} instructions, budget {budget}")
    if faults:
        print(f"FAIL {name}: {'; '.join(faults)}")
        show(code, path)
        return False
    print(f"ok   {name}: {len(path)} instructions, budget {budget}")
    return True


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--compiler", required=True, help="CMAKE_CXX_COMPILER_ID, gcc or clang")
    parser.add_argument("--budget", default=os.path.join(here, "budget.json"))
    parser.add_argument("--list", action="store_true", help="print the paths even when they pass")
    options = parser.parse_args(arguments)
    if not is_x86_64(options.library):
        print("skipped: the walk reads x86-64 code only")
        return SKIPPED
    with open(options.budget, encoding="utf-8") as file:
        budgets = json.load(file)
    key = compiler_key(options.compiler)
    if key not in budgets:
        print(f"FAIL no budget for compiler '{key}' in {options.budget}")
        return 1
    functions = fast_path.symbols(options.library)
    passed = True
    for name, budget in sorted(budgets[key].items()):
        if name not in functions:
            print(f"FAIL {name}: not defined in {options.library}")
            passed = False
            continue
        for alias in (name, "talus_" + name):
            if alias in functions:
                passed = check_function(options.library, functions, alias, budget) and passed
                if options.list:
                    path, code = path_of(options.library, functions, alias)
                    show(code, path)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
