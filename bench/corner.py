# How near each allocator of a run comes to the corner that none holds: the best in time and the
# leanest in memory of each workload at once.
#
#   python3 -B -m bench.corner RESULT.json
#
# Owns: the table, in Markdown. Every allocator takes the subject's place in turn and stands beside
# its rivals (allocators.rivals_of), as bench.summary has Talus stand beside its own.
#
# SPDX-License-Identifier: MIT

import argparse
from pathlib import Path

from . import kept
from .history import number, table

HEAD = ["allocator", "time beside the best", "held out", "memory beside the leanest", "by request",
        "fast"]
FIGURES = ("time_to_best", "time_to_best_held_out", "rss_to_leanest", "memory_to_leanest",
           "rss_to_leanest_fast")


def corner_of(result: kept.Result) -> str:
    lines = []
    for name in result.allocators:
        found = result.summary(name)
        lines.append([name, *(number(found[f"geometric_mean_{figure}"]) for figure in FIGURES)])
    return table(HEAD, lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m bench.corner")
    parser.add_argument("result", type=Path, help="JSON of a run")
    print(corner_of(kept.read(parser.parse_args().result)), end="")
