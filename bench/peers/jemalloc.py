# jemalloc, from the C source inside the crate tikv-jemalloc-sys.
#
# Owns: the call of jemalloc's configure script. The defaults of the authors are kept: statistics
# on, profiling off, optimisation chosen by the script. The crate's own build is not used: it gives
# the functions a prefix. debian.py has the distribution's jemalloc.
#
# SPDX-License-Identifier: MIT

import re
import shutil

import crates
import library_table
from building import Build

OPTIONS = ["--enable-doc=no", "--enable-static=no"]


def flags_chosen(makefile: str) -> list[str]:
    """The choices of the configure script, without warnings."""
    found = re.search(r"^CONFIGURE_CFLAGS\s*:?=\s*(.*)$", makefile, re.MULTILINE)
    words = found.group(1).split() if found else []
    return [word for word in words if not word.startswith("-W")]


def build(build: Build) -> dict:
    crate = crates.find(build, "tikv-jemalloc-sys")
    release = crate.version.partition("+")[2]  # as configure asks git for: 5.3.1-0-g<commit>
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
