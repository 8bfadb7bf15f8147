# hardened_malloc, from the C source inside the crate hardened-malloc-sys, in its two variants.
#
# Owns: the flags of hardened_malloc's own Makefile with its defaults. CONFIG_NATIVE is among them,
# so the library fits only the machine of the build. The crate's configuration files have the
# settings of a variant. The crate's own util.c, a hook for Rust, is not used.
# The source is C23, where alignas, bool and static_assert are keywords. For older compilers the
# headers below define the same names.
#
# SPDX-License-Identifier: MIT

from pathlib import Path

import crates
import library_table
from building import Build

FLAGS = [
    "-D_GNU_SOURCE", "-pipe", "-O3", "-flto", "-fPIC", "-fvisibility=hidden", "-fno-plt",
    "-fstack-clash-protection", "-fcf-protection", "-fstack-protector-strong", "-march=native",
    "-w",
]
LINK_FLAGS = ["-Wl,-O1,--as-needed,-z,defs,-z,relro,-z,now,-z,nodlopen,-z,text"]
C_LANGUAGE = ["-std=c2x", "-include", "stdalign.h", "-include", "stdbool.h", "-include", "assert.h"]
CXX_LANGUAGE = ["-std=c++17", "-fsized-deallocation"]
C_FILES = ["chacha.c", "h_malloc.c", "memory.c", "pages.c", "random.c", "util.c"]


def settings(configuration: Path) -> list[str]:
    lines = (line.strip() for line in configuration.read_text().splitlines())
    return [f"-D{line}" for line in lines if line and not line.startswith("#")]


def build_variant(build: Build, variant: str, peer: str) -> dict:
    crate = crates.find(build, "hardened-malloc-sys")
    source = crate.folder / "vendor/hardened-malloc"
    chosen = settings(crate.folder / f"config-{variant}.conf")
    flags = [*FLAGS, *chosen, f"-I{source}", f"-I{source / 'include'}",
             f"-I{source / 'third_party'}"]
    # One compiler for both languages, so that link-time optimisation covers both.
    objects = build.compile(build.cc, [*flags, *C_LANGUAGE], [source / file for file in C_FILES])
    objects += build.compile(build.cc, [*flags, *CXX_LANGUAGE], [source / "new.cc"])
    library = build.work / library_table.of_peer(peer).file
    build.run([build.cc, *FLAGS, *LINK_FLAGS, "-shared", *objects, "-lstdc++", "-o", library])
    return {
        "version": crate.version.rpartition(".")[2], "path": build.put_in_place(library),
        "flags": FLAGS + LINK_FLAGS + chosen, "compiler": build.version_of(build.cc),
        "source": crate.describe(), "licence": "MIT",
    }


def build_default(build: Build) -> dict:
    return build_variant(build, "default", "hardened")


def build_light(build: Build) -> dict:
    return build_variant(build, "light", "hardened-light")
