#!/usr/bin/env python3
# Builds the library, unit, misuse and stress tests from source for musl, and runs them. zig
# (`pip install ziglang`) has musl and a C++ library for it; without it the test is skipped (77).
# It takes a quarter of an hour. A build folder that is given is kept for the next time.
# Arguments: the source folder, and optionally the build folder.
# SPDX-License-Identifier: MIT
"""The sources build and pass their tests with musl."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from called import call

SOURCE = Path(sys.argv[1]).resolve()
TARGET = "x86_64-linux-musl"
TARGETS = ("libtalus.so", "libtalus.a", "unit_floors", "unit_heap", "death_test", "stress")
# With unit_floors and unit_heap; forks are slow and latency is the machine's. ctest's expressions
# have no look-ahead.
TESTS = r"^unit\.(base|classes|settings|os|sync|space|retention|slab|heap|cache|store|paths)\.|" \
        r"^death$|^stress\."
LEFT_OUT = r"^stress\.(bounded|fork_latency|exhaustion)"
PLUGIN = """#include "talus.hpp"
#define SHOWN extern "C" __attribute__((visibility("default")))
SHOWN void* plugin_malloc(size_t bytes) { return talus_malloc(bytes); }
SHOWN void plugin_free(void* block) { talus_free(block); }
"""
HOST = """#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void* (*get)(size_t);
static void (*put)(void*);
static void* work(void* seed) {
  for (int i = 0; i < 20000; i++) {
    char* block = get(i % 5000 + 1);
    memset(block, 1, i % 5000 + 1);
    put(block);
  }
  return seed;
}
int main(int count, char** words) {
  void* plugin = dlopen(words[1], RTLD_NOW);
  if (plugin == NULL) {
    puts(dlerror());
    return 1;
  }
  get = (void* (*)(size_t))dlsym(plugin, "plugin_malloc");
  put = (void (*)(void*))dlsym(plugin, "plugin_free");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  work(NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return count != 2;
}
"""


def zig():
    """The command of zig, or nothing."""
    if shutil.which("zig"):
        return [shutil.which("zig")]
    command = [sys.executable, "-m", "ziglang"]
    tried = subprocess.run([*command, "version"], capture_output=True, check=False)
    return command if tried.returncode == 0 else None


def plugin_loads(command, folder):
    """A header-only plugin is opened by dlopen, by this machine's dynamic musl."""
    if shutil.which("musl-gcc") is None:
        print("no musl-gcc: the plugin was not opened")
        return
    call(sys.executable, "-B", SOURCE / "tools/amalgamate.py", "--alone", folder / "talus.hpp")
    (folder / "plugin.cpp").write_text(PLUGIN)
    (folder / "host.c").write_text(HOST)
    call(*command, "c++", "-target", TARGET, "-std=c++17", "-O1", "-shared", "-fPIC",
         folder / "plugin.cpp", "-o", folder / "plugin.so")
    call("musl-gcc", folder / "host.c", "-o", folder / "host")
    call(folder / "host", folder / "plugin.so")


def preload_works(build, folder):
    """The library that zig linked serves a program of this machine's musl."""
    if shutil.which("musl-gcc") is None:
        return
    (folder / "main.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(99)); }\n")
    call("musl-gcc", folder / "main.c", "-o", folder / "main")
    said = call(folder / "main", env={"LD_PRELOAD": str(build / "libtalus.so"),
                                      "TALUS_PRINT_STATS": "stdout"})
    if not said.startswith("talus "):
        sys.exit(f"no statistics at the end: {said}")


def main():
    command = zig()
    if command is None:
        print("skipped: there is no zig here")
        return 77
    # zig checks for undefined behaviour where nothing is said; that needs a library of its own.
    flags = "-fno-sanitize=undefined"
    with tempfile.TemporaryDirectory(prefix="talus-musl-") as name:
        folder = Path(name)
        build = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else folder / "build"
        languages = [f"-DCMAKE_{language}_COMPILER={';'.join([*command, word, '-target', TARGET])}"
                     for language, word in (("C", "cc"), ("CXX", "c++"))]
        call("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
             *languages, f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}",
             "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=x86_64", "-DTALUS_TOOLS=OFF",
             "-DTALUS_BENCH=OFF", "-DTALUS_TEST_PARTS=unit;death;stress")
        call("ninja", "-C", build, "-j", os.cpu_count() or 1, *TARGETS)
        preload_works(build, folder)
        plugin_loads(command, folder)
        said = call("ctest", "--test-dir", build, "-R", TESTS, "-E", LEFT_OUT, "--no-tests=error",
                    "--output-on-failure")
        print("\n".join(said.splitlines()[-8:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
