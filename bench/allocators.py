# The allocators that are compared.
#
# Owns: names, library paths and identities (version, SHA-256) of preloaded libraries.
# Invariant: an Allocator's library exists when the object is made. glibc needs no preload and has
# no library. measuring.py proves in each run that the preload took effect. An absent allocator is
# reported with its reason in place of its figures.
#
# SPDX-License-Identifier: MIT

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .peers import library_table

SUBJECT = "talus"
# Talus' best rival is one of these, as far as a run has measured them.
PEERS = ("glibc", *library_table.peers())
# "talus-fast" is Talus with preset=fast, and so on. A preset has its own name, and is no rival of
# any other allocator.
PRESETS = ("tiny", "small", "fast")
# The default choice. All peers would take four times as long.
STANDARD = ("glibc", "jemalloc", "mimalloc3", SUBJECT)
EVERYTHING = "all"


def is_subject(name: str) -> bool:
    """Whether the name is Talus or Talus with a preset, which count as one allocator."""
    return name == SUBJECT or name.startswith(SUBJECT + "-")


def rivals_of(name: str, measured: Iterable[str]) -> list[str]:
    """The rivals of `name` among the measured allocators; its best rival is one of them.

    These are all other known allocators (docs/benchmarks/README.md defines them for readers).
    Talus and its presets are one allocator: a preset is no rival of Talus, and the rival of other
    allocators is Talus itself. A library that --alloc names by its path, such as another build, is
    no rival unless the run has no known peer.
    """
    measured = list(measured)
    has_peers = any(one in PEERS for one in measured if one != name)
    known = [one for one in measured if one == SUBJECT or one in PEERS or not has_peers]
    return [one for one in known if one != name
            and not (is_subject(one) and (is_subject(name) or one != SUBJECT))]


@dataclass(frozen=True)
class Allocator:
    name: str
    version: str
    library: Path | None       # None: nothing is preloaded
    details: dict
    environment: dict = field(default_factory=dict)  # variables that its authors tell users to set

    def serves(self, malloc_from: str) -> bool:
        """Whether `malloc_from`, the library with the process' malloc, is this allocator's."""
        if not malloc_from:
            return False
        if self.library is None:
            return os.path.basename(malloc_from).startswith(("libc.", "libc-", "ld-musl"))
        try:
            return os.path.samefile(malloc_from, self.library)
        except OSError:
            return False

    def describe(self) -> dict:
        record = {"name": self.name, "version": self.version, **self.details}
        if self.environment:
            record["environment"] = self.environment
        if self.library is not None:
            record["path"] = str(self.library)
            record["sha256"] = hashlib.sha256(self.library.read_bytes()).hexdigest()
        return record


def from_path(name: str, path: Path) -> Allocator:
    if not path.is_file():
        raise ValueError(f"{name}: no such library: {path}")
    return Allocator(name, "unknown", path.resolve(), {})


def available(peers_file: Path, talus: Path | None) -> dict[str, Allocator]:
    """All allocators that can be measured here, in the order of reports."""
    found = {"glibc": Allocator("glibc", platform.libc_ver()[1] or "unknown", None, {})}
    for peer in read_peers(peers_file).get("peers", []):
        library = Path(peer["path"])
        if library.is_file():
            details = {key: peer[key] for key in ("flags", "compiler", "source", "licence")
                       if key in peer}
            found[peer["name"]] = Allocator(peer["name"], peer["version"], library, details,
                                            peer.get("environment", {}))
    if talus is not None:
        found[SUBJECT] = from_path(SUBJECT, talus)
    return found


def preset_of(name: str, known: dict[str, Allocator]) -> Allocator | None:
    """Talus with a preset, for a name such as talus-fast; None for any other name."""
    preset = name.removeprefix(SUBJECT + "-")
    if preset == name or preset not in PRESETS or SUBJECT not in known:
        return None
    return replace(known[SUBJECT], name=name, environment={"TALUS_PRESET": preset})


def read_peers(peers_file: Path) -> dict:
    return json.loads(peers_file.read_text()) if peers_file.is_file() else {}


def missing(peers_file: Path, known: dict[str, Allocator]) -> dict[str, str]:
    """The reasons, by name, why expected allocators cannot be measured here."""
    peers = read_peers(peers_file)
    reasons = {name: f"not in {peers_file}" for name in STANDARD}
    reasons[SUBJECT] = "its library is not built"
    reasons |= {peer["name"]: peer["reason"] for peer in peers.get("missing", [])}
    reasons |= {peer["name"]: f"its library is gone: {peer['path']}"
                for peer in peers.get("peers", [])}
    return {name: reason for name, reason in reasons.items() if name not in known}


def skipped(requests: str | None, absent: dict[str, str]) -> list[dict]:
    """The allocators that a run without names, or of all, leaves out. A named one is refused."""
    wanted = {None: STANDARD, EVERYTHING: absent}.get(requests and requests.strip(), ())
    return [{"allocator": name, "reason": absent[name]} for name in absent if name in wanted]


def select(requests: str | None, known: dict[str, Allocator],
           absent: dict[str, str]) -> list[Allocator]:
    """The allocators of a comma list of names, presets (talus-fast) and name=library pairs.

    Without a list these are the available standard ones; "all" stands for all known ones. Raises
    ValueError for an unknown name, and for a name that comes twice: samples are identified by it.
    """
    if requests is None:
        return [known[name] for name in known if name in STANDARD]
    if requests.strip() == EVERYTHING:
        return list(known.values())
    chosen = []
    for request in (part.strip() for part in requests.split(",")):
        name, has_path, path = request.partition("=")
        if has_path:
            chosen.append(from_path(name, Path(path)))
        elif name in known:
            chosen.append(known[name])
        elif (preset := preset_of(name, known)) is not None:
            chosen.append(preset)
        else:
            reason = f": {absent[name]}" if name in absent else ""
            raise ValueError(f"allocator {name!r} is not available{reason}; there are "
                             f"{', '.join(known)} (see bench/README.md for peers)")
    names = [one.name for one in chosen]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"allocators named more than once: {', '.join(repeated)}")
    return chosen


def select_available(requests: str | None, peers_file: Path, talus: Path) -> list[Allocator]:
    """The same among those that can be measured here."""
    known = available(peers_file, talus)
    return select(requests, known, missing(peers_file, known))
