# The page's facts on the run itself: the machine, the versions, the failures.
#
# Owns: the reading of JSON fields that are shown unchanged, and the text for older results that
# lack one. Folders of the measuring machine are left out: only file names are shown.
#
# SPDX-License-Identifier: MIT

import os
import shlex

from .charts import Charts
from .figures import RSS, TIME, Cell, Figures
from .record import Record, is_number
from .wording import LOSS, memory, ordinal, times

UNKNOWN = "not recorded"


def commit(record: Record) -> str:
    given = record.data.get("commit")
    if isinstance(given, dict):
        changed = " with changes" if given.get("is_changed") else ""
        return str(given.get("id") or UNKNOWN)[:12] + changed
    return str(given)[:12] if given else UNKNOWN


def duration(record: Record) -> str:
    started = str(record.data.get("started", UNKNOWN)).replace("T", " ").replace("+00:00", " UTC")
    finished = str(record.data.get("finished", "")).replace("T", " ").replace("+00:00", " UTC")
    if not finished:
        return started
    return f"{started} to {finished[11:] if finished[:10] == started[:10] else finished}"


def about(figures: Figures) -> list[tuple[str, str]]:
    record = figures.record
    machine, load = record.data.get("machine", {}), record.data.get("load_average_at_start")
    libc = machine.get("libc", UNKNOWN)
    ram = machine.get("memory_kib")
    threads = record.setting("thread_list") or record.setting("threads", UNKNOWN)
    rows = [
        ("Date", duration(record)),
        ("Commit", commit(record)),
        ("Processor", f"{machine.get('processor', UNKNOWN)} "
                      f"(model {machine.get('processor_model', UNKNOWN)}), "
                      f"{machine.get('cores', '?')} cores"),
        ("Memory", memory(ram) if is_number(ram) else UNKNOWN),
        ("Kernel", f"{machine.get('kernel', UNKNOWN)}, {machine.get('architecture', '')}, {libc}"),
        ("Huge pages", machine.get("transparent_huge_pages", UNKNOWN)),
        ("Runs", f"{record.setting('repeat', '?')} rounds, {figures.runs()} runs, "
                 f"scale {record.setting('scale', '?')}"),
        ("Threads", ", ".join(map(str, threads)) if isinstance(threads, list) else threads),
        ("Noise", f"a run is noisy beside more than {record.setting('foreign_cores_max', '?')} "
                  f"cores of other work; load at start {load[0] if load else '?'}"),
    ]
    settings = record.data.get("subject_environment") or {}
    if settings:
        rows.append(("Settings", ", ".join(f"{name}={value}" for name, value in settings.items())))
    return [(name, str(value)) for name, value in rows]


def byline(record: Record) -> list[str]:
    machine = record.data.get("machine", {})
    return [str(record.data.get("started", "date " + UNKNOWN))[:10],
            f"{machine.get('processor', 'processor ' + UNKNOWN)}, "
            f"{machine.get('cores', '?')} cores",
            f"kernel {machine.get('kernel', UNKNOWN)}", f"commit {commit(record)}",
            f"{record.setting('repeat', '?')} rounds"]


def repeat(record: Record) -> list[str]:
    command = [str(word) for word in record.data.get("command", [])] or ["python3", "-m", "bench"]
    return ["cmake -S . -B build/release -DCMAKE_BUILD_TYPE=Release",
            "cmake --build build/release", "bench/peers/build_peers.py build/peers",
            shlex.join(command)]


def allocators(record: Record) -> list[dict]:
    found = []
    for name in record.allocators:
        entry = record.allocator_facts(name)
        environment = entry.get("environment") or {}
        found.append({
            "name": name, "is_own": name == record.subject,
            "version": str(entry.get("version", UNKNOWN)),
            "source": str(entry.get("source", "the system's" if name == "glibc" else
                                    "this tree" if name == record.subject else UNKNOWN)),
            "flags": " ".join(map(str, entry.get("flags", []))),
            "environment": " ".join(f"{key}={value}" for key, value in environment.items()),
            "file": os.path.basename(str(entry.get("path", ""))),
            "hash": str(entry.get("sha256", ""))[:12]})
    return found


def tiles(charts: Charts) -> list[dict]:
    """The few figures at the top."""
    figures, subject, found = charts.figures, charts.record.subject, []
    if len(charts.record.allocators) < 2:
        return []
    for figure, word in ((TIME, "time"), (RSS, "peak memory")):
        means = {name: mean.value for name in (subject, *figures.rivals(subject))
                 if (mean := charts.to_best[name, figure])}
        if subject in means:
            rank = 1 + sum(value < means[subject] for value in means.values())
            found.append({"figure": ordinal(rank), "of": f"of {len(means)}", "word": f"in {word}",
                          "note": f"{times(means[subject])} × its best rival, typically",
                          "look": "good" if rank == 1 else ""})
    for figure, word in ((TIME, "time"), (RSS, "memory")):
        ratios = [ratio for workload in charts.counted
                  if (ratio := figures.ratio_to_best(workload, subject, figure))]
        if ratios:
            lost = sum(ratio >= LOSS for ratio in ratios)
            found.append({"figure": str(lost), "of": f"of {len(ratios)}",
                          "word": f"workloads lost in {word}",
                          "note": f"{round((LOSS - 1) * 100)} % or more behind the best; "
                                  f"best on {figures.wins(charts.counted, subject, figure)}",
                          "look": "bad" if lost else "good"})
    return found


def run_figures(cell: Cell) -> dict:
    """The kernel's figures of the counted runs, and the spread of their times."""
    spread = None
    if len(cell.counted) > 1 and cell.median[TIME] > 0:
        values = [sample[TIME] for sample in cell.counted]
        spread = (max(values) - min(values)) / cell.median[TIME]
    medians = cell.summed.medians
    return {"spread": spread, "noisy": cell.noisy, "user_s": medians.get("user_s"),
            "sys_s": medians.get("sys_s"), "faults": medians.get("minor_faults"),
            "mean_rss_kib": medians.get("mean_rss_kib")}


def is_in_seconds(record: Record, workload: str) -> bool:
    """False if the time is derived from a throughput or a latency."""
    return (workload not in record.data.get("relative", [])
            and not any("relative_time" in sample["result"] for sample in record.samples
                        if sample["workload"] == workload))


def failures(figures: Figures, workload: str) -> list[dict]:
    """Failed runs, grouped by reason."""
    found: dict[tuple, dict] = {}
    for name in figures.record.allocators:
        for sample in figures.failed.get((workload, name), []):
            reason = str(sample.get("reason") or "no reason recorded")
            entry = found.setdefault((name, sample["outcome"], reason), {
                "name": name, "outcome": str(sample["outcome"]).replace("_", " "),
                "reason": reason, "rounds": []})
            entry["rounds"].append(str(sample["round"] if sample["round"] is not None else "?"))
    return list(found.values())


def skipped(record: Record) -> list[dict]:
    """Workloads and allocators that could not be measured."""
    return [{"name": str(one.get(kind, "?")), "reason": str(one.get("reason", UNKNOWN))}
            for part, kind in (("skipped", "workload"), ("skipped_allocators", "allocator"))
            for one in record.data.get(part) or [] if isinstance(one, dict)]


def after_free(record: Record, workload: str) -> list[dict]:
    """The resident memory after the last free, if the run measured it."""
    names = ("rss_kib", "rss_end_kib", "rss_after_1s_kib", "rss_after_10s_kib")
    return [{"name": str(one.get("allocator")),
             "values": [memory(one[name]) if is_number(one.get(name)) else "–" for name in names]}
            for one in record.data.get("after_free") or []
            if isinstance(one, dict) and one.get("workload") == workload]


def instructions(record: Record) -> dict | None:
    """Instructions of a malloc and free pair: columns are patterns and sizes."""
    given = [one for one in record.data.get("instructions") or [] if isinstance(one, dict)]
    if not given:
        return None
    columns = list(dict.fromkeys((one.get("pattern"), one.get("size")) for one in given))
    rows: dict[str, dict] = {}
    for one in given:
        count = one.get("instructions")
        rows.setdefault(str(one.get("allocator")), {})[one.get("pattern"), one.get("size")] = (
            f"{count:.0f}" if is_number(count) else str(one.get("outcome", "–")))
    return {"columns": columns, "subject": record.subject,
            "rows": [(name, [cells.get(column, "–") for column in columns])
                     for name, cells in rows.items()]}
