#!/usr/bin/env python3
# What it owns: the command that runs real programs under an allocator library: which cases, in
# which order, and the line that each of them prints. Any preload library will do, so the same
# cases also tell whether a failure is ours or the program's.
# Ends with `N passed, N failed, N skipped`; exit code 1 when one failed or none passed.
# SPDX-License-Identifier: MIT
"""Runs real programs without and with a preloaded allocator and compares what they print."""

import argparse
import fnmatch
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness           # noqa: E402
import cases_languages   # noqa: E402,F401
import cases_servers     # noqa: E402,F401
import cases_tools       # noqa: E402,F401

SETS = ("light", "all")


def chosen(options):
    """The cases of the set, in the order of their names; `all` holds the light ones too."""
    wanted = [one for one in harness.CASES if options.set == "all" or options.set == one.sets]
    if options.only:
        wanted = [one for one in wanted
                  if any(fnmatch.fnmatch(one.name, pattern) for pattern in options.only)]
    return sorted(wanted, key=lambda one: one.name)


def stage_library(library, base):
    """A copy that every user may read: the servers do not run as root."""
    copy = os.path.join(base, os.path.basename(library))
    shutil.copyfile(os.path.realpath(library), copy)
    os.chmod(copy, 0o755)
    return copy


def run_cases(cases, library, base):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for one in cases:
        folder = os.path.join(base, one.name)
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        verdict, note = harness.judge(one, folder, library)
        counts[verdict] += 1
        first, *rest = note.split("\n")
        print(f"{verdict:8} {one.name}: {first}", flush=True)
        for line in rest:
            print(f"         | {line}", flush=True)
    return counts


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talus-lib", help="the library to preload")
    parser.add_argument("--set", choices=SETS, default="light")
    parser.add_argument("--mode", metavar="MODE", help="TALUS_MODE of the programs")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="names of cases")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    parser.add_argument("--keep", action="store_true", help="keep the folder of the runs")
    options = parser.parse_args(arguments)
    cases = chosen(options)
    if options.list:
        for one in cases:
            print(f"{one.name:28} {one.sets:6} needs {' '.join(one.needs) or 'nothing'}")
        return 0
    if not options.talus_lib or not os.path.isfile(options.talus_lib):
        parser.error("--talus-lib must name an existing library")
    if options.mode:
        os.environ["TALUS_MODE"] = options.mode  # harmless to those that run without the library
    base = tempfile.mkdtemp(prefix="programs-")
    os.chmod(base, 0o755)
    try:
        counts = run_cases(cases, stage_library(options.talus_lib, base), base)
    finally:
        if options.keep:
            print(f"kept: {base}")
        else:
            shutil.rmtree(base, ignore_errors=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
