# A run as git keeps it, and the reading of results, kept or full.
#
# Owns: the compact form: one row of figures for each workload and allocator in place of the
# samples. results.md describes it for readers. All readers of results use read(), which treats a
# full result and a kept one alike.
# Invariant: a kept cell has the medians, intervals and marks of its samples, to four digits.
# Readers show three digits at most.
#
# SPDX-License-Identifier: MIT

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from . import intervals, summary
from .intervals import Estimate
from .summary import Cell

FOLDER = Path(__file__).parent / "results"
FORMAT = "talus-bench-kept-1"
COLUMNS = ("runs", "time", "time_within", "rss_kib", "rss_within", "user_s", "sys_s", "held_out",
           "requested_kib", "overhead", "speed")
NOISY, NO_TRIM = "~", "*"
RUNS = re.compile(r"(\d+)(?:/(\d+))?([~*]*)")  # runs that count, runs measured, and marks
# The kept fields on a run itself; samples and summary are not among them. The time of a workload in
# "relative" is a throughput or a latency, not seconds.
HEADER = ("started", "finished", "commit", "command", "machine", "load_average_at_start",
          "subject_environment", "settings", "skipped", "skipped_allocators", "instructions",
          "after_free", "relative")
ALLOCATOR_FACTS = ("name", "version", "source", "sha256", "environment")
SHA_DIGITS = 12
# Rows with operations per second in a chart or a record.
SPEED_ROWS = ("B1", "B2", "B3", "B3s", "B16", "B17")


class NoResult(ValueError):
    """The file is not a result. The text has the reason."""


@dataclass
class Result:
    """The content of a result, whatever its form."""
    facts: dict                                # the fields of HEADER that the run has
    subject: str
    allocators: list[str]
    workloads: list[str]
    cells: dict[tuple[str, str], Cell]
    failed: list[dict]                         # workload, allocator, outcome, reason, rounds
    samples: list[dict] | None = None          # None: a kept run
    held_out: dict[tuple[str, str], float] = field(default_factory=dict)
    speeds: dict[tuple[str, str], float] = field(default_factory=dict)

    def summary(self, subject: str | None = None) -> dict:
        """The figures with this allocator as the subject."""
        subject = subject or self.subject
        return summary.figures_of(self.cells, self.held_out_of(subject), self.workloads,
                                  self.allocators, subject)

    def held_out_of(self, subject: str) -> dict[str, float | None]:
        if self.samples is not None:
            return summary.ratios_held_out(self.samples, self.cells, self.workloads,
                                           self.allocators, subject)
        return {workload: self.held_out.get((workload, subject)) for workload in self.workloads}


def in_order(*sources) -> list[str]:
    return list(dict.fromkeys(str(name) for source in sources for name in source))


def names_of(run: dict) -> tuple[list[str], list[str]]:
    """The allocators and workloads of a full result, in the order of the run."""
    return (in_order((one["name"] for one in run.get("allocators") or []),
                     (one["allocator"] for one in run["samples"])),
            in_order((row["workload"] for row in (run.get("summary") or {}).get("rows", [])),
                     (one["workload"] for one in run["samples"])))


def sound(sample: dict) -> dict:
    """Samples of decision records may lack an outcome, because a script made them."""
    return {"outcome": "ok", "is_noisy": False, **sample, "result": sample.get("result") or {
        name: sample[name] for name in ("peak_requested_bytes",) if name in sample}}


def failures_of(samples: list[dict]) -> list[dict]:
    """Failed runs, grouped by reason."""
    found: dict[tuple, dict] = {}
    for sample in samples:
        if sample["outcome"] != "ok":
            key = (sample["workload"], sample["allocator"], sample["outcome"],
                   sample.get("reason") or "")
            found.setdefault(key, {**dict(zip(("workload", "allocator", "outcome", "reason"), key)),
                                   "rounds": []})["rounds"].append(sample.get("round"))
    return list(found.values())


def operations_per_s(sample: dict) -> float | None:
    result = sample.get("result") or {}
    if str(result.get("unit", "")).endswith("/s") and result.get("figure", 0) > 0:
        return result["figure"] * (1e6 if result["unit"].startswith("M") else 1)
    if result.get("ops", 0) > 0 and result.get("elapsed_s", 0) > 0:
        return result["ops"] / result["elapsed_s"]
    return None


def from_full(run: dict) -> Result:
    samples = [sound(one) for one in run["samples"]]
    names, workloads = names_of(run)
    cells = summary.cells_of(samples)
    speeds = {}
    for key, cell in cells.items():
        counted = [one for one in samples if (one["workload"], one["allocator"]) == key
                   and one["outcome"] == "ok" and (cell.is_noisy or not one["is_noisy"])
                   ] if key[0].split("/")[0].split("@")[0] in SPEED_ROWS else []
        if values := [speed for one in counted if (speed := operations_per_s(one))]:
            speeds[key] = statistics.median(values)
    subject = (run.get("summary") or {}).get("subject") or (
        "talus" if "talus" in names else names[0])
    facts = {name: run[name] for name in (*HEADER, "allocators") if name in run}
    facts["relative"] = in_order(one["workload"] for one in samples
                                 if "relative_time" in one["result"])
    return Result(facts, subject, names, workloads, cells, failures_of(samples), samples,
                  speeds=speeds)


def rounded(value: float | None, digits: int) -> float | None:
    if value is None or value == 0:
        return value
    shown = float(f"{value:.{digits}g}")
    return int(shown) if shown == int(shown) else shown


def within_of(estimate: Estimate | None) -> float | None:
    """In percent: 3 stands for the interval from the median / 1.03 to the median * 1.03."""
    found = None if estimate is None else estimate.interval()
    if found is None:
        return None
    percent = math.expm1((math.log(found[1]) - math.log(found[0])) / 2) * 100
    return rounded(round(percent, 2), 3)


def runs_of(cell: Cell) -> int | str:
    """The number of runs alone if all of them count, as they usually do."""
    marks = (NOISY if cell.is_noisy else "") + (NO_TRIM if cell.skips_trim else "")
    if cell.tries == cell.samples and not marks:
        return cell.samples
    return f"{cell.samples}/{cell.tries}{marks}"


def row_of(result: Result, key: tuple[str, str], from_other_rounds: float | None) -> list:
    cell = result.cells[key]
    requested = cell.peak_requested_bytes
    row = [runs_of(cell), rounded(cell.time, 4), within_of(cell.estimates["time"]),
           round(cell.rss_kib), within_of(cell.estimates["rss_kib"]),
           rounded(cell.medians.get("user_s"), 3), rounded(cell.medians.get("sys_s"), 3),
           rounded(from_other_rounds, 4), rounded(requested / 1024, 4) if requested else None,
           rounded(cell.overhead, 4), rounded(result.speeds.get(key), 4)]
    while row[-1] is None:
        row.pop()
    return row


def keep(result: Result) -> dict:
    """The compact form of a full result."""
    facts = dict(result.facts)
    settings = dict(facts.get("settings") or {})
    settings.pop("only", None)  # the command contains it
    held = {name: result.held_out_of(name) for name in result.allocators}
    allocators = [{name: one[name] for name in ALLOCATOR_FACTS if one.get(name)}
                  for one in facts.pop("allocators", [])]
    for one in allocators:
        if "sha256" in one:
            one["sha256"] = one["sha256"][:SHA_DIGITS]
    return {"format": FORMAT, **{name: value for name, value in facts.items() if value},
            "settings": settings, "subject": result.subject,
            "allocators": allocators or [{"name": name} for name in result.allocators],
            "failed": result.failed, "columns": list(COLUMNS),
            "cells": {workload: [row_of(result, (workload, name), held[name].get(workload))
                                 if (workload, name) in result.cells else None
                                 for name in result.allocators]
                      for workload in result.workloads}}


def text_of(kept: dict) -> str:
    """JSON with one line for each field, and one for each workload and allocator."""
    def short(value) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = [f"{short(name)}:{short(value)}" for name, value in kept.items()
             if name not in ("cells", "allocators")]
    lines.append('"allocators":[\n' + ",\n".join(map(short, kept["allocators"])) + "]")
    rows = []
    for workload, cells in kept["cells"].items():
        rows.append(f"{short(workload)}:[\n" + ",\n".join(map(short, cells)) + "]")
    lines.append('"cells":{\n' + ",\n".join(rows) + "}")
    return "{" + ",\n".join(lines) + "}\n"


def estimate_of(value: float, within: float | None, freedom: int, floor: float) -> Estimate | None:
    """The estimate of of_samples(), from the interval. An interval at its floor may have been
    narrower."""
    if value <= 0:
        return None
    if within is None:
        return Estimate(math.log(value), None, 0, floor)
    error = math.log1p(within / 100) / intervals.student_t(intervals.CONFIDENCE, freedom)
    return Estimate(math.log(value), error * error, freedom, floor)


def cell_of(row: dict, failures: int) -> Cell:
    count, tries, marks = RUNS.fullmatch(str(row["runs"])).groups()
    count, tries = int(count), int(tries or count)
    freedom = max(1, (count if count > 1 else tries) - 1)
    floors = {"time": summary.FLOOR_SHARE,
              "rss_kib": summary.floor_of_rss(row["rss_kib"])}
    return Cell(row["time"], row["rss_kib"], count, NOISY in marks, failures,
                round((row["requested_kib"] or 0) * 1024), row["overhead"], NO_TRIM in marks, tries,
                {"user_s": row["user_s"], "sys_s": row["sys_s"]},
                {name: estimate_of(row[name], row[f"{short}_within"], freedom, floors[name])
                 for name, short in (("time", "time"), ("rss_kib", "rss"))})


def from_kept(data: dict) -> Result:
    failures: dict[tuple, int] = {}
    for one in data["failed"]:
        key = (one["workload"], one["allocator"])
        failures[key] = failures.get(key, 0) + len(one["rounds"])
    names = [one["name"] for one in data["allocators"]]
    cells, held, speeds = {}, {}, {}
    for workload, rows in data["cells"].items():
        for name, values in zip(names, rows):
            if values is None:
                continue
            key = (workload, name)
            row = dict.fromkeys(COLUMNS) | dict(zip(data["columns"], values))
            cells[key] = cell_of(row, failures.get(key, 0))
            held[key], speeds[key] = row["held_out"], row["speed"]
    return Result({name: data[name] for name in (*HEADER, "allocators") if name in data},
                  data["subject"], names, list(data["cells"]), cells, data["failed"], None,
                  {key: value for key, value in held.items() if value is not None},
                  {key: value for key, value in speeds.items() if value is not None})


def is_kept(data) -> bool:
    return isinstance(data, dict) and data.get("format") == FORMAT


def from_data(data: dict) -> Result:
    return from_kept(data) if is_kept(data) else from_full(data)


def read(path: Path) -> Result:
    """A full result or a kept one. Raises NoResult if the file is neither."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if not is_kept(data) and not (isinstance(data, dict) and data.get("samples")):
        raise NoResult(f"{path}: neither a result of `python3 -m bench` nor a kept one")
    return from_data(data)
