# Tests of the comparison with the best peer, with made-up times.
#
# SPDX-License-Identifier: MIT

import random
import statistics
import unittest

from bench import held_out, summary
from bench.allocators import PEERS
from bench.tests.test_summary import sample

PEER_NAMES = list(PEERS)[:8]


def in_round(allocator: str, number: int, time: float, outcome: str = "ok") -> dict:
    return {**sample("W", allocator, time, outcome=outcome), "round": number}


class HeldOut(unittest.TestCase):
    def test_equals_are_equal_though_the_least_of_many_medians_is_not(self):
        chance = random.Random(1)
        fair, lucky = {}, {}
        for run in range(300):
            times = {name: {number: chance.lognormvariate(0, 0.3) for number in range(5)}
                     for name in ["talus", *PEER_NAMES]}
            fair[f"W{run}"] = held_out.ratio_to_best(times, "talus", PEER_NAMES)
            lucky[f"W{run}"] = (statistics.median(times["talus"].values()) /
                         min(statistics.median(times[peer].values()) for peer in PEER_NAMES))
        self.assertAlmostEqual(1, summary.geometric_mean(fair), delta=0.05)
        self.assertGreater(summary.geometric_mean(lucky), 1.2)

    def test_a_peer_that_is_better_in_each_round_is_found(self):
        times = {"talus": {0: 2, 1: 4, 2: 8}, "glibc": {0: 1, 1: 2, 2: 4},
                 "jemalloc": {0: 3, 1: 6, 2: 12}}
        self.assertAlmostEqual(2, held_out.ratio_to_best(times, "talus", ["glibc", "jemalloc"]))

    def test_a_single_lucky_run_does_not_choose_itself(self):
        times = {"talus": {0: 2, 1: 2, 2: 2}, "glibc": {0: 1, 1: 9, 2: 9},
                 "jemalloc": {0: 2, 1: 2, 2: 2}}
        self.assertAlmostEqual(1, held_out.ratio_to_best(times, "talus", ["glibc", "jemalloc"]))

    def test_needs_three_rounds_and_a_peer(self):
        times = {"talus": {0: 1, 1: 1}, "glibc": {0: 1, 1: 1}}
        self.assertIsNone(held_out.ratio_to_best(times, "talus", ["glibc"]))
        self.assertIsNone(held_out.ratio_to_best({"talus": {0: 1, 1: 1, 2: 1}}, "talus", ["glibc"]))

    def test_failed_runs_do_not_count(self):
        samples = [in_round(name, number, time) for number in range(3)
                   for name, time in (("talus", 3), ("glibc", 2))]
        samples.append(in_round("jemalloc", 0, 0.1, outcome="crash"))
        figures = summary.summarize(samples, ["W"], ["talus", "glibc", "jemalloc"], "talus")
        self.assertAlmostEqual(1.5, figures["rows"][0]["time_ratio_to_best_held_out"])
        self.assertAlmostEqual(1.5, figures["geometric_mean_time_to_best_held_out"])


if __name__ == "__main__":
    unittest.main()
