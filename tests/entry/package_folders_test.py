#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the file for pkg-config says that library and headers are, for every kind of folder that a
packager gives: below the prefix, at any depth, and from the root.

Owns: a project that has nothing but cmake/ in it, installed without a build; the file is read as
pkg-config reads it.

    package_folders_test.py --cmake CMAKE --root FOLDER
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = """cmake_minimum_required(VERSION 3.22)
project(folders VERSION 1.2.3 LANGUAGES NONE)
set(CMAKE_SIZEOF_VOID_P 8)
include(GNUInstallDirs)
add_library(nothing INTERFACE)
install(TARGETS nothing EXPORT talus_targets)
add_subdirectory({source} package)
"""
OPTIONS = argparse.Namespace()


def variables(file: Path) -> dict:
    """The file's variables with what they stand for put in."""
    values = {"pcfiledir": str(file.parent)}
    for line in file.read_text().splitlines():
        if re.match(r"\w+=", line):
            name, value = line.split("=", 1)
            values[name] = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], value)
    return values


class Folders(unittest.TestCase):
    def install(self, libdir: str, includedir: str, is_moved: bool = False) -> dict:
        folder = tempfile.TemporaryDirectory(prefix="talus folders ")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        source, build, prefix = (self.root / name for name in ("source", "build", "prefix"))
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT.format(source=f"{OPTIONS.root}/cmake"))
        libdir, includedir = (text.replace("ROOT", str(self.root)) for text in (libdir, includedir))
        for words in (["-S", source, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}",
                       f"-DCMAKE_INSTALL_LIBDIR={libdir}",
                       f"-DCMAKE_INSTALL_INCLUDEDIR={includedir}"], ["--install", build]):
            result = subprocess.run([OPTIONS.cmake, *words], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stdout)
        if is_moved:
            prefix.rename(self.root / "moved")
            prefix = self.root / "moved"
        values = variables(prefix / libdir / "pkgconfig" / "talus.pc")
        return {name: os.path.normpath(values[name]).replace(str(self.root), "ROOT")
                for name in ("libdir", "includedir")}

    def test_below_the_prefix_they_follow_it(self):
        for libdir, includedir in (("lib", "include"), ("lib/x86_64-linux-gnu", "include"),
                                   ("lib64", "include/deep")):
            self.assertEqual(self.install(libdir, includedir, is_moved=True),
                             {"libdir": f"ROOT/moved/{libdir}",
                              "includedir": f"ROOT/moved/{includedir}"})

    def test_from_the_root_they_are_where_they_were_put(self):
        self.assertEqual(self.install("ROOT/far/lib", "include"),
                         {"libdir": "ROOT/far/lib", "includedir": "ROOT/prefix/include"})
        self.assertEqual(self.install("ROOT/far/lib", "ROOT/far/include"),
                         {"libdir": "ROOT/far/lib", "includedir": "ROOT/far/include"})

    def test_headers_alone_may_lie_elsewhere(self):
        self.assertEqual(self.install("lib", "ROOT/far/include", is_moved=True),
                         {"libdir": "ROOT/moved/lib", "includedir": "ROOT/far/include"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--root", required=True, type=Path)
    parser.parse_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1])
