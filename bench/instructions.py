# Exact instruction counts of a malloc and free pair, under callgrind.
#
# Owns: the runs of pair_loop under valgrind and the subtraction that leaves one pair. Each pattern
# is counted with few and with many pairs, full and empty: ((full many - full few) - (empty many -
# empty few)) / (many - few). The start of the process, the allocator's first-time work and the loop
# cancel out. There is no clock, so a busy machine changes nothing.
# Valgrind runs one thread at a time and has no restartable sequences. An allocator that needs these
# (TCMalloc) shows the cost of its other path.
#
# SPDX-License-Identifier: MIT

import functools
import json
import re
import shutil
from pathlib import Path

from . import measuring, progress
from .allocators import Allocator

PATTERNS = ("pair", "batch")
SIZES = (16, 64, 500, 5000)
FEW_PAIRS = 20_000
MANY_PAIRS = 40_000
TIMEOUT_S = 120


class NotCounted(Exception):
    """The reason for a missing figure: the outcome's name, then its reason."""


def death(errors: str) -> tuple[str, str]:
    """The outcome and the reason of a run that did not finish."""
    signal_line = re.search(r"action of signal \d+ \((\w+)\)", errors)
    if signal_line is not None:
        return "crash", f"{signal_line.group(1)} under valgrind"
    return "failed", errors.strip()[-300:]


def count(programs: Path, allocator: Allocator, pattern: str, size: int, pairs: int) -> int:
    """The instructions of a whole run."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise NotCounted("skipped", "valgrind is not installed")
    environment = measuring.environment_for(allocator)
    run = measuring.run_limited(
        [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null",
         str(programs.resolve() / "pair_loop"), pattern, str(size), str(pairs)],
        environment, TIMEOUT_S)
    if run.is_late:
        raise NotCounted("timeout", "ran past its time limit and was killed")
    collected = re.search(r"Collected\s*:\s*(\d+)", run.errors)
    lines = run.output.strip().splitlines()
    if collected is None or not lines:
        raise NotCounted(*death(run.errors))
    origin = json.loads(lines[-1])["malloc_from"]
    if not allocator.serves(origin):
        raise NotCounted("wrong_library", f"malloc came from {origin!r}")
    return int(collected.group(1))


@functools.cache
def loop_alone(programs: Path, pattern: str) -> int:
    """Instructions of (MANY_PAIRS - FEW_PAIRS) iterations without calls; no allocator takes
    part."""
    plain = Allocator("glibc", "", None, {})
    few, many = (count(programs, plain, "empty_" + pattern, 16, pairs)
                 for pairs in (FEW_PAIRS, MANY_PAIRS))
    return many - few


def per_pair(programs: Path, allocator: Allocator, pattern: str, size: int) -> float:
    few, many = (count(programs, allocator, pattern, size, pairs)
                 for pairs in (FEW_PAIRS, MANY_PAIRS))
    return (many - few - loop_alone(programs, pattern)) / (MANY_PAIRS - FEW_PAIRS)


def measure(programs: Path, chosen: list[Allocator], sizes: tuple[int, ...] = SIZES) -> list[dict]:
    entries = []
    with progress.shown(len(chosen) * len(PATTERNS) * len(sizes)) as shown:
        for pattern in PATTERNS:
            for size in sizes:
                for allocator in chosen:
                    entry = {"allocator": allocator.name, "pattern": pattern, "size": size,
                             "outcome": "ok", "instructions": None}
                    try:
                        entry["instructions"] = round(
                            per_pair(programs, allocator, pattern, size), 2)
                    except NotCounted as failure:
                        entry["outcome"], entry["reason"] = failure.args
                    entries.append(entry)
                    text = (f"{entry['instructions']:.1f}" if entry["outcome"] == "ok"
                            else f"{entry['outcome']}: {entry['reason']}")
                    shown.step(f"{pattern} {size} {allocator.name:10} {text}",
                               is_notable=entry["outcome"] != "ok")
    return entries
