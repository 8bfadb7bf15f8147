#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program that contains Talus and looks at it from outside.

Owns: what every entry owes a user. The program exits with 0 and says nothing. The options of the
environment act exactly once, however many pieces of the library the program was made of. A
statement about the number of calls shows that the program's own malloc was meant.

    entry_test.py PROGRAM
"""
import os
import re
import subprocess
import sys

START_LINE = re.compile(r"^talus \d+\.\d+\.\d+: .*\bverbose=(?:1|true|on|yes)\b", re.MULTILINE)
SUMMARY_HEAD = re.compile(r"^talus \d+\.\d+\.\d+, process (\d+)$", re.MULTILINE)
ALLOCATIONS = re.compile(r"^  allocations +(\d+)$", re.MULTILINE)
ALLOCATIONS_MIN = 1000  # each program allocates more often than this


def run(program: str, **options: str):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("TALUS_", "LD_PRELOAD"))}
    environment.update(options)
    process = subprocess.Popen([program], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process, out, err


def faults(program: str) -> list:
    found = []
    process, out, err = run(program)
    if process.returncode != 0 or out or err:
        found.append(f"alone: exit status {process.returncode}, said {out!r} {err!r}")

    process, out, err = run(program, TALUS_PRINT_STATS="stderr")
    heads = SUMMARY_HEAD.findall(err)
    counts = [int(count) for count in ALLOCATIONS.findall(err)]
    if process.returncode != 0 or out:
        found.append(f"TALUS_PRINT_STATS: exit status {process.returncode}, said {out!r}")
    if heads != [str(process.pid)]:
        found.append(f"TALUS_PRINT_STATS: not one summary of {process.pid} in {err!r}")
    if len(counts) != 1 or counts[0] < ALLOCATIONS_MIN:
        found.append(f"TALUS_PRINT_STATS: allocations are {counts} in {err!r}")

    process, out, err = run(program, TALUS_VERBOSE="1")
    if process.returncode != 0 or len(START_LINE.findall(err)) != 1:
        found.append(f"TALUS_VERBOSE: exit status {process.returncode}, said {err!r}")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = faults(sys.argv[1])
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
