# How near each allocator of a run comes to the corner that none holds: the best in time and the
# leanest in memory of each workload at once.
#
#   python3 -B -m bench.corner RESULT.json
#
# Owns: the table, in Markdown. Every allocator takes the subject's place in turn: it is divided by
# the best of the peers without itself, as bench.summary does for Talus. So Talus and its presets
# stand beside all peers, and a peer beside one fewer.
#
# SPDX-License-Identifier: MIT

import argparse
import json
from pathlib import Path

from . import summary
from .history import number, table

HEAD = ["allocator", "time beside the best", "held out", "memory beside the leanest", "by request",
        "fast"]
FIGURES = ("time_to_best", "time_to_best_held_out", "rss_to_leanest", "memory_to_leanest",
           "rss_to_leanest_fast")


def corner_of(run: dict) -> str:
    names = [one["name"] for one in run["allocators"]]
    workloads = [row["workload"] for row in run["summary"]["rows"]]
    lines = []
    for name in names:
        found = summary.summarize(run["samples"], workloads, names, name)
        lines.append([name, *(number(found[f"geometric_mean_{figure}"]) for figure in FIGURES)])
    return table(HEAD, lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python3 -m bench.corner")
    parser.add_argument("result", type=Path, help="JSON of a run")
    print(corner_of(json.loads(parser.parse_args().result.read_text(encoding="utf-8"))), end="")
