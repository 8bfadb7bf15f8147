#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles what users compile, in every language standard, with all compilers there are.

Owns: the list. The C headers in C99, C11, C17 and C++17 to C++23 with pedantic warnings, alone and
twice in a unit. The C++ types in C++17 to C++23, also without exceptions and RTTI. The entries'
sources in C++23 with the library's own flags, which build in C++17; the guards as one unit, as the
library has them. The one header in C++20 and C++23: also without names that shadow others, and
beside a user's own types with the names of the core's types. Every warning is an error. gcc
generates code in C++20 for two sources, which hold most of the core, as some of its warnings need
that. The others are only read.

With --headers: what users compile alone, without the entries' sources.

    standards_test.py --root DIR --one-header DIR --flags "FLAGS OF THE LIBRARY" [--headers]
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GENERATED = ("libc.cpp", "talus.cpp")
GUARDS = ("copies.cpp", "credentials.cpp", "fork_order.cpp", "system_call.cpp")
C_COMPILERS = ("gcc", "clang")
CXX_COMPILERS = ("g++", "clang++")
PEDANTIC = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
GNU_ONLY = ("-fno-gnu-unique",)
HEADER_USE = """#include <talus/bounded.h>
#include <talus/talus.h>
#include <talus/bounded.h>
#include <talus/profile.h>
#include <talus/talus.h>
extern size_t used_bytes;
size_t used_bytes = sizeof(&talus_version) + sizeof(TALUS_VERSION) + sizeof(&talus_bounded_new);
"""
TYPES_USE = """#include <talus/bounded.hpp>
#include <talus/talus.hpp>
#include <talus/talus.hpp>
#include <string>
#include <vector>
void use();
void use() {
  std::vector<std::pmr::string, talus::allocator<std::pmr::string>> texts(3);
  texts.emplace_back("text", talus::default_resource());
  auto room = talus::allocator<int>{}.allocate_at_least(3);
  talus::allocator<int>{}.deallocate(room.ptr, room.count);
  auto numbers = talus::make_unique<int[]>(3);
  talus_free(talus::allocate<3>());
  talus::bounded pools{4, 4096};
  talus::bounded_cache cache{pools};
}
"""
# A standard library that has allocate_at_least before C++23, with the one parameter of libc++ 15.
ONE_PARAMETER_USE = """#include <cstddef>
#define __cpp_lib_allocate_at_least 202106L
namespace std {
template <class Pointer>
struct allocation_result {
  Pointer ptr;
  size_t count;
};
}
#include <talus/talus.hpp>
std::allocation_result<int*> use();
std::allocation_result<int*> use() { return talus::allocator<int>{}.allocate_at_least(3); }
"""
ONE_HEADER_USE = """#include <talus/talus.hpp>
#include <talus/talus.hpp>
#include <talus/bounded.hpp>
#include <talus/heap.hpp>
using namespace talus;
int main() { talus_free(talus_malloc(1)); }
"""


def names_of_user(root: str) -> str:
    """A user's own types, one named as each type of the library's core."""
    names = set()
    for header in Path(root, "src").rglob("*.hpp"):
        names.update(re.findall(r"^(?:class|struct|enum class)(?: alignas\(.*?\))? (\w+)",
                                header.read_text(), re.M))
    assert len(names) > 100, "found no types of the core"
    return "".join(f"struct {name} {{}};\n{name} own_{name};\n" for name in sorted(names))


def standards_of(compiler: str, standards):
    """The names under which this compiler knows the standards; leaves out what it does not know."""
    for names in standards:
        for name in names.split():
            tried = subprocess.run([compiler, f"-std={name}", "-fsyntax-only", "-x",
                                    "c++" if "++" in name else "c", "/dev/null"],
                                   capture_output=True, check=False)
            if tried.returncode == 0:
                yield name
                break


def jobs(arguments, folder: Path):
    """(what, command) of each compilation."""
    include = f"-I{arguments.root}/include"
    (folder / "header.c").write_text(HEADER_USE)
    (folder / "header.cpp").write_text(HEADER_USE)
    (folder / "one.cpp").write_text(ONE_HEADER_USE + names_of_user(arguments.root))
    (folder / "types.cpp").write_text(TYPES_USE)
    (folder / "one_parameter.cpp").write_text(ONE_PARAMETER_USE)
    guards = folder / "guards.cpp"
    guards.write_text("".join(f'#include "entry/{name}"\n' for name in GUARDS))
    sources = [source for source in sorted(Path(arguments.root, "src/entry").glob("*.cpp"))
               if source.name not in GUARDS]
    for compiler in filter(shutil.which, C_COMPILERS):
        for standard in standards_of(compiler, ("c99", "c11", "c17", "c23 c2x")):
            yield (f"talus.h, {compiler} {standard}",
                   [compiler, f"-std={standard}", "-fsyntax-only", include, *PEDANTIC,
                    str(folder / "header.c")])
    flags = arguments.flags.split()
    for compiler in filter(shutil.which, CXX_COMPILERS):
        own = [flag for flag in flags if compiler == "g++" or flag not in GNU_ONLY]
        for standard in standards_of(compiler, ("c++17", "c++20", "c++23 c++2b")):
            start = [compiler, f"-std={standard}", "-Werror"]
            yield (f"talus.h, {compiler} {standard}",
                   [*start, "-fsyntax-only", include, *PEDANTIC, str(folder / "header.cpp")])
            for bare in ([], ["-fno-exceptions", "-fno-rtti"]):
                yield (f"talus.hpp, linked, {compiler} {standard} {' '.join(bare)}",
                       [*start, "-fsyntax-only", include, *PEDANTIC, *bare,
                        str(folder / "types.cpp")])
            if standard == "c++17":
                yield (f"allocation_result of one parameter, {compiler}",
                       [*start, "-fsyntax-only", include, *PEDANTIC,
                        str(folder / "one_parameter.cpp")])
                continue
            yield (f"talus.hpp, {compiler} {standard}",
                   [*start, "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wsign-conversion",
                    "-DTALUS_HEADER_ONLY", f"-I{arguments.one_header}", str(folder / "one.cpp")])
            is_generated = compiler == "g++" and standard == "c++20"
            if arguments.headers or standard == "c++20" and not is_generated:
                continue  # what is read in C++23 is more
            for source in [*sources, guards]:
                if is_generated and source.name not in GENERATED:
                    continue
                # The file of the operators throws; the others must not be able to.
                more = ["-fexceptions"] if source.name == "new.cpp" else []
                how = ["-Og", "-S", "-o", "/dev/null"] if is_generated else ["-fsyntax-only"]
                yield (f"{source.name}, {compiler} {standard}",
                       [*start, *how, *own, *more, f"-I{arguments.root}/src", include,
                        str(source)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, help="folder of src/ and include/")
    parser.add_argument("--one-header", required=True, help="include folder of talus/talus.hpp")
    parser.add_argument("--headers", action="store_true", help="not the entries' sources")
    parser.add_argument("--flags", default="", help="the library's own flags")
    arguments = parser.parse_args()
    count = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, command in jobs(arguments, Path(folder)):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            count += 1
            if done.returncode != 0 or done.stderr:
                failed += 1
                print(f"{what}:\n" + "\n".join(done.stderr.splitlines()[:12]))
    print(f"{count - failed} of {count} compile without a warning")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
