#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a project that includes the source tree in its own, and builds a program in it.

Owns: what such a project owes Talus: a compiler and Python. It asks for no test, tool or benchmark,
so it needs none of the packages that these do, which are hidden from it here. Its program includes
the headers in any order. Compilers come from CC and CXX.

    included_test.py --cmake CMAKE --root FOLDER
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HIDDEN = ("GTest", "CLI11", "fmt", "benchmark")
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(game LANGUAGES C CXX)
add_subdirectory(@ROOT@ talus EXCLUDE_FROM_ALL)
foreach(name talus::talus talus::static talus::header_only)
  if(NOT TARGET ${name})
    message(FATAL_ERROR "no target ${name}")
  endif()
endforeach()
add_executable(game game.cpp)
target_link_libraries(game PRIVATE talus::header_only)
"""
PROGRAM = """#include <talus/bounded.h>
#include <talus/talus.h>
#include <talus/talus.hpp>
int main() {
  talus_free(talus_malloc(3));
  return talus_bounded_pools_for(16) == 1 ? 0 : 1;
}
"""


def call(words: list) -> None:
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=200)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\nexit status {result.returncode}\n{result.stdout}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--root", required=True, help="the source tree of Talus")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="talus_included_") as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text(PROJECT.replace("@ROOT@", given.root))
        (folder / "game.cpp").write_text(PROGRAM)
        call([given.cmake, "-S", name, "-B", f"{name}/build",
              *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in HIDDEN)])
        call([given.cmake, "--build", f"{name}/build", "--target", "game"])
        call([f"{name}/build/game"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
