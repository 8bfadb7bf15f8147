# What it owns: the binary interface of libtalus.so as a text (libabigail), and its comparison with
# the last release's interface (packages/abi). A release may add names. It keeps all others.
# It must not know how the library is built; it needs debug information in it.
# SPDX-License-Identifier: MIT
"""The binary interface of the library, and whether it still serves older programs."""

import shutil
import subprocess

KEPT = "packages/abi/libtalus.so.0.abi"
WRITE = ("--drop-private-types", "--drop-undefined-syms", "--no-show-locs", "--no-corpus-path",
         "--no-comp-dir-path", "--exported-interfaces-only", "--no-elf-needed", "--type-id-style",
         "hash")
# abidiff's exit status has a bit for each finding.
ERROR, USAGE, CHANGE, INCOMPATIBLE = 1, 2, 4, 8  # a structure that changed is a change alone


def write(source, library, output):
    """Writes the interface that the headers of `source` declare, of a library with -g."""
    subprocess.run(["abidw", *WRITE, "--headers-dir", source / "include/talus", "--out-file",
                    output, library], check=True)


def compare(old, new):
    """What became incompatible, as a text; empty: programs for the old one run on the new one."""
    done = subprocess.run(["abidiff", "--no-added-syms", old, new], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode & (ERROR | USAGE | CHANGE | INCOMPATIBLE) else ""


def check(source, library, output):
    """Writes the interface and ends the program if it is incompatible with the kept one."""
    missing = [name for name in ("abidw", "abidiff") if shutil.which(name) is None]
    if missing:
        print(f"dist: the interface is not compared: {', '.join(missing)} not found")
        return
    write(source, library, output)
    said = compare(source / KEPT, output)
    if said:
        raise SystemExit(f"dist: programs for {KEPT} would not run on this library\n{said}")
