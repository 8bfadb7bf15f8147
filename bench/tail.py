# python3 -m bench.tail: how long the longest calls take, and why, under five loads (Cm).
#
#   python3 -B -m bench.tail --alloc all             # a table for each load
#   python3 -B -m bench.tail --from RESULT.json --page   # docs/benchmarks/tail.md and its picture
#
# Owns: the runs, the figures of a load over the rounds, the tables and the page's generated block.
# tail_chart.py draws. c_m_tail.cpp says what is timed, and call_watch.hpp how a long call is
# explained. A percentile is the median of the rounds, a worst call the longest of all rounds, and
# counts are sums. Clean runs count; a load with noisy runs only is marked.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from . import (allocators, command_line, machine, measuring, readme, record, tail_chart,
               workloads)
from .history import table

LOADS = {
    "steady": "Random blocks are replaced",
    "burst": "Bursts of 20,000 blocks, then rest",
    "churn": "Threads that live for 500 blocks",
    "trim": "Another thread makes memory go back",
    "frame": "A game's frames",
}
PROGRAM = "bench_c_m_tail"
BOUNDED = "talus-bounded"
KINDS = ("malloc", "free")
SHARES = ("p50", "p99", "p999", "p9999")
CAUSES = ("preempted", "waited", "faulted", "unexplained")
OWN_CAUSES = CAUSES[1:]  # of calls that count: the machine's scheduler causes the others
NS_PER_MS = 1e6
REPEAT = 5
PAGE = "docs/benchmarks/tail.md"
CHART = "docs/benchmarks/tail.svg"
BLOCK = "tail"


@dataclass(frozen=True)
class Figures:
    """One allocator under one load. All times in nanoseconds."""
    shares: dict[tuple[str, str], float]   # (malloc or free, "p99")
    worst: dict[tuple[str, str], float]    # (malloc, free or machine, cause)
    above: dict[tuple[str, str], int]      # calls above 100 us, of the same keys
    above_frame: dict[tuple[str, str], int]  # calls above 5 us
    together: float                        # the 99.99th percentile of malloc and free
    repeated: float | None                 # the longest call that recurs
    is_noisy: bool

    def worst_of(self, kind: str) -> float:
        return max(self.worst[kind, cause] for cause in OWN_CAUSES)


def figures_of(samples: list[dict]) -> Figures | None:
    measured = [sample for sample in samples if sample["outcome"] == "ok"]
    clean = [sample for sample in measured if not sample["is_noisy"]]
    results = [sample["result"] for sample in clean or measured]
    if not results:
        return None
    every = [(kind, cause) for kind in (*KINDS, "machine") for cause in CAUSES]
    repeated = [one["worst_repeated_ns"] for one in results if "worst_repeated_ns" in one]
    return Figures(
        {(kind, share): statistics.median(one[f"{kind}_{share}_ns"] for one in results)
         for kind in KINDS for share in SHARES},
        {(kind, cause): max(one[f"{kind}_worst_{cause}_ns"] for one in results)
         for kind, cause in every},
        {(kind, cause): round(sum(one[f"{kind}_above_100us_{cause}"] for one in results))
         for kind, cause in every},
        {(kind, cause): round(sum(one[f"{kind}_above_5us_{cause}"] for one in results))
         for kind, cause in every},
        statistics.median(one["relative_time"] for one in results) * NS_PER_MS,
        statistics.median(repeated) if repeated else None,
        not clean)


def all_figures(samples: list[dict]) -> dict[str, dict[str, Figures]]:
    """By load and allocator, in the order of the samples."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for sample in samples:
        groups.setdefault((sample["load"], sample["allocator"]), []).append(sample)
    found: dict[str, dict[str, Figures]] = {}
    for (load, name), group in groups.items():
        figures = figures_of(group)
        if figures is not None:
            found.setdefault(load, {})[name] = figures
    return found


def us(ns: float) -> str:
    """Three digits are more than two runs agree on."""
    value = ns / 1e3
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def table_of(by_name: dict[str, Figures]) -> str:
    head = ["us", *(f"{kind} {share}" for kind in KINDS
                    for share in ("50 %", "99 %", "99.9 %", "99.99 %", "worst")),
            "above 100 us: fault", "wait", "neither"]
    rows = []
    for name, one in by_name.items():
        cells = []
        for kind in KINDS:
            cells += [us(one.shares[kind, share]) for share in SHARES] + [us(one.worst_of(kind))]
        counts = [str(sum(one.above[kind, cause] for kind in KINDS))
                  for cause in ("faulted", "waited", "unexplained")]
        rows.append([name + ("~" if one.is_noisy else ""), *cells, *counts])
    return table(head, rows)


def tail_of(one: Figures, kind: str | None) -> float:
    return one.together if kind is None else one.shares[kind, "p9999"]


def beside_the_best(by_name: dict[str, Figures], kind: str | None = None) -> str:
    """Talus' 99.99th percentile divided by the least of its rivals. `kind`: None for all calls."""
    rivals = {name: value for name in allocators.rivals_of(allocators.SUBJECT, by_name)
              if (value := tail_of(by_name[name], kind)) > 0}
    own = by_name.get(allocators.SUBJECT)
    if own is None or not rivals:
        return ""
    best = min(rivals, key=rivals.get)
    return f"{kind or 'all calls'} {tail_of(own, kind) / rivals[best]:.2f} ({best})"


def words_on(load: str, by_name: dict[str, Figures]) -> str:
    """What the table does not say."""
    parts = []
    ratios = [found for kind in (None, *KINDS) if (found := beside_the_best(by_name, kind))]
    if ratios:
        parts.append("Talus' 99.99th percentile divided by the least of the others: "
                     + ", ".join(ratios) + ".")
    if load == "frame":
        recurring = ", ".join(f"{name} {us(one.repeated)}" for name, one in by_name.items()
                              if one.repeated is not None)
        parts.append(f"The longest call that recurs, in us: {recurring}.")
    idle = max(one.worst["machine", cause] for one in by_name.values() for cause in OWN_CAUSES)
    preempted = sum(one.above[kind, "preempted"] for one in by_name.values() for kind in KINDS)
    parts.append(f"A stretch without an allocator took up to {us(idle)} us, and {preempted} calls "
                 "above 100 us were preempted.")
    return "\n".join(parts)


def block_of(fields: dict, found: dict[str, dict[str, Figures]]) -> str:
    """The page's generated part."""
    about, settings = fields["machine"], fields["settings"]
    parts = [f"{fields['day']}, {about['cores']} processors ({about['processor']}), "
             f"{settings['threads']} threads, scale {settings['scale']:g}, "
             f"{settings['repeat']} rounds, all times in microseconds.\n"]
    if any(one.is_noisy for by_name in found.values() for one in by_name.values()):
        parts.append("**Provisional**: `~` marks rows whose runs all had other work beside them.\n")
    for load, by_name in found.items():
        parts += [f"### {LOADS[load]}\n", f"`Cm/{load}`\n", table_of(by_name),
                  words_on(load, by_name) + "\n"]
    return "\n".join(parts)


def run_all(arguments: argparse.Namespace, chosen: list[allocators.Allocator]) -> list[dict]:
    limits = measuring.Limits(arguments.timeout, arguments.max_foreign)
    samples = []
    for round_number in range(arguments.repeat):
        for load in LOADS:
            row = workloads.select(f"Cm/{load}")[0]
            runs = [(row, one, one.name) for one in chosen]
            subject = [one for one in chosen if one.name == allocators.SUBJECT]
            if load == "frame" and subject:
                bounded = workloads.Workload("Cm/frame", PROGRAM, (*row.arguments, "--memory",
                                                                   "bounded"))
                runs.append((bounded, subject[0], BOUNDED))
            turn = round_number % len(runs)
            for workload, allocator, name in runs[turn:] + runs[:turn]:
                sample = measuring.run_once(arguments.build / "bench", workload, allocator,
                                            arguments.threads, arguments.scale, limits)
                samples.append({**sample, "load": load, "allocator": name,
                                "round": round_number})
                if sample["outcome"] != "ok":
                    print(f"{workload.name}, {name}: {sample['outcome']}: "
                          f"{sample.get('reason', '')}", file=sys.stderr)
    order = [one.name for one in chosen] + [BOUNDED]
    return sorted(samples, key=lambda one: (list(LOADS).index(one["load"]),
                                            order.index(one["allocator"])))


def write_page(root: Path, fields: dict, found: dict[str, dict[str, Figures]]) -> None:
    page = root / PAGE
    text = readme.filled(PAGE, page.read_text(encoding="utf-8"), {BLOCK: block_of(fields, found)})
    page.write_text(text, encoding="utf-8")
    (root / CHART).write_text(tail_chart.draw(found, LOADS), encoding="utf-8")
    print(f"written: {PAGE}, {CHART}")


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.tail",
        description="Time single calls of malloc and free, and say what delays the longest.")
    parser.add_argument("--alloc", help="comma list of allocators, or all (default: the standard)")
    parser.add_argument("--from", type=Path, dest="source", metavar="RESULT.json",
                        help="show an earlier result, and measure nothing")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE} and {CHART}")
    command_line.add(parser, "--threads")
    command_line.add(parser, "--repeat", default=REPEAT,
                     help=f"number of rounds (default {REPEAT})")
    command_line.add(parser, "--scale", default=1.0)
    for name in ("--build", "--talus", "--peers", "--out", "--timeout", "--max-foreign"):
        command_line.add(parser, name)
    arguments = parser.parse_args(given)
    arguments.threads = (arguments.threads or [machine.usable_cores()])[0]
    return arguments


def measure(arguments: argparse.Namespace) -> dict:
    """Raises ValueError if an allocator or a program is missing."""
    chosen = allocators.select_available(arguments.alloc, arguments.peers,
                                         arguments.talus or arguments.build / "libtalus.so")
    measuring.require(arguments.build / "bench", PROGRAM)
    return {"machine": machine.describe(), "day": record.now()[:10],
            "settings": {"threads": arguments.threads, "scale": arguments.scale,
                         "repeat": arguments.repeat},
            "samples": run_all(arguments, chosen)}


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    try:
        fields = (json.loads(arguments.source.read_text()) if arguments.source
                  else measure(arguments))
    except (OSError, ValueError) as error:
        print(f"bench.tail: {error}", file=sys.stderr)
        return 2
    found = all_figures(fields["samples"])
    print(block_of(fields, found))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(fields, indent=1) + "\n")
    if arguments.page:
        write_page(command_line.ROOT, fields, found)
    return 1 if any(one["outcome"] != "ok" for one in fields["samples"]) else 0


if __name__ == "__main__":
    sys.exit(main())
