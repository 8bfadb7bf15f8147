#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the build into a new folder and uses it from there, as a program elsewhere would.

Owns: the link lines that the documentation promises. Nothing of the source or build tree is named
in them, save the test programs themselves. Compilers come from CC and CXX.

    installed_test.py --cmake CMAKE --build FOLDER --libdir lib --bindir bin [--command]
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Prefix:
    """One installed tree and the programs made from it."""

    def __init__(self, folder: Path, libdir: str, bindir: str):
        self.root = folder / "prefix"
        self.work = folder
        self.lib = self.root / libdir
        self.bin = self.root / bindir
        self.headers = ["-I", str(self.root / "include")]

    def build(self, name: str, compiler: str, *words: str) -> Path:
        program = self.work / name
        call([compiler, *self.headers, "-O1", "-fno-builtin", *words, "-pthread", "-o",
              str(program)])
        return program

    def check(self, program: Path, **more: str) -> None:
        environment = {**os.environ, **more}
        call([sys.executable, "-B", str(HERE / "door_test.py"), str(program)], environment)


def call(words: list, environment: dict = None) -> str:
    result = subprocess.run(words, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=120)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\nexit status {result.returncode}\n{result.stdout}")
    return result.stdout


def test_libraries(prefix: Prefix, cc: str, cxx: str) -> None:
    path = {"LD_LIBRARY_PATH": str(prefix.lib)}
    source = str(HERE / "uses_c.c")
    prefix.check(prefix.build("shared", cc, source, "-L", str(prefix.lib), "-ltalus"), **path)
    prefix.check(prefix.build("archive", cc, source, str(prefix.lib / "libtalus.a")))
    prefix.check(prefix.build("static", cc, "-static", source, "-L", str(prefix.lib), "-ltalus"))
    prefix.check(prefix.build("object", cc, source, str(prefix.lib / "talus.o")))
    source = str(HERE / "uses_cxx.cpp")
    prefix.check(prefix.build("cxx", cxx, "-std=c++17", source, "-L", str(prefix.lib), "-ltalus"),
                 **path)


def test_header(prefix: Prefix, cxx: str) -> None:
    units = [str(HERE / name) for name in ("header_main.cpp", "header_other.cpp")]
    prefix.check(prefix.build("header", cxx, "-std=c++17", "-DTALUS_HEADER_ONLY", *units))


def test_command(prefix: Prefix) -> None:
    """The command finds the library beside it."""
    command = str(prefix.bin / "talus")
    said = call([command, "run", "--", "/bin/echo", "hi"])
    if said != "hi\n":
        raise SystemExit(f"talus run -- /bin/echo hi said {said!r}")
    environment = {**os.environ, "TALUS_VERBOSE": "1"}
    said = call([command, "run", "--", "/bin/echo", "hi"], environment)
    if "talus " not in said or not said.endswith("hi\n"):
        raise SystemExit(f"with TALUS_VERBOSE=1, talus run -- /bin/echo hi said {said!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--libdir", default="lib")
    parser.add_argument("--bindir", default="bin")
    parser.add_argument("--command", action="store_true", help="the talus command was built")
    given = parser.parse_args()
    cc, cxx = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory(prefix="talus_installed_") as folder:
        prefix = Prefix(Path(folder), given.libdir, given.bindir)
        call([given.cmake, "--install", given.build, "--prefix", str(prefix.root)])
        test_libraries(prefix, cc, cxx)
        test_header(prefix, cxx)
        if given.command:
            test_command(prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
