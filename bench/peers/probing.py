# Proof that a peer's library replaces the allocator of a process.
#
# Owns: the names that a peer must define, and the run of probe.c under its preload. A library that
# leaves malloc to glibc would be measured as glibc, so it is refused here.
# It must not know how a peer was made.
#
# SPDX-License-Identifier: MIT

import os
import re
from pathlib import Path

from building import Build, PeerMissing

SOURCE = Path(__file__).resolve().parent / "probe.c"
NEEDED = ("malloc", "free", "calloc", "realloc", "posix_memalign")
# The C or C++ library implements a missing one with the needed names.
WELCOME = ("aligned_alloc", "memalign", "malloc_usable_size", "_Znwm", "_ZdlPv",
           "_ZnwmSt11align_val_t")


class Probe:
    def __init__(self, build: Build):
        self.build = build

    def defined(self, library: str) -> list[str]:
        """The names of both lists that the library exports."""
        table = self.build.run(["nm", "-D", "--defined-only", library])
        exported = set(re.findall(r"^\S+ [TWiV] ([^@\s]+)", table, re.MULTILINE))
        return [name for name in (*NEEDED, *WELCOME) if name in exported]

    def check(self, entry: dict) -> list[str]:
        """The names that the peer defines. Raises PeerMissing if it does not serve a process."""
        library = entry["path"]
        defined = self.defined(library)
        absent = [name for name in NEEDED if name not in defined]
        if absent:
            raise PeerMissing(f"{library} does not define {', '.join(absent)}")
        program = self.build.work / "probe"
        self.build.run([self.build.cc, "-O1", "-fno-builtin", "-pthread", SOURCE, "-o", program,
                        "-ldl"])
        self.build.run([program, os.path.realpath(library), *defined], None,
                       {"LD_PRELOAD": library, **entry.get("environment", {})})
        return defined
