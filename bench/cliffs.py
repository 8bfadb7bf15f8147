# python3 -m bench.cliffs: patterns drawn at random on which Talus is far behind the best allocator.
#
#   python3 -B -m bench.cliffs --alloc all --seeds 1-150   # each pattern once, findings again
#   python3 -B -m bench.cliffs --alloc all --seeds 17,42   # these patterns
#
# Each row of the benchmark set was chosen. A seed draws a program's parameters by chance
# (c_r_pattern.cpp). So this is a search, no row: its mean says little, and a finding is looked
# into by hand.
# Owns: which patterns are findings, and their table. A figure of time is the least processor time
# of a pattern's runs, and a figure of memory the median of the peaks. All allocators of a pattern
# run in turn. Memory is made ready before each run: otherwise the one that runs after the largest
# process has its pages for nothing, and another pays for them.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from . import allocators, command_line, leanest, machine, measuring, record, workloads
from .history import table

PROGRAM = "bench_c_r_pattern"
SEEDS = "1-100"
SCALE = 0.4
REPEAT = 5
WARM_MIB = 256      # resident memory of the largest patterns
FAR = 1.3           # times the best is a finding
SHORT_S = 0.010     # less time, and less memory, does not count as a difference
SMALL_KIB = 1024
KIB_PER_MIB = 1024


@dataclass(frozen=True)
class Figures:
    """One allocator on one pattern."""
    time_s: float
    rss_kib: float


@dataclass(frozen=True)
class Behind:
    """How far the subject is behind the best of the others, in time or memory."""
    ratio: float
    peer: str
    is_far: bool


def seeds_of(text: str) -> list[int]:
    """Numbers and ranges in a comma list, as 1-20,42. Raises ArgumentTypeError for other text."""
    found: dict[int, None] = {}
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found |= dict.fromkeys(range(int(first), int(last or first) + 1))
    except ValueError:
        found = {}
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError("numbers above zero, or ranges of them, as 1-20,42")
    return list(found)


def figures_of(samples: Iterable[dict]) -> dict[str, Figures]:
    """By allocator; those that failed a run are missing."""
    groups: dict[str, list[dict]] = {}
    for sample in samples:
        groups.setdefault(sample["allocator"], []).append(sample)
    return {name: Figures(min(one["measured"]["user_s"] + one["measured"]["sys_s"]
                              for one in group),
                          statistics.median(one["rss_kib"] for one in group))
            for name, group in groups.items() if all(one["outcome"] == "ok" for one in group)}


def behind_in_time(figures: dict[str, Figures], subject: str) -> Behind | None:
    """None: there is nothing to compare."""
    rivals = allocators.rivals_of(subject, figures)
    if subject not in figures or not rivals:
        return None
    peer = min(rivals, key=lambda name: figures[name].time_s)
    own, best = figures[subject].time_s, figures[peer].time_s
    return Behind(own / max(best, 1e-9), peer, own > FAR * best and own - best > SHORT_S)


def behind_in_memory(figures: dict[str, Figures], subject: str) -> Behind | None:
    """The same beside the leanest of the others that are fast."""
    rivals = allocators.rivals_of(subject, figures)
    if subject not in figures or not rivals:
        return None
    most_s = leanest.FAST_TIMES * min(figures[name].time_s for name in rivals) + SHORT_S
    peer = min((name for name in rivals if figures[name].time_s <= most_s),
               key=lambda name: figures[name].rss_kib)
    own, least = figures[subject].rss_kib, figures[peer].rss_kib
    return Behind(own / least, peer, own > FAR * least and own - least > SMALL_KIB)


def is_finding(figures: dict[str, Figures], subject: str) -> bool:
    both = behind_in_time(figures, subject), behind_in_memory(figures, subject)
    return any(one is not None and one.is_far for one in both)


def by_seed(samples: list[dict]) -> dict[int, list[dict]]:
    groups: dict[int, list[dict]] = {}
    for sample in samples:
        groups.setdefault(sample["seed"], []).append(sample)
    return groups


def findings_table(groups: dict[int, list[dict]], subject: str) -> str:
    """The patterns on which the subject is far behind, the furthest in time first."""
    rows = []
    for seed, samples in groups.items():
        figures = figures_of(samples)
        if not is_finding(figures, subject):
            continue
        time, memory = behind_in_time(figures, subject), behind_in_memory(figures, subject)
        result = next(one["result"] for one in samples if one["outcome"] == "ok")
        own = figures[subject]
        rows.append((time.ratio, [
            str(seed), result["benchmark"].removeprefix("Cr "), str(result["threads"]),
            f"{own.time_s:.3f}", f"{time.ratio:.2f} ({time.peer})",
            f"{own.rss_kib / KIB_PER_MIB:.1f}", f"{memory.ratio:.2f} ({memory.peer})"]))
    rows.sort(key=lambda one: -one[0])
    return table(["seed", "pattern", "threads", "s", "of the best", "MiB", "of the leanest"],
                 [row for _, row in rows])


def mean(ratios: Iterable[float]) -> str:
    return f"{statistics.geometric_mean(ratios):.2f}"


def summary_table(groups: dict[int, list[dict]], subject: str) -> str:
    """All allocators: the means beside the subject, and the patterns on which each is a finding."""
    every = {seed: figures_of(samples) for seed, samples in groups.items()}
    names = list(dict.fromkeys(name for figures in every.values() for name in figures))
    rows = []
    for name in names:
        both = [(figures[name], figures[subject]) for figures in every.values()
                if name in figures and subject in figures]
        if not both:
            continue
        far = [(behind_in_time(figures, name), behind_in_memory(figures, name))
               for figures in every.values()]
        rows.append([
            name,
            mean((one.time_s + SHORT_S) / (own.time_s + SHORT_S) for one, own in both),
            mean(one.rss_kib / own.rss_kib for one, own in both),
            str(sum(one is not None and one.is_far for one, _ in far)),
            str(sum(one is not None and one.is_far for _, one in far))])
    return table(["", f"time, {subject} = 1", "memory", "far behind in time", "in memory"], rows)


def run_pattern(arguments: argparse.Namespace, chosen: list[allocators.Allocator], seed: int,
                turn: int) -> list[dict]:
    limits = measuring.Limits(arguments.timeout, arguments.max_foreign, arguments.warm)
    row = workloads.Workload(f"Cr/{seed}", PROGRAM, ("--seed", str(seed)), 1,
                             workloads.COMPLAINTS)
    first = turn % len(chosen)
    samples = []
    for one in chosen[first:] + chosen[:first]:
        sample = measuring.run_once(arguments.build / "bench", row, one, 1, arguments.scale, limits)
        samples.append({**sample, "seed": seed})
        if sample["outcome"] != "ok":
            print(f"seed {seed}, {one.name}: {sample['outcome']}: {sample.get('reason', '')}",
                  file=sys.stderr)
    return samples


def search(arguments: argparse.Namespace, chosen: list[allocators.Allocator]) -> list[dict]:
    """Each pattern once; then those that look like findings, to tell them from chance."""
    samples = []
    for turn, seed in enumerate(arguments.seeds):
        samples += run_pattern(arguments, chosen, seed, turn)
    suspects = [seed for seed, group in by_seed(samples).items()
                if is_finding(figures_of(group), allocators.SUBJECT)]
    print(f"{len(suspects)} of {len(arguments.seeds)} patterns are run again", file=sys.stderr)
    for turn in range(arguments.repeat - 1):
        for seed in suspects:
            samples += run_pattern(arguments, chosen, seed, turn)
    return samples


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.cliffs",
        description="Search patterns drawn at random for those on which Talus takes more than "
                    f"{FAR} of the best allocator's time or memory.")
    parser.add_argument("--alloc", help="comma list of allocators, or all (default: the standard)")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of(SEEDS),
                        help=f"patterns, as 1-20,42 (default {SEEDS})")
    command_line.add(parser, "--repeat", default=REPEAT,
                     help=f"runs of a pattern that looks like a finding (default {REPEAT})")
    command_line.add(parser, "--scale", default=SCALE)
    command_line.add(parser, "--warm", default=WARM_MIB)
    for name in ("--build", "--talus", "--peers", "--out", "--timeout", "--max-foreign"):
        command_line.add(parser, name)
    return parser.parse_args(given)


def measure(arguments: argparse.Namespace) -> dict:
    """Raises ValueError if an allocator or the program is missing."""
    chosen = allocators.select_available(arguments.alloc, arguments.peers,
                                         arguments.talus or arguments.build / "libtalus.so")
    measuring.require(arguments.build / "bench", PROGRAM)
    return {"machine": machine.describe(), "day": record.now()[:10],
            "settings": {"scale": arguments.scale, "repeat": arguments.repeat,
                         "warm_mib": arguments.warm},
            "samples": search(arguments, chosen)}


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    try:
        fields = measure(arguments)
    except (OSError, ValueError) as error:
        print(f"bench.cliffs: {error}", file=sys.stderr)
        return 2
    groups = by_seed(fields["samples"])
    print(summary_table(groups, allocators.SUBJECT))
    print(findings_table(groups, allocators.SUBJECT))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(fields, indent=1) + "\n")
    return 1 if any(one["outcome"] != "ok" for one in fields["samples"]) else 0


if __name__ == "__main__":
    sys.exit(main())
