#!/usr/bin/env python3
# Tests the recipes of packages/ as far as their tools are here: versions, syntax, and what they ask
# CMake for. With --build it also builds by Meson, Conan and FetchContent, which takes minutes.
# Arguments: the source folder, and optionally --build.
# SPDX-License-Identifier: MIT
"""The recipes for Conan, vcpkg, Meson, Nix and Guix."""

import json
import os
import re
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

from called import call

SOURCE = Path(sys.argv[1]).resolve()
RECIPES = SOURCE / "packages"
IS_BUILDING = "--build" in sys.argv
sys.path.insert(0, str(SOURCE / "tools/dist"))

import archives  # noqa: E402
import dist  # noqa: E402

# Stand-ins for the functions of vcpkg, which say what they were asked.
VCPKG = """
cmake_minimum_required(VERSION 3.22)
function(vcpkg_cmake_configure)
  message(STATUS "configure ${ARGN}")
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  message(STATUS "fixup ${ARGN}")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright kind file)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file}")
  endif()
endfunction()
include("@PORT@")
"""
MESON = """project('user', 'cpp', default_options: ['cpp_std=c++17'])
test('user', executable('user', 'user.cpp', dependencies: dependency('talus')))
"""
FETCHED = """cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(talus URL @ARCHIVE@)
FetchContent_MakeAvailable(talus)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE talus::@KIND@)
"""
PROGRAM = """#include <talus.hpp>
#include <vector>
int main() {
  void* block = talus::malloc(100);
  talus::free(block);
  return std::vector<int, talus::allocator<int>>(100).size() == 100 && block != nullptr ? 0 : 1;
}
"""
LINKED = """#include <stdlib.h>
#include <talus/talus.h>
int main() {
  void* block = malloc(100);
  const bool is_own = talus_usable_size(block) >= 100;
  free(block);
  return is_own ? 0 : 1;
}
"""
# Of a wall clock on a machine that does nothing else.
FETCH_SECONDS_MAX = 90


class Recipes(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="talus-recipes-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program} here")

    def need_time(self):
        if not IS_BUILDING:
            self.skipTest("packages.soak.recipes builds them")

    def archive(self, folder):
        """The source archive of this tree."""
        made = dist.Dist(folder, self.folder / "build", 1)
        made.sources()
        return next(folder.glob("*.tar.gz"))

    def test_each_names_the_same_version(self):
        version = dist.version()
        self.assertEqual(json.loads((RECIPES / "vcpkg/talus/vcpkg.json").read_text())["version"],
                         version)
        wrap = (RECIPES / "meson/talus.wrap").read_text()
        self.assertIn(f"directory = talus-{version}\n", wrap)
        self.assertIn(f"source_filename = talus-{version}.tar.gz\n", wrap)
        meson = (RECIPES / "meson/packagefiles/talus/meson.build").read_text()
        self.assertIn(f"version: '{version}'", meson)
        self.assertIn(f'(version "{version}")', (RECIPES / "guix/talus.scm").read_text())

    def test_options_are_those_of_the_build(self):
        build = (SOURCE / "CMakeLists.txt").read_text()
        for path in [*RECIPES.glob("vcpkg/**/*"), *RECIPES.glob("nix/*"), *RECIPES.glob("guix/*")]:
            for name in re.findall(r"-D(TALUS_\w+)", path.read_text()) if path.is_file() else ():
                self.assertRegex(build, rf"(option|set)\({name}\b", path)

    def test_vcpkg(self):
        script = self.folder / "port.cmake"
        script.write_text(VCPKG.replace("@PORT@", str(RECIPES / "vcpkg/talus/portfile.cmake")))
        said = call("cmake", f"-DCURRENT_PACKAGES_DIR={self.folder}", "-P", script)
        source = re.search(r"configure SOURCE_PATH;([^;]+);", said).group(1)
        self.assertEqual(Path(source).resolve(), SOURCE)

    def test_nix(self):
        self.need("nix-instantiate")
        recipe = RECIPES / "nix/default.nix"
        call("nix-instantiate", "--parse", recipe)
        # With a made-up set of packages it is evaluated, too.
        packages = ("{ stdenv.mkDerivation = set: set // { type = \"made up\"; };"
                    " lib = { cleanSource = path: path; licenses.mit = \"MIT\"; };"
                    " cmake = 1; ninja = 1; python3 = 1; fmt = 1; cli11 = 1; nlohmann_json = 1;"
                    " elfutils = 1; zlib = 1; ncurses = 1; libevent = 1; }")
        said = call("nix-instantiate", "--eval", "--store", f"local?root={self.folder}", "-E",
                    f"(import {recipe} {{ pkgs = {packages}; }}).version")
        self.assertEqual(said.strip().splitlines()[-1], f'"{dist.version()}"')

    def test_guix(self):
        self.need("guile")
        said = call("guile", "--no-auto-compile", "-c",
                    "(read-hash-extend #\\~ (lambda (mark port) (list 'gexp (read port))))"
                    f'(call-with-input-file "{RECIPES}/guix/talus.scm" (lambda (port)'
                    " (let loop ((form (read port)) (last #f))"
                    " (if (eof-object? form) (write (car last)) (loop (read port) form)))))")
        self.assertEqual(said.strip(), "package")

    def test_meson(self):
        self.need_time()
        self.need("meson")
        subprojects = self.folder / "subprojects"
        shutil.copytree(RECIPES / "meson", subprojects)
        archive = self.archive(subprojects / "packagefiles")
        wrap = subprojects / "talus.wrap"
        wrap.write_text(wrap.read_text().replace("@SHA256@", archives.digest(archive)))
        (self.folder / "meson.build").write_text(MESON)
        (self.folder / "user.cpp").write_text(PROGRAM)
        call("meson", "setup", "build", cwd=self.folder)
        call("meson", "test", "-C", "build", cwd=self.folder)

    def test_conan(self):
        self.need_time()
        self.need("conan")
        environment = {**os.environ, "CONAN_HOME": str(self.folder / "conan")}
        call("conan", "profile", "detect", env=environment)
        # It builds the program in the folder of the program.
        tested = self.folder / "test_package"
        shutil.copytree(RECIPES / "conan/test_package", tested)
        for shared in ("True", "False"):
            said = call("conan", "create", RECIPES / "conan", "--test-folder", tested, "-o",
                        f"talus/*:shared={shared}", env=environment)
            self.assertIn(dist.version(), said)

    def fetch(self, kind, program):
        folder = self.folder / kind
        folder.mkdir()
        text = FETCHED.replace("@ARCHIVE@", str(self.archive(self.folder)))
        (folder / "CMakeLists.txt").write_text(text.replace("@KIND@", kind))
        (folder / "user.cpp").write_text(program)
        start = time.monotonic()
        # No Python: neither the interpreter nor the module of CMake.
        call("cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
             *(["-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON"] if kind != "header_only" else []))
        call("cmake", "--build", folder / "build", "--target", "user", "-j2")
        seconds = time.monotonic() - start
        call(folder / "build/user")
        print(f"FetchContent, talus::{kind}: {seconds:.0f} s")
        return seconds

    def test_fetch_content(self):
        self.need_time()
        self.assertLess(self.fetch("static", LINKED), FETCH_SECONDS_MAX * (os.getloadavg()[0] + 1))
        self.fetch("header_only", PROGRAM.replace("<talus.hpp>", "<talus/talus.hpp>"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
