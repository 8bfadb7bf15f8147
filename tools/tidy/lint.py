#!/usr/bin/env python3
# What it owns: the run of clang-tidy on two units of the library, with the checks of .clang-tidy.
# The core is headers, so these units show nearly all of it. It prints one line a finding and exits
# with 77 where there is no clang-tidy.
# It must not know a check: .clang-tidy lists them with the reasons.
# SPDX-License-Identifier: MIT
"""Runs clang-tidy on src/."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import units  # noqa: E402

SKIPPED = 77
# What clang itself takes; .clang-tidy has a smaller bound.
DEEP = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=225000"]
FINDING = re.compile(r"^(?:.*/)?((?:src|include)/\S+?:\d+):\d+: (?:warning|error): (.*)$")


def findings_of(root, tool, unit, flags):
    """The findings of one unit, and the last words of clang-tidy if it did not come to its end."""
    command = [tool, "--quiet", os.path.join(root, unit), "--", *units.flags_of(root, flags)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    found = {match.groups() for match in map(FINDING.match, done.stdout.split("\n")) if match}
    if done.returncode and not found:
        found.add((unit + ":1", (done.stdout + done.stderr).strip()[-200:] or "clang-tidy failed"))
    return found


def main(arguments):
    default_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=default_root, help="root of the tree")
    parser.add_argument("--deep", action="store_true", help="analyze each path to its end")
    options = parser.parse_args(arguments)
    root = os.path.abspath(options.root)
    more = DEEP if options.deep else []
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tool is None:
        print("lint: there is no clang-tidy (package clang-tidy)")
        return SKIPPED
    found = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda unit: findings_of(root, tool, unit[0], unit[1] + more),
                             units.MAIN):
            found |= part
    for place, what in sorted(found):
        print(f"{place}: lint: {what}")
    print(f"lint: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
