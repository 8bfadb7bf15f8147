#!/usr/bin/env python3
"""The page on retained memory: which probes it has, which figure speaks for each, how it reads.

Memory must go back when it is free and must not go back when it is hot. Each row is a promise with
its bar; each cell says whether it was kept and the figure that decides. table.py runs the probes
and writes the page; nothing here runs anything.
SPDX-License-Identifier: MIT
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    number: str
    probe: str
    asks: str
    figures: tuple  # names of the figures shown in a cell


PROMISES = (
    Promise("N01", "memory_idle_release",
            "8 threads free 264 MiB and sleep: at most 15 % of the peak after 5 s",
            ("kept when idle",)),
    Promise("N02", "memory_release_call",
            "`malloc_trim(0)` while the owners sleep in a futex or in read: at most 5 % "
            "within 100 ms",
            ("kept, owners in futex", "time, owners in futex", "kept, owners in read",
             "time, owners in read")),
    Promise("N03", "memory_reuse_loop",
            "64 MiB taken, touched and freed in a loop: less than one fault for 64 KiB, less "
            "than 20 % system time",
            ("one block, faults", "1 MiB blocks, faults", "8 KiB blocks, faults")),
    Promise("N04", "memory_phases",
            "small, large, small blocks with 64 MiB live: at most 64 MiB and 10 % kept beside"
            " them, at every look",
            ("kept beside the live",)),
    Promise("N05", "memory_pure_free_thread",
            "one thread takes, others free: at most 1.4 times what lives",
            ("one consumer", "64 sleepers", "beside 64 sleepers")),
    Promise("N06", "threads_churn",
            "threads come and go: at most 2 MiB more than after the first thousand",
            ("growth", "1000 threads")),
    Promise("N07", "threads_idle_caches",
            "400 threads free 2 MiB each and sleep: at most 64 KiB each after 5 s",
            ("kept, foreign blocks", "kept, own blocks")),
    Promise("N08", "memory_survivors",
            "one small block in 1000 stays: at most 25 % of the peak after 5 s",
            ("kept by survivors", "time")),
    Promise("N09", "memory_drift",
            "sizes drift, nine values in ten are replaced: at most 1.3 times what lives at "
            "the end",
            ("resident at the end", "rise of the last quarter")),
    Promise("N11", "fork_idle_child",
            "a forked child frees and idles: at most 15 % of its peak after 5 s",
            ("kept, inherited blocks", "kept, own blocks")),
    Promise("N11", "fork_copy_on_write",
            "a forked child copies at most twice what it allocates",
            ("dirtied",)),
    Promise("N20", "limits_address_limit",
            "under `ulimit -v` 64 MiB, 256 MiB, 2 GiB: 70 % usable, and again for other sizes",
            ("blocks of 1048576 in 64 MiB",)),
    Promise("N21", "limits_no_overcommit",
            "overcommit off: no failure below the limit, fewer than 500 mappings",
            ("mappings",)),
    Promise("N22", "limits_map_count",
            "holes of 20 KiB purged: fewer than 1000 mappings",
            ("with holes",)),
    Promise("N22", "limits_few_mappings",
            "2000 mappings more are allowed: blocks may be refused, nothing ends or is damaged",
            ("refused",)),
    Promise("N27", "memory_huge_pages",
            "huge pages always on: at most 1.15 times the memory without",
            ("idle", "survivors", "sparse")),
    Promise("N33", "memory_shrink",
            "realloc to less: at most 1.2 times the new size within 3 s",
            ("300 of 1 MiB to 64 KiB", "300 MiB to 20 MiB", "300 of 1 MiB to 700 KiB")),
    Promise("N36", "memory_release_latency",
            "another thread frees 1 GiB: at most 200 us more at the 99.9th percentile",
            ("added by the release", "added by the background")),
    Promise("N48", "limits_cpu_quota",
            "64 MiB, half a processor: nothing is killed",
            ("survived",)),
    Promise("N49", "limits_memory_cgroup",
            "200 MiB of small and of large blocks in turn in 256 MiB: not killed",
            ("survived",)),
)

# Columns beside Talus and glibc: what is packaged, or else a file of the folder of built peers.
COLUMNS = (("jemalloc", None), ("mimalloc 3", "libmimalloc3.so"), ("TCMalloc", "libtcmalloc.so"),
           ("gperftools", None))

WORDS = {"passed": "pass", "failed": "**fail**", "skipped": "skip"}

INTRODUCTION = """# Retained memory

For readers who compare which allocators give memory back.

Free memory must go back to the kernel, and hot memory must stay. The last row of the table says
how many of these promises each allocator keeps. Each row is one promise with its bar. A small
program of `tests/conformance` checks it with the allocator preloaded; the head of its source
says how. Each cell says whether the promise was kept, and has the figures that decide it.
jemalloc is 5.3, mimalloc is 3, TCMalloc is Google's; all run with their defaults. A skip means
that this machine cannot run the program. `tests/conformance/table.py --retention` writes this
file; do not edit it by hand."""


def columns(packaged, peers):
    """(column, file names) pairs in the order of the page."""
    by_name = dict(packaged)
    return [(name, by_name[name] if file is None else (str(peers / file),))
            for name, file in COLUMNS]


def only_promised(programs):
    wanted = {promise.probe for promise in PROMISES}
    return [program for program in programs if program.name in wanted]


def cell(result, figures):
    measured = dict(result["figures"])
    shown = [measured[name] for name in figures if name in measured]
    return "<br>".join([WORDS[result["outcome"]], *shown])


def table_lines(suites):
    names = list(suites)
    by_probe = {name: {result["probe"]: result for result in results}
                for name, results in suites.items()}
    lines = ["| | what is asked | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for promise in PROMISES:
        if not all(promise.probe in by_probe[name] for name in names):
            continue
        asks = f"{promise.asks} (`{promise.probe}`)"
        if len(promise.figures) > 1:
            asks += "<br>figures: " + "; ".join(promise.figures)
        cells = [cell(by_probe[name][promise.probe], promise.figures) for name in names]
        lines.append(f"| {promise.number} | {asks} | " + " | ".join(cells) + " |")
    kept = [sum(result["outcome"] == "passed" for result in suites[name]) for name in names]
    asked = [sum(result["outcome"] != "skipped" for result in suites[name]) for name in names]
    lines.append("| | **kept** | " + " | ".join(
        f"{some} of {all_}" for some, all_ in zip(kept, asked)) + " |")
    return lines
