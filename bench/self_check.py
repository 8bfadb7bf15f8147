# An allocator against itself: does the runner see differences where there are none?
#
# Owns: the verdict of --self. Two names for one library must give ratios whose intervals contain 1,
# on every workload, for time and for memory. The check uses the wide intervals, which hold for all
# rows at once, because of sixty intervals at 95 % three are expected to miss.
# The check can fail: it does against a slowed copy (tests/test_runner.py).
#
# SPDX-License-Identifier: MIT

from dataclasses import replace

from .allocators import Allocator

AGAIN = "-again"


def twins(chosen: list[Allocator]) -> list[Allocator]:
    """The first allocator twice. Of two named allocators both, which are claimed to be equal."""
    first = chosen[0]
    return chosen[:2] if len(chosen) > 1 else [first, replace(first, name=first.name + AGAIN)]


def violations(summary: dict) -> list[str]:
    """One sentence for each ratio that differs from 1 or has no interval."""
    found = []
    for row in summary["rows"]:
        for figure in ("time", "rss"):
            for name, interval in row[f"{figure}_ratio_interval_all"].items():
                ratio = row[f"{figure}_ratio"][name]
                if interval is None:
                    found.append(f"{row['workload']}: no interval for {figure}: fewer than two "
                                 "runs were measured")
                elif not interval[0] <= 1 <= interval[1]:
                    found.append(f"{row['workload']}: {figure} {summary['subject']}/{name} is "
                                 f"{ratio:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]")
    return found


def print_verdict(summary: dict) -> bool:
    found = violations(summary)
    print()
    for one in found:
        print(f"self: {one}")
    rows = len(summary["rows"])
    print(f"self: {rows} workloads, {len(found)} ratios that are not 1"
          + ("" if found else ": equal libraries measure as equal"))
    return not found
