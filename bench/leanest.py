# Which rival has the least memory on a workload: of all of them, or of those that are fast there.
# An allocator may be the leanest because it takes three times as long; a user who switches for
# speed wants to know what the fast ones need.
#
# Owns: what "fast" is. It works on rows of a summary, so that old results can be looked at anew.
#
# SPDX-License-Identifier: MIT

import math

from .allocators import rivals_of

# A rival is fast on a workload if its time is at most this multiple of the fastest one's.
FAST_TIMES = 1.5


def leanest_peer(row: dict, subject: str, times: float = math.inf) -> str | None:
    """The rival with the lowest peak RSS, of those that take at most `times` times what the fastest
    takes; one that failed a run is none of them, nor is one fast that skips the trim that the
    others' times hold."""
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
    """Peak RSS divided by that of the leanest fast peer."""
    own, peer = row["median"].get(subject), leanest_peer(row, subject, FAST_TIMES)
    if own is None or peer is None:
        return None
    return own["rss_kib"] / row["median"][peer]["rss_kib"]
