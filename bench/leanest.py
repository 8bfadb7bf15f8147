# The rival with the least memory on a workload, of all rivals or of the fast ones.
# An allocator may need the least memory because it takes three times as long. A user who switches
# for speed needs the figures of the fast rivals.
#
# Owns: the meaning of "fast". It works on rows of a summary, so it can evaluate old results again.
#
# SPDX-License-Identifier: MIT

import math

from .allocators import rivals_of

# A rival is fast on a workload if its time is at most this multiple of the fastest rival's time.
FAST_TIMES = 1.5


def leanest_peer(row: dict, subject: str, times: float = math.inf) -> str | None:
    """The rival with the lowest peak RSS, among rivals that take at most `times` the fastest time.

    A rival that failed a run does not count. Nor is a rival fast that skips the trim in the others'
    times.
    """
    rivals = rivals_of(subject, {**row["median"], **row.get("time_ratio", {})})
    peers = {name: cell for name, cell in row["median"].items()
             if name in rivals and not cell["failures"]
             and not (cell.get("skips_trim") and times < math.inf)}
    if not peers:
        return None
    most = times * min(cell["time"] for cell in peers.values())
    return min((name for name, cell in peers.items() if cell["time"] <= most),
               key=lambda name: peers[name]["rss_kib"])


def ratio_to_leanest_fast(row: dict, subject: str) -> float | None:
    """Peak RSS divided by the peak RSS of the leanest fast peer."""
    own, peer = row["median"].get(subject), leanest_peer(row, subject, FAST_TIMES)
    if own is None or peer is None:
        return None
    return own["rss_kib"] / row["median"][peer]["rss_kib"]
