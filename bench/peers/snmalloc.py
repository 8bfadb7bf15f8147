# snmalloc, from the C++ source inside the crate snmalloc-sys.
#
# Owns: the build of the preloadable library, snmallocshim, by snmalloc's own CMake project. The
# flags are the project's, read from CMake's output. The compiler is clang++, as its authors develop
# and measure with it.
#
# SPDX-License-Identifier: MIT

import json
import shlex

import crates
import library_table
from building import Build, PeerMissing

OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DSNMALLOC_BUILD_TESTING=OFF"]


def flags_used(commands: str) -> list[str]:
    """The flags of the library's first file, without paths and warnings. Raises PeerMissing."""
    for entry in json.loads(commands):
        if "snmallocshim.dir" in entry["command"]:
            words = shlex.split(entry["command"])
            return [word for word in words[1:words.index("-o")]
                    if word.startswith("-") and not word.startswith(("-I", "-W"))]
    raise PeerMissing("snmalloc's project has no target snmallocshim")


def build(build: Build) -> dict:
    crate = crates.find(build, "snmalloc-sys")
    compiler = build.clang("clang++")
    folder = build.work / "cmake"
    build.run(["cmake", "-S", crate.folder / "upstream", "-B", folder, *OPTIONS,
               f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
    build.run(["cmake", "--build", folder, "-j", build.jobs, "--target", "snmallocshim"])
    library = folder / library_table.of_peer("snmalloc").file
    return {
        "version": crate.version, "path": build.put_in_place(library),
        "flags": OPTIONS + flags_used((folder / "compile_commands.json").read_text()),
        "compiler": build.version_of(compiler), "source": crate.describe(), "licence": "MIT",
    }
