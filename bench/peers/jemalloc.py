# jemalloc, from the C source inside the crate tikv-jemalloc-sys.
#
# Owns: how jemalloc's configure script is run. Its defaults are kept, as they are what its authors
# release: statistics on, profiling off, optimisation chosen by the script. Not kept is the crate's
# own way, which gives the functions a prefix. The distribution's jemalloc is in debian.py.
#
# SPDX-License-Identifier: MIT

import re
import shutil

import crates
import library_table
from building import Build

OPTIONS = ["--enable-doc=no", "--enable-static=no"]


def flags_chosen(makefile: str) -> list[str]:
    """What the configure script decided on, without warnings."""
    found = re.search(r"^CONFIGURE_CFLAGS\s*:?=\s*(.*)$", makefile, re.MULTILINE)
    words = found.group(1).split() if found else []
    return [word for word in words if not word.startswith("-W")]


def build(build: Build) -> dict:
    crate = crates.find(build, "tikv-jemalloc-sys")
    release = crate.version.partition("+")[2]  # as 5.3.1-0-g<commit>, what configure asks git for
    folder = build.work / "jemalloc"
    shutil.copytree(crate.folder / "jemalloc", folder)
    shutil.copy(crate.folder / "configure/configure", folder / "configure")
    build.run(["sh", "configure", f"--with-version={release}", *OPTIONS], folder,
              {"CC": build.cc, "CXX": build.cxx})
    build.run(["make", f"-j{build.jobs}", "build_lib_shared"], folder)
    built = folder / "lib/libjemalloc.so.2"
    library = built.rename(folder / library_table.of_peer("jemalloc-tikv").file)
    return {
        "version": release.partition("-")[0], "path": build.put_in_place(library),
        "flags": OPTIONS + flags_chosen((folder / "Makefile").read_text()),
        "compiler": build.version_of(build.cc), "source": crate.describe(),
        "licence": "BSD-2-Clause",
    }
