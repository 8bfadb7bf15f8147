# From samples to the figures that are compared.
#
# Owns: median, ratio, geometric mean, and which samples count. Noisy samples count only if a
# workload and allocator have no clean one, and the cell then says so. intervals.py has the
# precision of a figure.
# It knows neither processes nor printing, so tests can use made-up samples.
#
# SPDX-License-Identifier: MIT

import math
import statistics
from dataclasses import dataclass, field

from . import held_out, intervals, leanest, weights
from .allocators import rivals_of
from .intervals import Estimate

# Below this a process is mostly its own code, and the ratio shows little about heaps.
HEAP_BOUND_BYTES = 16 << 20
FIGURES = ("time", "rss_kib")
# The resolution: half a percent (start and stop of threads, layout of addresses). For RSS also 64
# pages, which the kernel lets each thread count on its own.
FLOOR_SHARE = 0.005
FLOOR_RSS_KIB = 256
# Further medians, and their place in a sample.
MEDIANS = {**{name: ("measured", name) for name in (
    "wall_s", "user_s", "sys_s", "mean_rss_kib", "minor_faults", "major_faults",
    "voluntary_switches")},
    "figure": ("result", "figure"), "peak_requested_bytes": ("result", "peak_requested_bytes")}


@dataclass(frozen=True)
class Cell:
    """The figures of one allocator on one workload."""
    time: float
    rss_kib: float
    samples: int
    is_noisy: bool        # every sample had other work beside it
    failures: int
    peak_requested_bytes: int
    overhead: float | None = None  # peak RSS / peak of requested bytes, run by run
    skips_trim: bool = False  # it cannot do the trim that the others' times contain
    tries: int = 0  # measured runs, noisy ones too
    medians: dict = field(default_factory=dict)
    estimates: dict[str, Estimate | None] = field(default_factory=dict)

    def is_whole(self, figure: str) -> bool:
        """False for a time without the trim that the others' times contain."""
        return not (self.skips_trim and figure == "time")


def median_of(samples: list[dict], place: tuple[str, str]) -> float | None:
    values = [value for sample in samples
              if (value := (sample.get(place[0]) or {}).get(place[1])) is not None]
    return statistics.median(values) if values else None


def floor_of_rss(median_kib: float) -> float:
    return max(FLOOR_SHARE, FLOOR_RSS_KIB / max(1.0, median_kib))


def estimate(counted: list[dict], measured: list[dict], figure: str,
             key: str) -> Estimate | None:
    values = [sample[figure] for sample in counted]
    floor = FLOOR_SHARE
    if figure == "rss_kib":
        floor = floor_of_rss(statistics.median(values))
    return intervals.of_samples(values, floor, f"{key}/{figure}",
                                [sample[figure] for sample in measured])


def overhead_of(samples: list[dict]) -> float | None:
    """Peak RSS divided by the peak of the requested bytes. In some workloads the requested peak
    depends on chance (which thread falls behind), so peaks alone do not compare."""
    values = [sample["rss_kib"] * 1024 / peak for sample in samples
              if (peak := sample["result"].get("peak_requested_bytes", 0)) > 0]
    return statistics.median(values) if len(values) == len(samples) else None


def skips_timed_trim(samples: list[dict]) -> bool:
    """Older results do not have the field; all their runs trimmed."""
    return any(sample["result"].get("trim_is_timed") and not sample["result"].get("trims", True)
               for sample in samples)


def cells_of(samples: list[dict]) -> dict[tuple[str, str], Cell]:
    grouped: dict[tuple[str, str], list[dict]] = {}
    for sample in samples:
        grouped.setdefault((sample["workload"], sample["allocator"]), []).append(sample)
    cells = {}
    for key, group in grouped.items():
        measured = [sample for sample in group if sample["outcome"] == "ok"]
        if not measured:
            continue
        clean = [sample for sample in measured if not sample["is_noisy"]]
        counted = clean or measured
        cells[key] = Cell(
            time=statistics.median(sample["time"] for sample in counted),
            rss_kib=statistics.median(sample["rss_kib"] for sample in counted),
            samples=len(counted), is_noisy=not clean, failures=len(group) - len(measured),
            peak_requested_bytes=max(sample["result"].get("peak_requested_bytes", 0)
                                     for sample in counted),
            overhead=overhead_of(counted), skips_trim=skips_timed_trim(measured),
            tries=len(measured),
            medians={name: median_of(counted, place) for name, place in MEDIANS.items()},
            estimates={figure: estimate(counted, measured, figure, "/".join(key))
                       for figure in FIGURES})
    return cells


def geometric_mean(by_workload: dict[str, float | None]) -> float | None:
    """The mean over the workloads that have a value (weights.py)."""
    values = {name: value for name, value in by_workload.items() if value is not None}
    if not values or any(value <= 0 for value in values.values()):
        return None
    shares = weights.of(values)
    return math.exp(math.fsum(shares[name] * math.log(value) for name, value in values.items()))


def ratio(cells: dict, workload: str, subject: str, other: str, figure: str) -> float | None:
    first, second = cells.get((workload, subject)), cells.get((workload, other))
    if first is None or second is None:
        return None
    return getattr(first, figure) / getattr(second, figure)


def mean_ratio(cells: dict, workloads: list[str], subject: str, other: str,
               figure: str) -> tuple[float | None, int]:
    """Geometric mean over the workloads measured by both, and the number of these workloads."""
    ratios = {workload: value for workload in workloads
              if (value := ratio(cells, workload, subject, other, figure)) is not None}
    return geometric_mean(ratios), len(ratios)


def sound_rivals(cells: dict, workload: str, subject: str, figure: str,
                 allocators: list[str]) -> list[str]:
    """Rivals that may be the best on this workload. A rival with failed runs is excluded: its other
    runs are the lucky ones. So is a time without the trim."""
    return [rival for rival in rivals_of(subject, allocators)
            if (cell := cells.get((workload, rival))) and not cell.failures
            and cell.is_whole(figure)]


def best_rival(cells: dict, workload: str, subject: str, figure: str,
               allocators: list[str]) -> str | None:
    """The rival with the lowest figure on this workload. None if there is none, or if the subject's
    own time lacks the trim."""
    own = cells.get((workload, subject))
    if own is not None and not own.is_whole(figure):
        return None
    return min(sound_rivals(cells, workload, subject, figure, allocators),
               key=lambda rival: getattr(cells[(workload, rival)], figure), default=None)


def heap_bound(cells: dict, workloads: list[str]) -> list[str]:
    """Workloads that request enough memory for their RSS to describe the heap."""
    return [workload for workload in workloads
            if any(cell.peak_requested_bytes >= HEAP_BOUND_BYTES
                   for (name, _), cell in cells.items() if name == workload)]


def memory_figure(cells: dict, workload: str, allocators: list[str]) -> str:
    """The comparable memory figure of a workload: the overhead if the heap is most of it."""
    present = [cell for name in allocators if (cell := cells.get((workload, name)))]
    is_told = heap_bound(cells, [workload]) and all(cell.overhead for cell in present)
    return "overhead" if is_told else "rss_kib"


def ratio_estimate(cells: dict, workload: str, subject: str, other: str,
                   figure: str) -> Estimate | None:
    first, second = cells.get((workload, subject)), cells.get((workload, other))
    if first is None or second is None:
        return None
    return intervals.ratio(first.estimates[figure], second.estimates[figure])


def interval(found: Estimate | None, comparisons: int = 1) -> list[float] | None:
    return None if found is None else found.interval(intervals.simultaneous(comparisons))


def mean_interval(by_workload: dict[str, Estimate | None]) -> list[float] | None:
    present = {name: one for name, one in by_workload.items() if one is not None}
    if not present:
        return None
    return interval(intervals.mean(list(present.values()), list(weights.of(present).values())))


def median_entry(cell: Cell) -> dict:
    return {"time": cell.time, "rss_kib": cell.rss_kib, "samples": cell.samples,
            "is_noisy": cell.is_noisy, "failures": cell.failures, "skips_trim": cell.skips_trim,
            "time_interval": interval(cell.estimates["time"]),
            "rss_interval": interval(cell.estimates["rss_kib"]), **cell.medians}


def row_of(cells: dict, workload: str, allocators: list[str], subject: str,
           comparisons: int) -> dict:
    others = [name for name in allocators if name != subject]
    best = best_rival(cells, workload, subject, "time", allocators)
    row = {
        "workload": workload,
        "median": {name: median_entry(cell) for name in allocators
                   if (cell := cells.get((workload, name)))},
        "is_noisy": any(cell.is_noisy for name in allocators
                        if (cell := cells.get((workload, name)))),
        "best_peer": best,
        "time_ratio_to_best": ratio(cells, workload, subject, best, "time") if best else None,
    }
    for label, figure in (("rss", "rss_kib"),
                          ("memory", memory_figure(cells, workload, allocators))):
        smallest = best_rival(cells, workload, subject, figure, allocators)
        row[f"{label}_ratio_to_leanest"] = ratio(cells, workload, subject, smallest,
                                                 figure) if smallest else None
    for label, figure in (("time", "time"), ("rss", "rss_kib")):
        found = {name: ratio_estimate(cells, workload, subject, name, figure) for name in others}
        row[f"{label}_ratio"] = {name: ratio(cells, workload, subject, name, figure)
                                 for name in others}
        row[f"{label}_ratio_interval"] = {name: interval(one) for name, one in found.items()}
        row[f"{label}_ratio_interval_all"] = {name: interval(one, comparisons)
                                              for name, one in found.items()}
    return row


def mean_to_leanest_fast(rows: list[dict], subject: str) -> float | None:
    return geometric_mean(
        {row["workload"]: leanest.ratio_to_leanest_fast(row, subject) for row in rows})


def ratios_held_out(samples: list[dict], cells: dict, workloads: list[str],
                    allocators: list[str], subject: str) -> dict[str, float | None]:
    """By workload: the subject beside the best rival of each round, which the other rounds
    choose."""
    by_round = held_out.times_by_round(samples)
    return {workload: held_out.ratio_to_best(
        by_round.get(workload, {}), subject,
        sound_rivals(cells, workload, subject, "time", allocators)) for workload in workloads
        if best_rival(cells, workload, subject, "time", allocators)}


def summarize(samples: list[dict], workloads: list[str], allocators: list[str],
              subject: str, about: dict[str, dict] | None = None) -> dict:
    """The figures of a run's samples."""
    cells = cells_of(samples)
    return figures_of(cells, ratios_held_out(samples, cells, workloads, allocators, subject),
                      workloads, allocators, subject, about)


def figures_of(cells: dict, from_other_rounds: dict[str, float | None], workloads: list[str],
               allocators: list[str], subject: str, about: dict[str, dict] | None = None) -> dict:
    """The figures as data, for the JSON file; table.py prints the same figures.

    `about` adds the runner's facts on a row: its set, its threads.
    """
    others = [name for name in allocators if name != subject]
    comparisons = len(FIGURES) * len(workloads) * max(1, len(others))
    rows = [{**row_of(cells, workload, allocators, subject, comparisons),
             "time_ratio_to_best_held_out": from_other_rounds.get(workload),
             **(about or {}).get(workload, {})} for workload in workloads]
    large = heap_bound(cells, workloads)
    to_best = {row["workload"]: row["time_ratio_to_best"] for row in rows}
    figures = {"subject": subject, "rows": rows}
    for name, figure, among in (("geometric_mean_time", "time", workloads),
                                ("geometric_mean_rss", "rss_kib", workloads),
                                ("geometric_mean_rss_heap_bound", "rss_kib", large)):
        figures[name] = {other: mean_ratio(cells, among, subject, other, figure)[0]
                         for other in others}
        figures[name + "_interval"] = {
            other: mean_interval({workload: ratio_estimate(cells, workload, subject, other, figure)
                                  for workload in among}) for other in others}
    figures["geometric_mean_time_to_best"] = geometric_mean(to_best)
    figures["geometric_mean_time_to_best_interval"] = mean_interval(
        {row["workload"]: ratio_estimate(cells, row["workload"], subject, row["best_peer"], "time")
         for row in rows if row["best_peer"]})
    figures["geometric_mean_time_to_best_held_out"] = geometric_mean(
        {row["workload"]: row["time_ratio_to_best_held_out"] for row in rows})
    for label in ("rss", "memory"):
        figures[f"geometric_mean_{label}_to_leanest"] = geometric_mean(
            {row["workload"]: row[f"{label}_ratio_to_leanest"] for row in rows})
    figures["geometric_mean_rss_to_leanest_fast"] = mean_to_leanest_fast(rows, subject)
    figures["heap_bound_workloads"] = large
    figures["intervals"] = {"confidence": intervals.CONFIDENCE, "seed": intervals.SEED,
                            "replicates": intervals.REPLICATES, "comparisons": comparisons}
    return figures
