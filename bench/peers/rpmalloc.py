# rpmalloc, from the C source inside the crate rpmalloc-sys.
#
# Owns: the flags of rpmalloc's own Ninja build for its preloadable library, rpmallocwrap: the
# release configuration with its default compiler, clang. Compiling and linking are two steps,
# because linking with -ffast-math would change the floating-point mode of every process.
#
# SPDX-License-Identifier: MIT

import re

import crates
import library_table
from building import Build, PeerMissing

FLAGS = [
    "-DRPMALLOC_COMPILE=1", "-funit-at-a-time", "-fstrict-aliasing", "-fvisibility=hidden",
    "-fno-stack-protector", "-fno-math-errno", "-ffinite-math-only",
    "-funsafe-math-optimizations", "-fno-trapping-math", "-ffast-math", "-D_GNU_SOURCE=1",
    "-fomit-frame-pointer", "-std=c11", "-DBUILD_DYNAMIC_LINK=1", "-fPIC", "-DBUILD_RELEASE=1",
    "-O3", "-funroll-loops", "-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1", "-w",
]
LINK_FLAGS = ["-shared", "-fPIC", "-pthread", "-fomit-frame-pointer"]
LIBRARIES = ["-lm", "-ldl"]


def build(build: Build) -> dict:
    crate = crates.find(build, "rpmalloc-sys")
    compiler = build.clang()
    source = crate.folder / "rpmalloc/rpmalloc"
    objects = build.compile(compiler, [*FLAGS, f"-I{source}"], [source / "rpmalloc.c"])
    library = build.work / library_table.of_peer("rpmalloc").file
    build.run([compiler, *LINK_FLAGS, "-o", library, *objects, *LIBRARIES])
    log = (crate.folder / "rpmalloc/CHANGELOG").read_text()
    found = re.match(r"\s*(\d+\.\d+\.\d+)", log)
    commit = crate.version.partition("+")[2]
    return {
        "version": f"{found.group(1) if found else 'unknown'} {commit}".strip(),
        "path": build.put_in_place(library), "flags": FLAGS + LINK_FLAGS + LIBRARIES,
        "compiler": build.version_of(compiler), "source": crate.describe(),
        "licence": "public domain or MIT",
    }


def refuse_2(build: Build) -> dict:
    raise PeerMissing("no package registry carries the source of rpmalloc 2: the newest crate, "
                      "rpmalloc-sys 0.2.3, holds 1.4, which is the peer rpmalloc")
