#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the layout of all C and C++ files with .clang-format.

Owns: the version that decides. Versions of clang-format differ in details, so only one counts.

    check_format.py [--fix] ROOT

Exit status: 0 all files agree, 1 a file differs, 77 that version is not installed.
"""
import argparse
import re
import shutil
import subprocess
import sys

VERSION = 14
SKIPPED = 77
SHOWN_MAX = 10


def find_program():
    """The path of a clang-format of that version; None: not installed."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True,
                              check=False).stdout
        found = re.search(r"version (\d+)", text)
        if found and int(found.group(1)) == VERSION:
            return path
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", help="the project's folder")
    parser.add_argument("--fix", action="store_true", help="format the files that differ")
    arguments = parser.parse_args()
    program = find_program()
    if program is None:
        print(f"skipped: there is no clang-format {VERSION}")
        return SKIPPED
    listed = subprocess.run(["git", "-C", arguments.root, "ls-files", "-z", "*.c", "*.cpp", "*.h",
                             "*.hpp"], capture_output=True, text=True, check=False)
    files = [name for name in listed.stdout.split("\0") if name]
    if listed.returncode != 0 or not files:
        print("skipped: not a checkout of git")
        return SKIPPED
    how = ["-i"] if arguments.fix else ["--dry-run", "--Werror", "--ferror-limit=1"]
    done = subprocess.run([program, "--style=file", *how, *files], capture_output=True, text=True,
                          cwd=arguments.root, check=False)
    wrong = re.findall(r"^(.*?:\d+):\d+: error", done.stderr, re.MULTILINE)
    for place in wrong[:SHOWN_MAX]:
        print(place)
    print(f"{len(files)} files, {len(wrong)} differ from .clang-format"
          + ("; tools/tidy/check_format.py --fix . formats them" if wrong else ""))
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
