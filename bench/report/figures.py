# From samples to the figures that the report shows.
#
# Owns: ratios to the best, ranks, typical ratios (geometric means) and their intervals.
# bench.summary chooses the samples and makes the medians, bench.intervals the intervals. A failed
# run is in no figure.
# "The best" of an allocator's rivals (allocators.rivals_of; docs/benchmarks/README.md defines it
# for readers) has the lowest median of those without a failed run. The other runs of a crashing
# allocator are the lucky ones. For time it must also have done all the work. If the time contains a
# trim, an allocator without one is not the best. It has a mark, and its typical ratio leaves that
# workload out.
# Rows of a series of thread numbers ("B1/500@4") count in the means only if their base row
# ("B1/500") was not run. A series then has no more weight than another workload.
#
# SPDX-License-Identifier: MIT

import math
from dataclasses import dataclass, field, replace

from .. import intervals, summary, weights
from ..allocators import rivals_of
from ..intervals import FREEDOM_MAX, Estimate
from .record import Record

TIME, RSS = "time", "rss_kib"
FIGURES = (TIME, RSS)


@dataclass(frozen=True)
class Cell:
    """One allocator on one workload."""
    summed: summary.Cell
    counted: list[dict]              # the samples behind the medians; a kept run has none
    measured: list[dict]             # all measured samples

    @property
    def median(self) -> dict[str, float]:
        return {figure: getattr(self.summed, figure) for figure in FIGURES}

    @property
    def estimate(self) -> dict[str, Estimate | None]:
        """By figure; None: zero among the runs."""
        return self.summed.estimates

    @property
    def is_noisy(self) -> bool:
        return self.summed.is_noisy

    def is_whole(self, figure: str) -> bool:
        return self.summed.is_whole(figure)

    @property
    def noisy(self) -> int:
        """The number of noisy runs among the measured ones."""
        return self.summed.samples if self.is_noisy else self.summed.tries - self.summed.samples

    def mark(self, figure: str) -> str:
        return ("~" if self.is_noisy else "") + ("" if self.is_whole(figure) else "*")

    def interval(self, figure: str) -> tuple[float, float] | None:
        return interval_of(self.estimate[figure])


@dataclass(frozen=True)
class Mean:
    """A typical ratio over `count` workloads."""
    value: float
    interval: tuple[float, float] | None
    count: int


@dataclass
class Figures:
    record: Record
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    failed: dict[tuple[str, str], list[dict]] = field(default_factory=dict)

    def cell(self, workload: str, allocator: str) -> Cell | None:
        return self.cells.get((workload, allocator))

    def median(self, workload: str, allocator: str, figure: str) -> float | None:
        cell = self.cell(workload, allocator)
        return None if cell is None else cell.median[figure]

    def rivals(self, allocator: str) -> list[str]:
        return rivals_of(allocator, self.record.allocators)

    def ranked(self, workload: str, figure: str) -> list[str]:
        """Measured allocators, the best first."""
        present = [name for name in self.record.allocators if (workload, name) in self.cells]
        return sorted(present, key=lambda name: self.cells[workload, name].median[figure])

    def rank(self, workload: str, allocator: str, figure: str) -> int | None:
        """The rank among its rivals. 1 is best, and equal figures share the better rank."""
        own = self.median(workload, allocator, figure)
        if own is None:
            return None
        return 1 + sum(self.cells[workload, name].median[figure] < own
                       for name in self.rivals(allocator)
                       if self.may_be_best(workload, name, figure))

    def places(self, workload: str, allocator: str) -> int:
        """The number of ranks."""
        return 1 + sum((workload, name) in self.cells for name in self.rivals(allocator))

    def may_be_best(self, workload: str, allocator: str, figure: str) -> bool:
        cell = self.cell(workload, allocator)
        return (cell is not None and cell.is_whole(figure)
                and (workload, allocator) not in self.failed)

    def best(self, workload: str, allocator: str, figure: str) -> str | None:
        """Its best rival. None if that rival's figure is zero, which cannot be a divisor, or if all
        failed."""
        rivals = [name for name in self.rivals(allocator)
                  if self.may_be_best(workload, name, figure)]
        best = min(rivals, default=None,
                   key=lambda name: self.cells[workload, name].median[figure])
        return best if best and self.cells[workload, best].median[figure] > 0 else None

    def ratio(self, workload: str, first: str, second: str, figure: str) -> float | None:
        above = self.median(workload, first, figure)
        below = self.median(workload, second, figure)
        if above is None or below is None or above <= 0 or below <= 0:
            return None
        return above / below

    def ratio_to_best(self, workload: str, allocator: str, figure: str) -> float | None:
        best = self.best(workload, allocator, figure)
        return None if best is None else self.ratio(workload, allocator, best, figure)

    def wins(self, workloads: list[str], allocator: str, figure: str) -> int:
        """The number of workloads on which it is the best or equal to the best."""
        return sum(self.may_be_best(workload, allocator, figure)
                   and (self.ratio_to_best(workload, allocator, figure) or 2) <= 1
                   for workload in workloads)

    def mean_of_pairs(self, pairs: list[tuple[str, str, str]], figure: str) -> Mean | None:
        """The mean of (workload, first, second): first divided by second."""
        pairs = [pair for pair in pairs if self.ratio(*pair, figure) is not None]
        value = summary.geometric_mean({pair[0]: self.ratio(*pair, figure) for pair in pairs})
        if value is None:
            return None
        parts = {pair[0]: self.ratio_estimate(*pair, figure) for pair in pairs}
        return Mean(value, interval_of(mean_estimate(parts)), len(pairs))

    def ratio_estimate(self, workload: str, first: str, second: str,
                       figure: str) -> Estimate | None:
        if first == second:  # exactly 1
            return Estimate(0.0, 0.0, FREEDOM_MAX, 0.0)
        return intervals.ratio(self.cells[workload, first].estimate[figure],
                               self.cells[workload, second].estimate[figure])

    def mean_to_best(self, allocator: str, figure: str, workloads: list[str]) -> Mean | None:
        return self.mean_of_pairs(
            [(workload, allocator, best) for workload in workloads
             if (best := self.best(workload, allocator, figure)) is not None
             and (cell := self.cell(workload, allocator)) and cell.is_whole(figure)], figure)

    def mean_to_other(self, other: str, figure: str, workloads: list[str]) -> Mean | None:
        return self.mean_of_pairs(
            [(workload, self.record.subject, other) for workload in workloads], figure)

    def runs(self, workload: str | None = None) -> int:
        """The number of started runs."""
        return (sum(cell.summed.tries for key, cell in self.cells.items()
                    if workload in (None, key[0]))
                + sum(len(failed) for key, failed in self.failed.items()
                      if workload in (None, key[0])))

    def noisy_runs(self, workload: str) -> int:
        return sum(cell.noisy for key, cell in self.cells.items() if key[0] == workload)

    def heap_bound(self) -> list[str]:
        """Workloads that request enough memory for the heap to be most of the process."""
        return [workload for workload in counted_workloads(self.record.workloads)
                if any(cell.summed.peak_requested_bytes >= summary.HEAP_BOUND_BYTES
                       for name in self.record.allocators if (cell := self.cell(workload, name)))]


def interval_of(estimate: Estimate | None) -> tuple[float, float] | None:
    found = None if estimate is None else estimate.interval()
    return None if found is None else (found[0], found[1])


def mean_estimate(by_workload: dict[str, Estimate | None]) -> Estimate | None:
    """The mean's estimate.

    A single clean run gets the spread of the other workloads. If more than half of the workloads
    have only one, there is no interval.
    """
    parts = list(by_workload.values())
    known = [part for part in parts if part is not None and part.variance is not None]
    if any(part is None for part in parts) or 2 * len(known) < len(parts):
        return None
    typical = math.fsum(part.variance for part in known) / len(known)
    freedom = min(part.freedom for part in known)
    return intervals.mean([
        part if part.variance is not None else replace(part, variance=typical, freedom=freedom)
        for part in parts], list(weights.of(by_workload).values()))


def base_name(workload: str) -> str:
    return workload.partition("@")[0]


def counted_workloads(workloads: list[str]) -> list[str]:
    return [name for name in workloads
            if base_name(name) == name or base_name(name) not in workloads]


def compute(record: Record) -> Figures:
    figures = Figures(record)
    if record.kept_run is not None:
        figures.cells = {key: Cell(cell, [], []) for key, cell in record.kept_run.cells.items()}
        for one in record.kept_run.failed:
            figures.failed.setdefault((one["workload"], one["allocator"]), []).extend(
                {**one, "round": number} for number in one["rounds"])
        return figures
    medians = summary.cells_of(record.samples)
    grouped: dict[tuple[str, str], list[dict]] = {}
    for sample in record.samples:
        grouped.setdefault((sample["workload"], sample["allocator"]), []).append(sample)
    for key, group in grouped.items():
        failed = [sample for sample in group if sample["outcome"] != "ok"]
        if failed:
            figures.failed[key] = failed
        if key not in medians:
            continue
        measured = [sample for sample in group if sample["outcome"] == "ok"]
        counted = [sample for sample in measured if not sample["is_noisy"]] or measured
        figures.cells[key] = Cell(medians[key], counted, measured)
    return figures
