#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links small programs with libtalus.a and talus.o by each linker that the machine has.

Linkers differ in what they take from archives: mold prefers a strong name of a later archive, such
as malloc of libc.a, to a weak one of an earlier archive. Owns: each linker makes a program whose
only heap is Talus's (entry_test.py), and lets a program define the names of C itself.

    linkers_test.py CC CXX INCLUDE ARCHIVE OBJECT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import entry_test

SOURCES = pathlib.Path(__file__).parent
# The name for -fuse-ld=, and the program that must be there.
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
STATIC, BY_NAME = ["-static"], ["-rdynamic", "-Wl,-u,reallocarray"]
MALLOC = ["-Wl,-u,malloc"]


def run(command: list) -> str:
    """What the command says if it fails, else nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr or f"exit {done.returncode}"


class Links:
    """Compiles each source once, links it in many ways."""

    def __init__(self, compilers: dict, include: str, folder: pathlib.Path) -> None:
        self.compilers, self.include, self.folder = compilers, include, folder
        self.faults = []

    def compiler_for(self, source: str) -> str:
        return self.compilers["cxx" if source.endswith(".cpp") else "c"]

    def compile(self, source: str) -> str:
        compiled = self.folder / f"{source}.o"
        if not compiled.exists():
            fault = run([self.compiler_for(source), "-O1", "-fno-builtin", f"-I{self.include}",
                         "-c", "-o", str(compiled), str(SOURCES / source)])
            if fault:
                raise SystemExit(f"{source}: {fault}")
        return str(compiled)

    def link(self, linker: str, source: str, library: str, flags: list) -> str:
        """The program; empty, and a fault, if there is none."""
        program = str(self.folder / f"{linker}_{len(list(self.folder.iterdir()))}")
        fault = run([self.compiler_for(source), f"-fuse-ld={linker}", "-pthread", "-o", program,
                     self.compile(source), *flags, library])
        if fault:
            self.faults.append(f"{linker}: {source} with {library} {flags}: {fault}")
        return "" if fault else program

    def entry(self, *how) -> None:
        program = self.link(*how)
        found = entry_test.faults(program) if program else []
        self.faults += [f"{how}: {fault}" for fault in found]

    def plain(self, *how) -> None:
        program = self.link(*how)
        fault = run([program]) if program else ""
        if fault:
            self.faults.append(f"{how}: {fault}")


def main() -> int:
    if len(sys.argv) != 6:
        print(__doc__, file=sys.stderr)
        return 2
    cc, cxx, include, archive, single = sys.argv[1:]
    linkers = [name for name, program in LINKERS.items() if shutil.which(program)]
    with tempfile.TemporaryDirectory() as folder:
        links = Links({"c": cc, "cxx": cxx}, include, pathlib.Path(folder))
        for linker in linkers:
            for how in ([], STATIC):
                links.entry(linker, "only_malloc.c", archive, MALLOC + how)
                links.entry(linker, "only_strdup.c", archive, MALLOC + how)
                links.entry(linker, "only_talus.c", archive, how)
                links.entry(linker, "only_new.cpp", archive, how)
                links.entry(linker, "only_malloc.c", single, how)
            links.plain(linker, "replaced_malloc.c", archive, BY_NAME)
    for fault in links.faults:
        print(fault)
    print("linkers:", *linkers)
    return 1 if links.faults or not linkers else 0


if __name__ == "__main__":
    sys.exit(main())
