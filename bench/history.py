# The kept full runs as one page of tables, docs/benchmarks/runs.md:
#
#   python3 -B -m bench.history > docs/benchmarks/runs.md
#
# Owns: the choice of runs that are shown in full, and the page. Each kind of run (the whole work, a
# part of it, more threads than processors) is shown in full once, by its newest run. Every run has
# a line. Every figure comes from the kept medians, with the arithmetic of summary.py.
#
# SPDX-License-Identifier: MIT

import sys
from pathlib import Path

from . import kept
from .leanest import FAST_TIMES, leanest_peer, ratio_to_leanest_fast
from .summary import mean_to_leanest_fast
from .table import shown, with_interval

RUNS = kept.FOLDER / "full"
MANY_ROWS = 30        # a run with fewer rows repeats some
MANY_THREADS = 8
DIGITS = 2
HEAD = f"""# The full runs

For readers who want each workload of the kept runs.

Each figure is Talus divided by another allocator. Below 1 Talus is better. Memory is peak RSS.
[README.md](README.md) says what the figures mean, and what "beside the best" is.

- *Held out* divides by the rival that was best in the other rounds, because the least of eight
  medians is too low by chance.
- *By request* divides by what was requested at the peak of that run, where the heap is most of it.
- *Fast* is beside the leanest of those rivals that take at most {FAST_TIMES:g} times the \
fastest's time.

`python3 -B -m bench.history` makes this page from `bench/results/full`.
"""


def read_runs(folder: Path) -> dict[str, dict]:
    """By file name, oldest first."""
    results = {path.name: kept.read(path) for path in folder.glob("*.json")}
    runs = {name: {**one.facts, "summary": one.summary()} for name, one in results.items()}
    return dict(sorted(runs.items(), key=lambda one: one[1]["started"]))


def number(value: float | None) -> str:
    return shown(value, DIGITS)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def is_of_many_rows(run: dict) -> bool:
    return len(run["summary"]["rows"]) >= MANY_ROWS


def has_many_threads(run: dict) -> bool:
    return run["settings"]["threads"] >= MANY_THREADS


KINDS = {
    "The whole work": lambda run: run["settings"]["scale"] >= 1 and not has_many_threads(run),
    "A part of the work": lambda run: run["settings"]["scale"] < 1 and not has_many_threads(run),
    "More threads than processors": has_many_threads,
}


def last_of(runs: dict[str, dict], kind: str) -> str | None:
    names = [name for name, run in runs.items() if is_of_many_rows(run) and KINDS[kind](run)]
    return names[-1] if names else None


def version_of(run: dict) -> str:
    return (run["commit"] or {}).get("id", "unknown")[:7]


def describe(run: dict) -> str:
    settings = run["settings"]
    return (f"{run['started'][:10]}, {run['machine']['processor']}, "
            f"{run['machine']['cores']} processors, version {version_of(run)}, "
            f"T={settings['threads']}, scale {settings['scale']:g}, {settings['repeat']} rounds, "
            f"{len(run['summary']['rows'])} workloads")


def line_of(name: str, run: dict) -> list[str]:
    summary, settings = run["summary"], run["settings"]
    return [f"`{name}`", version_of(run), run["machine"]["processor"].split("(")[0],
            str(len(summary["rows"])), f"{settings['scale']:g}", str(settings["threads"]),
            str(settings["repeat"]),
            with_interval(summary["geometric_mean_time_to_best"],
                          summary["geometric_mean_time_to_best_interval"], DIGITS),
            number(summary.get("geometric_mean_time_to_best_held_out")),
            number(summary.get("geometric_mean_rss_to_leanest")),
            number(summary.get("geometric_mean_memory_to_leanest")),
            number(mean_to_leanest_fast(summary["rows"], summary["subject"]))]


def means(summary: dict) -> str:
    names = list(summary["geometric_mean_time"])
    rows = [[label, *(number(summary[f"geometric_mean_{figure}"][name]) for name in names)]
            for label, figure in (("time", "time"), ("memory", "rss"))]
    return table(["mean", *names], rows)


def rows_of(summary: dict) -> str:
    subject, lines = summary["subject"], []
    for row in summary["rows"]:
        own = row["median"].get(subject)
        lines.append([row["workload"], "failed" if own is None else f"{own['time']:.3f}",
                      number(row["time_ratio_to_best"]), row["best_peer"] or "-",
                      number(row.get("time_ratio_to_best_held_out")),
                      "failed" if own is None else f"{own['rss_kib'] / 1024:.1f}",
                      number(row.get("rss_ratio_to_leanest")),
                      leanest_peer(row, subject) or "-",
                      number(row.get("memory_ratio_to_leanest")),
                      number(ratio_to_leanest_fast(row, subject)),
                      leanest_peer(row, subject, FAST_TIMES) or "-"])
    return table(["workload", "time", "beside the best", "who", "held out", "MiB",
                  "beside the leanest", "who", "by request", "fast", "who"], lines)


def page(runs: dict[str, dict]) -> str:
    parts = [HEAD]
    for kind in KINDS:
        name = last_of(runs, kind)
        if name is not None:
            run = runs[name]
            parts += [f"## {kind}\n", f"`{name}`: {describe(run)}.\n", means(run["summary"]),
                      rows_of(run["summary"])]
    parts += ["## All runs\n",
              table(["file", "version", "processor", "workloads", "scale", "T", "rounds",
                     "time beside the best", "held out", "memory", "by request", "fast"],
                    [line_of(name, run) for name, run in runs.items()])]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page(read_runs(RUNS)))
