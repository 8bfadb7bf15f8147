#!/usr/bin/env python3
# What it owns: what the helper thread may execute. libc does not know this thread: its thread
# pointer leads to a block of Talus' own. There are no thread-local variables at that place, errno
# among them, and a function of libc that reads one reads wrong memory. This check follows each
# direct call and jump from the helper's entry through libtalus.so. It refuses reads and writes by
# the thread pointer. It refuses calls that leave the library, except those that copy bytes or end
# the process. It does not follow calls by pointer: they reach the kernel's clock, which is no part
# of libc.
# It must not know what the helper does. x86-64 only: elsewhere it exits 77.
# SPDX-License-Identifier: MIT
"""Checks that the helper thread of a libtalus.so uses neither libc nor thread-local storage."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fast_path    # noqa: E402

SKIPPED = 77
ENTRY = "_ZN5talus4core13helper_entersEv"
# abort: a program that is told of its misuse ends there, on whatever thread. getauxval: its answers
# are kept, and were asked for before the helper began (bind_functions).
CALLS_ALLOWED = {"memcpy", "memset", "memmove", "memcmp", "strlen", "abort", "getauxval"}
# Asks which thread it is on: the block's first word is the thread pointer, as everywhere.
MAY_READ_POINTER = re.compile(r"\d+begin_purge")
POINTER = re.compile(r"%fs:0x0,(%\w+)$")
# So may a function that takes a lock: it makes a mark of the pointer (thread_mark), no
# address.
MARK = "shr    $0x3,{}"
MARK_WITHIN = 5  # instructions
# Not where a helper is: there is none while a listener or hooks watch pages (threads/helper.hpp).
NEVER_BY_HELPER = re.compile(r"12WatchedCalls(12watched_call|16announce_watched|9call_libc)")
FUNCTIONS_MIN = 5  # less than this was not the helper


def function_starts(library):
    """{address: name} and {address: bytes} of all functions."""
    found = fast_path.symbols(library)
    return ({address: name for name, (address, _) in found.items()},
            dict(found.values()))


def outside_call(text):
    """The name of the function of another library that a call or jump goes to, or None."""
    match = re.search(r"<([\w.]+)@(?:plt|\w*\.?got)", text)
    return match.group(1) if match else None


def makes_a_mark(code, place):
    """Is what the instruction reads by the thread pointer shifted before all else?"""
    match = POINTER.search(code[place].operands)
    if not match:
        return False
    for instruction in code[place + 1:place + 1 + MARK_WITHIN]:
        if match.group(1) in instruction.text:
            return MARK.format(match.group(1)) in instruction.text
    return False


def findings_of(name, instructions):
    """Yields what is refused in one function."""
    code = list(instructions.values())
    for place, instruction in enumerate(code):
        is_pointer = MAY_READ_POINTER.search(name) and POINTER.match(instruction.operands)
        if "%fs:" in instruction.operands and not (is_pointer or makes_a_mark(code, place)):
            yield f"{name}: {instruction.text}: there is no thread-local variable"
        outside = outside_call(instruction.text)
        if outside and outside not in CALLS_ALLOWED:
            yield f"{name}: calls {outside}"


def walk(library, entry):
    """All functions that are reached from the entry: {name: code}."""
    names, sizes = function_starts(library)
    found, open_list = {}, [entry]
    while open_list:
        address = open_list.pop()
        name = names[address]
        if name in found or NEVER_BY_HELPER.search(name):
            continue
        code = fast_path.disassemble(library, address, sizes[address])
        found[name] = code
        for instruction in code.values():
            goes = instruction.is_call() or instruction.is_jump() or instruction.is_branch()
            target = instruction.target() if goes else None
            if target is None or target in code:
                continue
            inside = [start for start in names if start <= target < start + sizes[start]]
            open_list += inside
    return found


def main(library):
    header = subprocess.run(["readelf", "-h", library], check=True, capture_output=True,
                            text=True).stdout
    if "X86-64" not in header:
        print("only for x86-64")
        return SKIPPED
    functions = fast_path.symbols(library)
    if ENTRY not in functions:
        print(f"{library} has no {ENTRY}")
        return 1
    reached = walk(library, functions[ENTRY][0])
    findings = [finding for name, code in reached.items() for finding in findings_of(name, code)]
    for finding in findings:
        print(finding)
    if len(reached) < FUNCTIONS_MIN:
        findings.append(f"only {len(reached)} functions reached")
        print(findings[-1])
    print(f"{len(reached)} functions of the helper, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
