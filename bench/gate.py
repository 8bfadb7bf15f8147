# The regression gate: python3 -m bench.gate, or make bench-check.
#
# Owns: the verdict whether Talus got slower or larger. A fresh run of the first set is compared in
# one of two ways.
#   With another build (--base-lib): both run interleaved, and the change is new / base.
#   With a reference run (--reference): the change is (Talus / peers now) / (Talus / peers then).
#   Machines differ, and ratios less so. The run takes T and the scale of the reference, and the
#   peers of both. A row is compared with the peers that have it on both sides.
# A row fails if even the low end of its interval is beyond the limit. Measured noise, on both
# sides, never fails a build. The means over all rows have narrower intervals and the same limits,
# so they find many small losses. A row without a figure to compare with is unknown: the other side
# failed, or the reference does not have the row. The verdict counts unknown rows.
# Exit status: 0 passed, 1 worse, 2 nothing to compare with.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from . import __main__ as runner
from . import allocators, command_line, intervals, kept, measuring, record, rounds, summary, table
from .intervals import Estimate

TIME_LIMIT = 1.10
RSS_LIMIT = 1.05
LIMITS = {"time": TIME_LIMIT, "rss_kib": RSS_LIMIT}
LABELS = {"time": "time", "rss_kib": "RSS"}
BASE = "base"
REFERENCE_PEERS = ("glibc", "jemalloc")  # every machine has these, or a package of them
MEAN = "geometric mean"


@dataclass(frozen=True)
class Change:
    """The change of a figure of one row (or of the mean of all). Above 1 is worse."""
    workload: str
    figure: str
    factor: float | None             # None: one side has no figure
    interval: list[float] | None

    @property
    def is_worse(self) -> bool:
        return self.interval is not None and self.interval[0] > LIMITS[self.figure]

    def text(self) -> str:
        if self.factor is None:
            return (f"{self.workload}: {LABELS[self.figure]} could not be compared: one side has "
                    "no figure")
        between = ("no interval" if self.interval is None else
                   f"between {self.interval[0]:.3f} and {self.interval[1]:.3f}")
        return (f"{self.workload}: {LABELS[self.figure]} x {self.factor:.3f}, {between}, limit "
                f"{LIMITS[self.figure]:.2f}")


def usable_peers(sides: tuple[dict, dict], workload: str, figure: str,
                 peers: list[str]) -> list[str]:
    """The peers with the row on both sides. A time without the timed trim is not comparable."""
    found = {name: [cells.get((workload, name)) for cells in sides] for name in peers}
    return [name for name, both in found.items()
            if all(cell and cell.is_whole(figure) for cell in both)]


def against_peers(cells: dict, workload: str, figure: str, subject: str,
                  peers: list[str]) -> Estimate | None:
    """The subject divided by the geometric mean of the peers."""
    if (workload, subject) not in cells or not peers:
        return None
    return intervals.combine(
        [(1, cells[workload, subject].estimates[figure]),
         *((-1 / len(peers), cells[workload, name].estimates[figure]) for name in peers)])


def changes_of(estimates: dict[tuple[str, str], Estimate | None]) -> list[Change]:
    """One change for each row and figure, and the means over the rows of both sides."""
    found = []
    for figure in summary.FIGURES:
        rows = [(workload, one) for (workload, which), one in estimates.items() if which == figure]
        present = [one for _, one in rows if one is not None]
        if len(present) > 1:
            rows.append((MEAN, intervals.mean(present)))
        found += [Change(workload, figure, None, None) if one is None else
                  Change(workload, figure, one.value, one.interval()) for workload, one in rows]
    return found


def compare_builds(samples: list[dict], workloads: list[str]) -> list[Change]:
    cells = summary.cells_of(samples)
    return changes_of({(workload, figure): summary.ratio_estimate(
        cells, workload, allocators.SUBJECT, BASE, figure)
        for workload in workloads for figure in summary.FIGURES})


def compare_with_reference(samples: list[dict], then: dict, peers: list[str]) -> list[Change]:
    """Compares with the reference run, whose cells are `then`."""
    now = summary.cells_of(samples)
    subject = allocators.SUBJECT
    workloads = dict.fromkeys(sample["workload"] for sample in samples)
    found = {}
    for workload in workloads:
        for figure in summary.FIGURES:
            usable = usable_peers((now, then), workload, figure, peers)
            found[workload, figure] = intervals.ratio(
                *(against_peers(cells, workload, figure, subject, usable) for cells in (now, then)))
    return changes_of(found)


def subject_failures(samples: list[dict]) -> list[str]:
    """Failed runs of Talus. A build that crashes has no figures that could be worse."""
    return [f"{sample['workload']}: {sample['outcome']}: {sample.get('reason', '')}"
            for sample in samples
            if sample["allocator"] == allocators.SUBJECT and sample["outcome"] != "ok"]


def verdict(changes: list[Change], failures: list[str]) -> int:
    worse = [change for change in changes if change.is_worse]
    better = [change for change in changes
              if change.interval is not None and change.interval[1] < 1]
    unknown = [change for change in changes if change.interval is None]
    for change in better:
        print(f"better  {change.text()}")
    for change in unknown:
        print(f"unknown {change.text()}")
    for change in worse:
        print(f"WORSE   {change.text()}")
    for failure in failures:
        print(f"FAILED  {failure}")
    if not changes or len(unknown) == len(changes):
        print("bench-check: nothing could be compared")
        return 2
    is_passed = not worse and not failures
    known = f"passed, but {len(unknown)} are unknown" if unknown else "passed"
    print(f"bench-check: {len(changes)} figures, {len(worse)} worse, {len(better)} better, "
          f"{len(unknown)} unknown, {len(failures)} failed runs: "
          f"{known if is_passed else 'NOT passed'}")
    return 0 if is_passed else 1


def newest_reference(folder: Path) -> Path | None:
    """The newest result with the subject and at least one of the peers."""
    for path in sorted(folder.glob("*.json"), reverse=True):
        names = {one["name"] for one in json.loads(path.read_text()).get("allocators", [])}
        if allocators.SUBJECT in names and names & set(REFERENCE_PEERS):
            return path
    return None


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m bench.gate", description=(
        "Fail if Talus got slower by 10 % or larger by 5 %, beyond the measured noise."))
    parser.add_argument("--base-lib", type=Path, help="libtalus.so of the build to compare with")
    parser.add_argument("--reference", type=Path,
                        help="JSON of a run (default: the newest of bench/results)")
    for name in ("--build", "--talus", "--peers", "--only", "--max-foreign"):
        command_line.add(parser, name)
    command_line.add(parser, "--repeat", default=runner.QUICK_ROUNDS,
                     help=f"number of rounds (default {runner.QUICK_ROUNDS})")
    command_line.add(parser, "--scale", help="factor for the work; only with --base-lib")
    command_line.add(parser, "--out", help="JSON file (default BUILD/bench/check.json)")
    return parser.parse_args(given)


def run(arguments: argparse.Namespace) -> int:
    reference = None
    talus = arguments.talus or arguments.build / "libtalus.so"
    known = allocators.available(arguments.peers, talus)
    scale, threads = arguments.scale or runner.QUICK_SCALE, runner.parse_arguments([]).threads
    if arguments.base_lib is not None:
        chosen = [allocators.from_path(BASE, arguments.base_lib), known[allocators.SUBJECT]]
    else:
        path = arguments.reference or newest_reference(kept.FOLDER)
        if path is None:
            raise ValueError("no reference run in bench/results; name one, or --base-lib")
        reference = kept.read(path)
        scale, threads = (reference.facts["settings"][name] for name in ("scale", "threads"))
        names = reference.allocators
        chosen = [known[name] for name in (*REFERENCE_PEERS, allocators.SUBJECT)
                  if name in known and name in names]
        absent = allocators.missing(arguments.peers, known)
        table.print_skipped([{"allocator": name, "reason": absent[name]}
                             for name in REFERENCE_PEERS if name in absent and name in names])
        machine = reference.facts["machine"]
        print(f"reference: {path.name}, {machine['processor']}, {machine['cores']} cores, "
              f"T={threads}, scale {scale:g}")
    rows = runner.workloads.select(arguments.only)
    runner.check_programs(arguments.build / "bench", rows)
    fields = record.begin(runner.ROOT)
    plan = rounds.Plan(arguments.build / "bench", rows, chosen, arguments.repeat, threads, scale,
                       measuring.Limits(90, arguments.max_foreign, runner.WARM_MIB), retries=1)
    samples, rounds_run = rounds.run_all(plan)
    workloads = [row.name for row in rows]
    if reference is None:
        changes = compare_builds(samples, workloads)
    else:
        peers = [one.name for one in chosen if one.name != allocators.SUBJECT]
        changes = compare_with_reference(samples, reference.cells, peers)
    names = [one.name for one in chosen]
    record.write(arguments.out or arguments.build / "bench/check.json", {
        **fields, "settings": {"repeat": rounds_run, "threads": threads, "scale": scale},
        "allocators": [one.describe() for one in chosen], "samples": samples,
        "summary": summary.summarize(samples, workloads, names, allocators.SUBJECT),
        "changes": [{**vars(change), "is_worse": change.is_worse} for change in changes]},
        runner.ROOT)
    table.print_failures(samples)
    return verdict(changes, subject_failures(samples))


def main(given: list[str] | None = None) -> int:
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return run(parse_arguments(given))
    except (ValueError, OSError) as error:
        print(f"bench-check: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
