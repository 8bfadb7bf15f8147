# The distance of each allocator of a run from the ideal corner: the best time and the least memory
# of each workload at once.
#
#   python3 -B -m bench.corner RESULT.json
#
# Owns: the table, in Markdown. Every allocator in turn is the subject and is compared with its
# rivals (allocators.rivals_of), as bench.summary compares Talus with its rivals.
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
