#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs the build into a new folder and uses it from there, as a program elsewhere would.

Owns: the link lines that the documentation promises, and those that CMake's find_package and
pkg-config make; the tree is moved before these are asked. Nothing of the source or build tree is
named in them, save the test programs and examples themselves. Compilers come from CC and CXX.

    installed_test.py --cmake CMAKE --ctest CTEST --build FOLDER --libdir lib --bindir bin
                      [--command]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"


class Prefix:
    """One installed tree and the programs made from it."""

    def __init__(self, folder: Path, libdir: str, bindir: str):
        self.root = folder / "prefix"
        self.work = folder
        self.lib = self.root / libdir
        self.bin = self.root / bindir
        self.headers = ["-I", str(self.root / "include")]

    def moved(self, libdir: str, bindir: str) -> "Prefix":
        folder = self.work / "elsewhere"
        folder.mkdir()
        self.root.rename(folder / "prefix")
        return Prefix(folder, libdir, bindir)

    def build(self, name: str, compiler: str, *words: str) -> Path:
        program = self.work / name
        call([compiler, *self.headers, "-O1", "-fno-builtin", *words, "-pthread", "-o",
              str(program)])
        return program

    def check(self, program: Path, **more: str) -> None:
        environment = {**os.environ, **more}
        call([sys.executable, "-B", str(HERE / "entry_test.py"), str(program)], environment)


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
    named_nowhere = str(HERE / "only_strdup.c")
    prefix.check(prefix.build("by_u", cc, "-Wl,-u,malloc", named_nowhere,
                              str(prefix.lib / "libtalus.a")))
    prefix.check(prefix.build("by_need", cc, "-Wl,--no-as-needed", named_nowhere,
                              "-L", str(prefix.lib), "-ltalus"), **path)
    prefix.check(prefix.build("object", cc, source, str(prefix.lib / "talus.o")))
    source = str(HERE / "uses_cxx.cpp")
    prefix.check(prefix.build("cxx", cxx, "-std=c++17", source, "-L", str(prefix.lib), "-ltalus"),
                 **path)


def test_header(prefix: Prefix, cxx: str) -> None:
    units = [str(HERE / name) for name in ("header_main.cpp", "header_other.cpp")]
    prefix.check(prefix.build("header", cxx, "-std=c++17", "-DTALUS_HEADER_ONLY", *units))


def test_cmake_package(prefix: Prefix, cmake: str, ctest: str) -> None:
    """The examples as a project of their own; each checks what it shows."""
    build = prefix.work / "examples"
    # Compilers come from the environment.
    call([cmake, "-S", str(EXAMPLES), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
          f"-DCMAKE_PREFIX_PATH={prefix.root}"])
    cache = (build / "CMakeCache.txt").read_text()
    if f"talus_DIR:PATH={prefix.lib}/cmake/talus" not in cache:
        raise SystemExit("another Talus was found than the installed one")
    call([cmake, "--build", str(build)])
    said = call([ctest, "--test-dir", str(build), "--output-on-failure"])
    if f"out of {len(list(EXAMPLES.glob('*.c*')))}" not in said:
        raise SystemExit(f"not all examples were run:\n{said}")


PROJECT = """cmake_minimum_required(VERSION 3.22)
project(unnamed LANGUAGES C)
find_package(talus REQUIRED)
add_executable(unnamed {source})
target_link_libraries(unnamed PRIVATE talus::talus m)
"""


def test_cmake_target(prefix: Prefix, cmake: str) -> None:
    """A program that names nothing of Talus has it, and no other library for that reason."""
    folder = prefix.work / "unnamed"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT.format(source=HERE / "only_strdup.c"))
    for flag in ("--as-needed", "--no-as-needed"):
        build = folder / flag.strip("-")
        call([cmake, "-S", str(folder), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix.root}",
              f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,{flag}"])
        call([cmake, "--build", str(build)])
        prefix.check(build / "unnamed")
        has_libm = "libm.so" in call(["readelf", "-d", str(build / "unnamed")])
        if has_libm != (flag == "--no-as-needed"):
            raise SystemExit(f"talus::talus changed what {flag} means for other libraries")


def test_pkg_config(prefix: Prefix, cc: str, cxx: str) -> None:
    tool = shutil.which("pkg-config")
    if tool is None:
        print("pkg-config is not installed: left out")
        return
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix.lib / "pkgconfig"),
                   "LD_LIBRARY_PATH": str(prefix.lib)}
    words = call([tool, "--cflags", "--libs", "talus"], environment).split()
    version = call([tool, "--modversion", "talus"], environment).strip()
    if version not in (prefix.root / "include/talus/talus.h").read_text():
        raise SystemExit(f"pkg-config says version {version}")
    for compiler, source in ((cc, "basic.c"), (cxx, "containers.cpp")):
        program = prefix.work / f"by_pkg_config_{Path(source).stem}"
        standard = ["-std=c++17"] if compiler == cxx else []
        call([compiler, *standard, str(EXAMPLES / source), "-o", str(program), *words])
        call([str(program)], environment)
    # Also where linkers leave out what no object names, as many compilers ask of them by default.
    named_nowhere = str(HERE / "only_strdup.c")
    prefix.check(prefix.build("by_pkg_config", cc, "-Wl,--as-needed", named_nowhere, *words),
                 **environment)
    words = call([tool, "--static", "--cflags", "--libs", "talus"], environment).split()
    prefix.check(prefix.build("by_static_pkg_config", cc, "-static", named_nowhere, *words))


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
    parser.add_argument("--ctest", default="ctest")
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
        prefix = prefix.moved(given.libdir, given.bindir)
        test_cmake_package(prefix, given.cmake, given.ctest)
        test_cmake_target(prefix, given.cmake)
        test_pkg_config(prefix, cc, cxx)
    return 0


if __name__ == "__main__":
    sys.exit(main())
