#!/usr/bin/env python3
# Builds the same sources in another folder and compares what is delivered, byte by byte. What
# debug information says of folders is compared on one small unit, compiled with -g.
# Arguments: the source folder, the build folder, and TARGET=FILE for each file to compare.
# SPDX-License-Identifier: MIT
"""The library and the command do not depend on the folder that they are built in."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = sys.argv[1:3]
FILES = dict(argument.split("=", 1) for argument in sys.argv[3:])  # by target
PARTS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tools")
CARRIED_SETTINGS = re.compile(
    r"(CMAKE_(?:C|CXX)_(?:COMPILER|FLAGS)|CMAKE_(?:C|CXX)_FLAGS_RELEASE|CMAKE_CXX_STANDARD"
    r"|CMAKE_(?:EXE|SHARED)_LINKER_FLAGS|TALUS_AUDIT):[A-Z]+=(.*)")
SMALL_UNIT = "library_parts.cpp"


def settings():
    """The settings of the build that change its output, as arguments of cmake."""
    with open(f"{BUILD}/CMakeCache.txt", encoding="utf-8") as file:
        found = (CARRIED_SETTINGS.fullmatch(line.rstrip("\n")) for line in file)
        return [f"-D{match[1]}={match[2]}" for match in found if match]


def checked(command, folder):
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, errors="replace", check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command}:\n{result.stdout[-4000:]}")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def debug_object(build, output):
    """The digest of the small unit, compiled as the build does it, but with -g."""
    with open(f"{build}/compile_commands.json", encoding="utf-8") as file:
        unit = next(entry for entry in json.load(file)
                    if os.path.basename(entry["file"]) == SMALL_UNIT)
    words = shlex.split(unit["command"])
    words[words.index("-o") + 1] = output
    checked([*words, "-g"], unit["directory"])
    return digest(output)


class OtherFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Another length, too: what is padded by it would show.
        cls.folder = tempfile.mkdtemp(prefix="talus-another-folder-of-the-same-sources-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.build = f"{cls.folder}/{os.path.relpath(BUILD, SOURCE).replace('..', 'up')}"
        for part in PARTS:
            copy = shutil.copytree if os.path.isdir(f"{SOURCE}/{part}") else shutil.copy
            copy(f"{SOURCE}/{part}", f"{cls.folder}/{part}")
        checked(["cmake", "-G", "Ninja", "-S", cls.folder, "-B", cls.build, *settings(),
                 "-DCMAKE_BUILD_TYPE=Release", "-DTALUS_TESTS=OFF", "-DTALUS_BENCH=OFF"],
                cls.folder)

    def test_debug_information_names_no_folder(self):
        here = debug_object(BUILD, f"{self.folder}/here.o")
        self.assertEqual(here, debug_object(self.build, f"{self.folder}/there.o"))

    def test_what_is_delivered_is_the_same(self):
        checked(["cmake", "--build", self.build, "-j", str(os.cpu_count() or 1), "--target",
                 *FILES], self.folder)
        for path in FILES.values():
            with self.subTest(path):
                other = f"{self.build}/{os.path.relpath(path, BUILD)}"
                self.assertEqual(digest(path), digest(other))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
