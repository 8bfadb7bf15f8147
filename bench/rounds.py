# The order of runs.
#
# Owns: rounds as the outer loop, the order of allocators in each, the repetition of noisy runs, and
# the end. Rounds are the outer loop and the order changes. So slow drift of the machine, and the
# state that one allocator leaves behind, affect all of them alike.
# The orders: over the rounds of a row all allocators have the same sum of places, or sums that
# differ by one where equal sums do not exist. A list that rotates by one place a round does so only
# with as many rounds as allocators. Of nine allocators in five rounds one had the mean place 2
# (from 0) and another 6, and each always followed the same other one. So rounds come in pairs, an
# order and its reverse. If their number is odd, the first three belong together (three_orders).
# Each row and each pair starts from an order drawn from a fixed seed.
#
# SPDX-License-Identifier: MIT

import random
import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import measuring, progress, workloads
from .allocators import Allocator

ROUNDS_MIN = 3  # a budget never cuts below: fewer show nothing about noise
SEED = 20261126


@dataclass(frozen=True)
class Plan:
    programs: Path
    rows: list
    allocators: list[Allocator]
    rounds: int
    threads: int
    scale: float
    limits: measuring.Limits
    retries: int
    budget_s: float | None = None   # no round begins that would end later


def line_of(sample: dict) -> str:
    time_text = f"{sample['time']:.3f}" if "time" in sample else sample["outcome"]
    rss = f"{sample['rss_kib'] / 1024:.1f} MiB" if "rss_kib" in sample else ""
    noise = f" noisy: {sample['foreign_cores']} foreign cores" if sample["is_noisy"] else ""
    return (f"round {sample['round']} {sample['workload']:12} {sample['allocator']:10} "
            f"{time_text:>8} {rss:>12}{noise}")


def run_one(plan: Plan, row, allocator: Allocator, round_number: int, shown) -> list[dict]:
    """One counted run. A noisy run is repeated, and all tries are kept."""
    tries = []
    while True:
        sample = measuring.run_once(plan.programs, row, allocator, plan.threads, plan.scale,
                                    plan.limits)
        sample["round"] = round_number
        tries.append(sample)
        is_done = (not sample["is_noisy"] or sample["outcome"] != "ok"
                   or len(tries) > plan.retries)
        if is_done or isinstance(shown, progress.Lines):
            shown.step(line_of(sample), is_notable=sample["outcome"] != "ok")
        if is_done:
            return tries


def three_orders(drawn: list) -> list[list]:
    """Three orders in which the sums of an item's places are equal, of an even number all but one.

    The item at 2 j of the first is j places before the middle of the second and before the end of
    the third. For the item at 2 j + 1 middle and end change places. So j falls out of the sum.
    """
    count = len(drawn)
    second, third = list(drawn), list(drawn)
    for place, item in enumerate(drawn):
        back, is_odd = divmod(place, 2)
        second[(count - 1 if is_odd else (count - 1) // 2) - back] = item
        third[(count // 2 - 1 if is_odd else count - 1) - back] = item
    return [list(drawn), second, third]


def orders(items: list, rounds: int, key: str) -> list[list]:
    """The order of each round. `key` separates rows, so that no allocator always follows the same
    one."""
    draw = random.Random(f"{SEED}/{key}")
    found: list[list] = []
    while len(found) < rounds:
        drawn = draw.sample(items, len(items))
        is_odd = (rounds - len(found)) % 2 == 1 and rounds > 1
        found += three_orders(drawn) if is_odd else [drawn, drawn[::-1]]
    return found[:rounds]


def run_all(plan: Plan) -> tuple[list[dict], int]:
    """All samples, and the number of rounds."""
    samples = []
    start_s = time.monotonic()
    done = 0
    total = plan.rounds * len(plan.rows) * len(plan.allocators)
    order = {row.name: orders(plan.allocators, plan.rounds, row.name) for row in plan.rows}
    with progress.shown(total) as shown:
        for round_number in range(1, plan.rounds + 1):
            spent_s = time.monotonic() - start_s
            if (plan.budget_s is not None and done >= ROUNDS_MIN
                    and spent_s + spent_s / done > plan.budget_s):
                break
            for row in plan.rows:
                for allocator in order[row.name][round_number - 1]:
                    samples += run_one(plan, row, allocator, round_number, shown)
            done += 1
    return samples, done


def run_after_free(plan: Plan) -> list[dict]:
    """The resident memory 1 s and 10 s after the last free, of each program that reports it."""
    rows = [replace(row, arguments=(*row.arguments, "--after-free", "1"))
            for row in plan.rows if isinstance(row, workloads.Workload)]
    found = []
    with progress.shown(len(rows) * len(plan.allocators)) as shown:
        for row in rows:
            for allocator in plan.allocators:
                sample = measuring.run_once(plan.programs, row, allocator, plan.threads,
                                            plan.scale, plan.limits)
                sample["round"] = 0
                shown.step(line_of(sample), is_notable=sample["outcome"] != "ok")
                result = sample["result"] if sample["outcome"] == "ok" else {}
                found.append({"workload": row.name, "allocator": allocator.name,
                              "outcome": sample["outcome"], "rss_kib": sample.get("rss_kib"),
                              **{name: result.get(name) for name in (
                                  "rss_end_kib", "rss_after_1s_kib", "rss_after_10s_kib")}})
    return found
