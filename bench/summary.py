# From samples to the figures that are compared.
#
# Owns: median, ratio, geometric mean, and which samples count. Noisy samples count only where a
# workload and allocator have no clean one, and the cell then says so.
# It knows neither processes nor printing, so that it can be tested with made-up samples.
#
# SPDX-License-Identifier: MIT

import math
import statistics
from dataclasses import dataclass

from .allocators import PEERS

# Below this a process is mostly its own code: the ratio says little about heaps.
HEAP_BOUND_BYTES = 16 << 20


@dataclass(frozen=True)
class Cell:
    """What one allocator did on one workload."""
    time: float
    rss_kib: float
    samples: int
    is_noisy: bool        # no sample was free of foreign work
    failures: int
    peak_requested_bytes: int


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
                                     for sample in counted))
    return cells


def geometric_mean(values: list[float]) -> float | None:
    if not values or any(value <= 0 for value in values):
        return None
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def ratio(cells: dict, workload: str, subject: str, other: str, figure: str) -> float | None:
    first, second = cells.get((workload, subject)), cells.get((workload, other))
    if first is None or second is None:
        return None
    return getattr(first, figure) / getattr(second, figure)


def mean_ratio(cells: dict, workloads: list[str], subject: str, other: str,
               figure: str) -> tuple[float | None, int]:
    """Geometric mean over the workloads that both have measured, and how many they are."""
    ratios = [value for workload in workloads
              if (value := ratio(cells, workload, subject, other, figure)) is not None]
    return geometric_mean(ratios), len(ratios)


def best_peer(cells: dict, workload: str, subject: str, figure: str) -> str | None:
    """The peer with the lowest figure on this workload, the subject itself left out."""
    present = [peer for peer in PEERS if peer != subject and (workload, peer) in cells]
    return min(present, key=lambda peer: getattr(cells[(workload, peer)], figure), default=None)


def heap_bound(cells: dict, workloads: list[str]) -> list[str]:
    """Workloads whose requested memory is large enough for their RSS to speak of the heap."""
    return [workload for workload in workloads
            if any(cell.peak_requested_bytes >= HEAP_BOUND_BYTES
                   for (name, _), cell in cells.items() if name == workload)]


def summarize(samples: list[dict], workloads: list[str], allocators: list[str],
              subject: str) -> dict:
    """The figures as data, for the JSON file; table.py prints the same ones."""
    cells = cells_of(samples)
    others = [name for name in allocators if name != subject]
    rows = []
    for workload in workloads:
        best = best_peer(cells, workload, subject, "time")
        rows.append({
            "workload": workload,
            "median": {name: {"time": cell.time, "rss_kib": cell.rss_kib,
                              "samples": cell.samples, "is_noisy": cell.is_noisy}
                       for name in allocators if (cell := cells.get((workload, name)))},
            "time_ratio": {name: ratio(cells, workload, subject, name, "time")
                           for name in others},
            "rss_ratio": {name: ratio(cells, workload, subject, name, "rss_kib")
                          for name in others},
            "is_noisy": any(cell.is_noisy for name in allocators
                            if (cell := cells.get((workload, name)))),
            "best_peer": best,
            "time_ratio_to_best":
                ratio(cells, workload, subject, best, "time") if best else None,
        })
    large = heap_bound(cells, workloads)
    to_best = [row["time_ratio_to_best"] for row in rows if row["time_ratio_to_best"]]
    return {
        "subject": subject,
        "rows": rows,
        "geometric_mean_time": {name: mean_ratio(cells, workloads, subject, name, "time")[0]
                                for name in others},
        "geometric_mean_rss": {name: mean_ratio(cells, workloads, subject, name, "rss_kib")[0]
                               for name in others},
        "geometric_mean_rss_heap_bound":
            {name: mean_ratio(cells, large, subject, name, "rss_kib")[0] for name in others},
        "geometric_mean_time_to_best": geometric_mean(to_best),
        "heap_bound_workloads": large,
    }
