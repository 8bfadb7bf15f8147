# The pace of the machine around each run, and which runs it helped or harmed.
#
# Owns: a yardstick, a fixed piece of work that is timed before and after each run, and the verdict
# on a run beside the middle one. Clocks that change, a busy neighbour of a virtual machine and
# memory in another state change the yardstick as they change the run. The kernel's count of other
# programs (measuring.py) shows none of them. A run that read from the disk was harmed too.
# Invariant: a verdict is told, and changes no figure.
#
# SPDX-License-Identifier: MIT

import hashlib
import statistics
import time

TRIES = 15
HASHED = bytes(range(256)) * 1024
COPIED = bytes(4 << 20)
TARGET = bytearray(len(COPIED))
UNUSUAL = 0.10     # a yardstick this share above or below the middle one
RUNS_MIN = 5       # fewer have no middle


def best_of(work) -> float:
    """The least time of a few tries: a preempted try does not count."""
    def timed() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    return min(timed() for _ in range(TRIES))


def yardstick_s() -> float:
    """Seconds of a fixed work of the processor and of memory. All tries take about 10 ms."""
    def copy() -> None:
        TARGET[:] = COPIED
    return best_of(lambda: hashlib.sha256(HASHED).digest()) + best_of(copy)


def verdict(sample: dict, middle_s: float) -> str | None:
    """What the machine did to a run: a sentence without its end, or None."""
    share = sample["yardstick_s"] / middle_s - 1
    if share > UNUSUAL:
        return f"the machine was {share:.0%} slower"
    if share < -UNUSUAL:
        return f"the machine was {-share:.0%} faster"
    if (sample.get("measured") or {}).get("major_faults"):
        return "it read from the disk"
    return None


def unusual(samples: list[dict]) -> list[tuple[dict, str]]:
    """The runs that the machine helped or harmed, and how. Older runs have no yardstick."""
    told = [sample for sample in samples if sample.get("yardstick_s")]
    if len(told) < RUNS_MIN:
        return []
    middle_s = statistics.median(sample["yardstick_s"] for sample in told)
    return [(sample, words) for sample in told if (words := verdict(sample, middle_s))]
