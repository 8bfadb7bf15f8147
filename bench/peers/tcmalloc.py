# TCMalloc, from the C++ source inside the crate libtcmalloc-sys.
#
# Owns: the flags and the files of the official Bazel build with `-c opt` and its default target, 8
# KiB pages. The crate's build script has the list of files. Its two bridges to Rust are left out,
# and tcmalloc.cc with the libc names is added. Its patch, which requests huge pages, is not
# applied: this is the source as its authors publish it.
# Per-CPU caches need the kernel's restartable sequences for themselves. glibc registers them first
# unless a tunable forbids it. TCMalloc's documents recommend this tunable, so runs of this peer set
# it (tools/allocators.csv).
#
# SPDX-License-Identifier: MIT

import re
from pathlib import Path

import crates
import library_table
from building import Build, PeerMissing

LIBRARY = library_table.of_peer("tcmalloc")
FLAGS = [
    "-O2", "-DNDEBUG", "-DTCMALLOC_INTERNAL_8K_PAGES", "-fPIC", "-fno-omit-frame-pointer",
    "-fstack-protector", "-ffunction-sections", "-fdata-sections", "-U_FORTIFY_SOURCE",
    "-D_FORTIFY_SOURCE=1",
]
LANGUAGE = ["-std=c++17", "-w"]
LINK_FLAGS = ["-Wl,--gc-sections", "-Wl,-z,relro,-z,now", "-pthread"]


def source_files(crate: Path) -> list[Path]:
    script = (crate / "build.rs").read_text()
    names = [name for name in re.findall(r'"(c_src/[^"]+\.(?:cc|S))"', script)
             if not name.endswith("bridge.cc")]
    files = [crate / name for name in [*names, "c_src/tcmalloc/tcmalloc/tcmalloc.cc"]]
    absent = [file.name for file in files if not file.is_file()]
    if absent or len(files) < 2:
        raise PeerMissing(f"the crate's list of files has changed: {absent}")
    return files


def release_day(crate: Path, version: str) -> str:
    """The date of the crate's copy, from its change log: TCMalloc has no versions."""
    found = re.search(rf"^## \[{re.escape(version)}\].* (\d{{4}}-\d\d-\d\d)$",
                      (crate / "CHANGELOG.md").read_text(), re.MULTILINE)
    return found.group(1) if found else "unknown"


def build(build: Build) -> dict:
    crate = crates.find(build, "libtcmalloc-sys")
    compiler = build.clang("clang++")
    includes = [f"-I{crate.folder / 'c_src' / name}" for name in ("abseil-cpp", "tcmalloc")]
    files = source_files(crate.folder)
    assembly = [file for file in files if file.suffix == ".S"]
    objects = build.compile(compiler, [*FLAGS, *LANGUAGE, *includes],
                            [file for file in files if file not in assembly])
    objects += build.compile(compiler, [*FLAGS, *includes], assembly)
    library = build.work / LIBRARY.file
    build.run([compiler, "-shared", "-o", library, *objects, *LINK_FLAGS])
    return {
        "version": release_day(crate.folder, crate.version),
        "path": build.put_in_place(library), "flags": FLAGS + LANGUAGE + LINK_FLAGS,
        "compiler": build.version_of(compiler), "source": crate.describe(),
        "licence": "Apache-2.0", "environment": LIBRARY.environment,
    }
