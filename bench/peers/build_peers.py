#!/usr/bin/env python3
# Peer allocators: builds or finds the allocators that Talus is measured against, and describes
# them.
#
# Owns: the list of peers, their order in reports, and peers.json. The module of each family builds
# its peers. crates.py and debian.py find the sources.
# Invariant: peers.json has one of two entries for a peer: a library that served malloc in a test
# process, or the reason why there is none. A missing peer never stops the others. Each peer has the
# release flags that its authors recommend, because a slower build would prove nothing.
#
# SPDX-License-Identifier: MIT
"""Builds the peer allocators into a folder and describes them in its peers.json."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import debian
import hardened
import jemalloc
import mimalloc
import rpmalloc
import snmalloc
import tcmalloc
from building import Build, PeerMissing
from probing import Probe

MAKERS = {
    "jemalloc": debian.find_jemalloc,
    "jemalloc-tikv": jemalloc.build,
    "mimalloc3": mimalloc.build_3,
    "mimalloc2": mimalloc.build_2,
    "snmalloc": snmalloc.build,
    "tcmalloc": tcmalloc.build,
    "gperftools": debian.find_gperftools,
    "tbbmalloc": debian.find_tbbmalloc,
    "rpmalloc": rpmalloc.build,
    "rpmalloc2": rpmalloc.refuse_2,
    "scudo": debian.find_scudo,
    "hardened": hardened.build_default,
    "hardened-light": hardened.build_light,
}


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder for the libraries and peers.json")
    parser.add_argument("--only", help="comma list of peers; the entries of all others "
                        "stay: " + ", ".join(MAKERS))
    parser.add_argument("--cc", default="gcc", help="C compiler (default gcc)")
    parser.add_argument("--cxx", default="g++", help="C++ compiler (default g++)")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at a time (default 1)")
    arguments = parser.parse_args(given)
    requests = arguments.only.split(",") if arguments.only else list(MAKERS)
    arguments.names = [request.strip() for request in requests]
    for name in arguments.names:
        if name not in MAKERS:
            parser.error(f"no peer {name!r}; there are {', '.join(MAKERS)}")
    if arguments.jobs < 1:
        parser.error("--jobs must be above zero")
    return arguments


def known_before(record: Path) -> dict[str, dict]:
    """The entries of an earlier peers.json by name. A missing peer has a reason and no path."""
    if not record.is_file():
        return {}
    before = json.loads(record.read_text())
    return {entry["name"]: entry for entry in [*before["peers"], *before["missing"]]}


def make(name: str, arguments: argparse.Namespace, output: Path) -> dict:
    """One peer's entry: built or found, and tested in a process."""
    try:
        with tempfile.TemporaryDirectory(prefix=f"talus-{name}-") as work:
            build = Build(output, Path(work), arguments.cc, arguments.cxx, arguments.jobs)
            entry = {"name": name, **MAKERS[name](build)}
            entry["defines"] = Probe(build).check(entry)
    except PeerMissing as reason:
        print(f"{name} left out: {reason}", file=sys.stderr, flush=True)
        return {"name": name, "reason": str(reason)}
    print(f"{name} {entry['version']}: {entry['path']}", flush=True)
    return entry


def write(record: Path, entries: dict[str, dict]) -> None:
    """Replaces peers.json in one step, so that a reader never sees half of it."""
    ordered = [entries[name] for name in MAKERS if name in entries]
    fresh = record.with_suffix(".new")
    fresh.write_text(json.dumps({
        "peers": [entry for entry in ordered if "path" in entry],
        "missing": [entry for entry in ordered if "path" not in entry],
    }, indent=2) + "\n")
    os.replace(fresh, record)


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    record = output / "peers.json"
    entries = known_before(record)
    for name in arguments.names:
        entries[name] = make(name, arguments, output)
        write(record, entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
