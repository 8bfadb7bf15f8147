# What it owns: the recipe for Conan 2, of this source tree: `conan create packages/conan`.
# It must not know versions: that is in talus.h.
# SPDX-License-Identifier: MIT
"""Talus for Conan."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "src/*", "include/*", "tools/amalgamate.py")


class Talus(ConanFile):
    """The library alone: neither the command nor tests."""

    name = "talus"
    description = "A memory allocator for Linux that is fast and small at once"
    license = "MIT"
    topics = ("allocator", "malloc", "memory")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    @property
    def root(self):
        """The source tree, while the recipe lies in it."""
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self.root, "include/talus/talus.h"))
        self.version = re.search(r'define TALUS_VERSION "([^"]+)"', header).group(1)

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self.root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("Talus is for Linux on x86-64 and AArch64")
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 17)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "TOOLS", "BENCH"):
            toolchain.cache_variables[f"TALUS_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for folder in ("lib/cmake", "lib/pkgconfig"):
            rmdir(self, os.path.join(self.package_folder, folder))
        for path in os.listdir(os.path.join(self.package_folder, "lib")):
            if path.startswith("libtalus.so" if not self.options.shared else "libtalus.a"):
                os.unlink(os.path.join(self.package_folder, "lib", path))

    def package_info(self):
        self.cpp_info.libs = ["talus"]
        self.cpp_info.system_libs = ["pthread"]
        # A program that names no function of Talus gets its malloc, too.
        self.cpp_info.exelinkflags = ["-Wl,--no-as-needed" if self.options.shared
                                      else "-Wl,-u,malloc"]
        self.cpp_info.set_property("cmake_file_name", "talus")
        self.cpp_info.set_property("cmake_target_name", "talus::talus")
        self.cpp_info.set_property("pkg_config_name", "talus")
