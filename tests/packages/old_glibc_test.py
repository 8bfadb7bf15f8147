#!/usr/bin/env python3
# Compiles the one file to copy for glibc 2.17 and runs the program. zig is the cross compiler, as
# `pip install ziglang` installs it; without it the test is skipped (77).
# Arguments: the source folder.
# SPDX-License-Identifier: MIT
"""The one file to copy serves programs for old systems."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import glibc_versions

SOURCE = Path(sys.argv[1])
TARGET = "x86_64-linux-gnu.2.17"
NEWEST = (2, 17)


def zig():
    """The command of zig, or nothing."""
    if shutil.which("zig"):
        return ["zig"]
    command = [sys.executable, "-m", "ziglang"]
    tried = subprocess.run([*command, "version"], capture_output=True, check=False)
    return command if tried.returncode == 0 else None


def main():
    command = zig()
    if command is None:
        print("skipped: there is no zig here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", SOURCE / "tools/amalgamate.py", "--alone",
                        f"{folder}/talus.hpp"], check=True)
        units = [SOURCE / "tests/entry" / name
                 for name in ("one_file_main.cpp", "one_file_other.cpp")]
        program = f"{folder}/program"
        subprocess.run([*command, "c++", "-target", TARGET, "-std=c++17", "-O0", "-I", folder,
                        *units, "-o", program], check=True)
        subprocess.run([program], check=True)
        symbols = subprocess.run(["objdump", "-T", program], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
    assert glibc_versions.newest(symbols) <= NEWEST, symbols
    return 0


if __name__ == "__main__":
    sys.exit(main())
