# The subject beside the best peer, without the luck of the best.
#
# The least of eight medians is too low by chance, so an allocator as good as each of the eight
# would seem to be behind "the best". So the best peer of each round has the least median of the
# other rounds. The subject's time in this round is divided by that peer's time. The choice and the
# comparison share no sample (cross-validation).
# It knows neither processes nor printing.
#
# SPDX-License-Identifier: MIT

import math
import statistics

ROUNDS_MIN = 3

Times = dict[str, dict[int, float]]  # by allocator, by round


def times_by_round(samples: list[dict]) -> dict[str, Times]:
    """The times by workload. Of several tries of a run the last one counts. Noisy runs count: a
    round needs all its runs."""
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
    """The median of the rounds' ratios; None: fewer than three rounds."""
    ratios = []
    for number, time in times.get(subject, {}).items():
        best = best_without(times, peers, number)
        if best is not None and number in times[best]:
            ratios.append(math.log(time / times[best][number]))
    return math.exp(statistics.median(ratios)) if len(ratios) >= ROUNDS_MIN else None
