# The table of known allocators, tools/allocators.csv, as the benchmarks read it.
#
# Owns: the format of the table. CMake makes a header for `talus compare` from the same file.
# Invariant: each peer has one row. It must not know how a peer is built or measured.
#
# SPDX-License-Identifier: MIT

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "tools/allocators.csv"


@dataclass(frozen=True)
class Library:
    """One library file of one allocator."""
    peer: str          # the name in the benchmarks; empty: they do not measure it
    name: str          # the name in `talus compare`
    library: str       # the file name up to ".so"
    soname: str        # the file name in the loader's cache; empty: not packaged
    package: str       # of Debian
    environment: dict[str, str]  # the variables that the authors tell users to set

    @property
    def file(self) -> str:
        """The file name of a library that bench/peers builds."""
        return self.library + ".so"


@functools.cache
def rows() -> tuple[Library, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(line for line in file if not line.startswith("#"))
        return tuple(Library(**{**row, "environment": variables(row["environment"])})
                     for row in table)


def variables(text: str) -> dict[str, str]:
    name, has_value, value = text.partition("=")
    return {name: value} if has_value else {}


def peers() -> tuple[str, ...]:
    """The names of the peers with a library, in the order of reports."""
    return tuple(row.peer for row in rows() if row.peer)


def of_peer(peer: str) -> Library:
    """The row of a peer. Raises KeyError if no peer has the name."""
    return {row.peer: row for row in rows() if row.peer}[peer]
