# The common steps of all builds of peers: running a tool, compiling, installing a library.
#
# Owns: the time limit of a peer and the installation of its library in the output folder.
# Invariant: a library in the output folder is replaced in one step, and only if its bytes differ. A
# measurement that uses it keeps its mapped file.
# It must not know any allocator.
#
# SPDX-License-Identifier: MIT

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

PEER_SECONDS_MAX = 600
# Some sources contain the date of their build. With this variable gcc gives the same bytes each
# time.
REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "0"}


class PeerMissing(Exception):
    """The reason, in one sentence, why a peer cannot be measured."""


@dataclass
class Build:
    """One attempt at one peer."""
    output: Path      # the place of installed libraries
    work: Path        # for objects; removed after the attempt
    cc: str
    cxx: str
    jobs: int         # compilers at a time
    deadline: float = field(default_factory=lambda: time.monotonic() + PEER_SECONDS_MAX)

    def run(self, command: list, folder: Path | None = None,
            environment: dict[str, str] | None = None) -> str:
        """Returns the output of the command. Raises PeerMissing if it fails or the peer's time is
        over."""
        words = [str(word) for word in command]
        shown = " ".join(words[:3])
        left_s = self.deadline - time.monotonic()
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False,
                                  errors="replace", stdin=subprocess.DEVNULL, cwd=folder,
                                  timeout=max(left_s, 1),
                                  env={**os.environ, **REPRODUCIBLE, **(environment or {})})
        except subprocess.TimeoutExpired as error:
            raise PeerMissing(f"{shown}... ran past {PEER_SECONDS_MAX} s for the peer") from error
        except OSError as error:
            raise PeerMissing(f"{words[0]}: {error.strerror}") from error
        if done.returncode != 0:
            tail = (done.stderr or done.stdout).strip()[-600:]
            raise PeerMissing(f"{shown}... failed with {done.returncode}: {tail}")
        return done.stdout

    def compile(self, compiler: str, flags: list[str], sources: list[Path]) -> list[Path]:
        """Compiles the sources and returns their objects in the same order. Raises PeerMissing."""
        objects = [self.work / f"{index:03}-{source.name}.o"
                   for index, source in enumerate(sources)]
        with ThreadPoolExecutor(self.jobs) as pool:
            results = [pool.submit(self.run, [compiler, *flags, "-c", source, "-o", target])
                       for source, target in zip(sources, objects)]
            try:
                for result in results:
                    result.result()
            except PeerMissing:
                pool.shutdown(cancel_futures=True)
                raise
        return objects

    def put_in_place(self, built: Path) -> str:
        """Moves a library from the work folder to the output folder. Returns its path there."""
        final = self.output / built.name
        if not final.is_file() or final.read_bytes() != built.read_bytes():
            fresh = final.with_suffix(".new")
            shutil.copyfile(built, fresh)
            fresh.chmod(0o755)
            os.replace(fresh, final)
        return str(final)

    def version_of(self, compiler: str) -> str:
        return self.run([compiler, "--version"]).splitlines()[0]

    def clang(self, name: str = "clang") -> str:
        """The path of clang, for allocators whose authors use it. Raises PeerMissing without it."""
        if shutil.which(name) is None:
            raise PeerMissing(f"{name} is not installed (Debian: clang)")
        return name
