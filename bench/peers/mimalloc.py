# mimalloc 2 and 3, both from the C source inside the crate libmimalloc-sys.
#
# Owns: the flags of mimalloc's CMakeLists.txt for the shared library in a release build on Linux
# (MI_OVERRIDE on, MI_OPT_ARCH off, both its defaults). They are the same in both versions. The
# whole library is one translation unit, src/static.c, and one command builds it.
#
# SPDX-License-Identifier: MIT

import re
from pathlib import Path

import crates
import library_table
from building import Build, PeerMissing

FLAGS = [
    "-O3", "-DNDEBUG", "-DMI_BUILD_RELEASE", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB",
    "-DMI_SHARED_LIB_EXPORT", "-std=gnu11", "-fPIC", "-fvisibility=hidden",
    "-ftls-model=initial-exec", "-fno-builtin-malloc", "-Wno-unknown-pragmas",
]
LIBRARIES = ["-lpthread", "-lrt"]


def find_source(crate: Path, major: str) -> tuple[Path, str]:
    """The folder of the mimalloc source with this major version, and its full version. Raises
    PeerMissing if the crate has none."""
    for header in sorted(crate.glob("c_src/**/include/mimalloc.h")):
        match = re.search(r"#define\s+MI_MALLOC_VERSION\s+(\d+)", header.read_text())
        folder = header.parent.parent
        if not match or not (folder / "src/static.c").is_file():
            continue
        number = match.group(1)  # major, two digits minor, two digits patch
        if number[0] == major:
            return folder, f"{number[0]}.{int(number[1:3])}.{int(number[3:5])}"
    raise PeerMissing(f"no mimalloc {major} source in {crate.name}")


def build_major(build: Build, major: str) -> dict:
    crate = crates.find(build, "libmimalloc-sys", crates.QUICK_MANIFEST)
    source, version = find_source(crate.folder, major)
    library = build.work / library_table.of_peer(f"mimalloc{major}").file
    build.run([build.cc, *FLAGS, "-shared", f"-I{source / 'include'}", f"-I{source / 'src'}",
               source / "src/static.c", "-o", library, *LIBRARIES])
    return {
        "version": version, "path": build.put_in_place(library), "flags": FLAGS + LIBRARIES,
        "compiler": build.version_of(build.cc), "source": crate.describe(), "licence": "MIT",
    }


def build_3(build: Build) -> dict:
    return build_major(build, "3")


def build_2(build: Build) -> dict:
    return build_major(build, "2")
