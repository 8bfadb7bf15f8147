# The order of runs.
#
# Owns: rounds as the outer loop, the turning order of allocators, the repetition of noisy runs,
# and when to stop. Rounds are outside and the order turns, so that slow drift of the machine and
# the state that one allocator leaves behind fall on all of them alike.
#
# SPDX-License-Identifier: MIT

import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import measuring, progress, workloads
from .allocators import Allocator

ROUNDS_MIN = 3  # a budget never cuts below: fewer say nothing about noise


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
    """One counted run; a noisy one is tried again, and all tries are kept."""
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


def run_all(plan: Plan) -> tuple[list[dict], int]:
    """All samples, and how many rounds there were."""
    samples = []
    start_s = time.monotonic()
    done = 0
    total = plan.rounds * len(plan.rows) * len(plan.allocators)
    with progress.shown(total) as shown:
        for round_number in range(1, plan.rounds + 1):
            spent_s = time.monotonic() - start_s
            if (plan.budget_s is not None and done >= ROUNDS_MIN
                    and spent_s + spent_s / done > plan.budget_s):
                break
            turn = (round_number - 1) % len(plan.allocators)
            for row in plan.rows:
                for allocator in plan.allocators[turn:] + plan.allocators[:turn]:
                    samples += run_one(plan, row, allocator, round_number, shown)
            done += 1
    return samples, done


def run_after_free(plan: Plan) -> list[dict]:
    """What stays resident 1 s and 10 s after the last free, of each program that can tell."""
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
