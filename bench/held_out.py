# A subject beside the best peer, without the luck of the best.
#
# The least of eight medians is too low by chance: an allocator that is as good as each of them
# would be shown behind "the best". So for each round the best peer is the one with the least
# median of the other rounds, and what counts is the subject's time in this round divided by that
# peer's. The choice and the comparison share no sample (cross-validation).
# It knows neither processes nor printing.
#
# SPDX-License-Identifier: MIT

import math
import statistics

ROUNDS_MIN = 3

Times = dict[str, dict[int, float]]  # by allocator, by round


def times_by_round(samples: list[dict]) -> dict[str, Times]:
    """What was measured, by workload; of several tries of a run the last. Noisy runs
    count: a round needs all that ran in it."""
    found: dict[str, Times] = {}
    for sample in samples:
        if sample["outcome"] == "ok" and "round" in sample:
            times = found.setdefault(sample["workload"], {}).setdefault(sample["allocator"], {})
            times[sample["round"]] = sample["time"]
    return found


def best_without(times: Times, peers: list[str], left_out: int) -> str | None:
    """The peer with the least median of the other rounds."""
    medians = {peer: statistics.median(others) for peer in peers
               if (others := [time for number, time in times.get(peer, {}).items()
                              if number != left_out])}
    return min(medians, key=medians.get, default=None)


def ratio_to_best(times: Times, subject: str, peers: list[str]) -> float | None:
    """The median of the rounds' ratios; None with fewer than three rounds."""
    ratios = []
    for number, time in times.get(subject, {}).items():
        best = best_without(times, peers, number)
        if best is not None and number in times[best]:
            ratios.append(math.log(time / times[best][number]))
    return math.exp(statistics.median(ratios)) if len(ratios) >= ROUNDS_MIN else None
