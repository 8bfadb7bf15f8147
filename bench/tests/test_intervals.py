# Tests of the intervals with made-up noise: their coverage and their resolution.
#
# All noise is seeded: a test here passes always or never.
#
# SPDX-License-Identifier: MIT

import math
import random
import statistics
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from bench import allocators, intervals, self_check, summary
from bench.tests.test_summary import sample

FAMILIES = 20


def noisy_samples(draw: random.Random, factors: dict[str, float], rows: int, rounds: int,
                  noise: float) -> list[dict]:
    """Rows whose true times are 1, 2, 3 ... times the allocator's factor."""
    return [sample(f"W{row}", name, row * factor * math.exp(draw.gauss(0, noise)),
                   round(row * 20_000 * factor * math.exp(draw.gauss(0, noise / 4))))
            for row in range(1, rows + 1) for name, factor in factors.items()
            for _ in range(rounds)]


def figures(samples: list[dict], subject: str = "a") -> dict:
    names = list(dict.fromkeys(one["allocator"] for one in samples))
    return summary.summarize(samples, list(dict.fromkeys(one["workload"] for one in samples)),
                             names, subject)


class Intervals(unittest.TestCase):
    def test_student_t_is_that_of_the_tables(self):
        for freedom, expected in ((1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042)):
            self.assertAlmostEqual(expected, intervals.student_t(0.95, freedom), places=3)

    def test_coverage_of_single_intervals_is_95_percent_or_more(self):
        draw = random.Random(3)
        hits = 0
        with mock.patch.object(intervals, "REPLICATES", 100):
            for turn in range(400):
                values = [math.exp(draw.gauss(0, 0.05)) for _ in range(3 + turn % 5)]
                low, high = intervals.of_samples(values, 0.0, str(turn)).interval()
                hits += low <= 1 <= high
        self.assertGreaterEqual(hits / 400, 0.94)

    def test_more_samples_make_narrower_intervals(self):
        draw = random.Random(4)
        widths = []
        for count in (3, 10, 40):
            found = []
            for turn in range(10):
                values = [math.exp(draw.gauss(0, 0.05)) for _ in range(count)]
                low, high = intervals.of_samples(values, 0.0, f"{count}{turn}").interval()
                found.append(high / low)
            widths.append(statistics.median(found))
        self.assertEqual(sorted(widths, reverse=True), widths)
        self.assertLess(widths[2], 1.06)

    def test_one_sample_has_no_interval_and_equal_samples_have_the_floor(self):
        self.assertIsNone(intervals.of_samples([2.0], 0.01, "").interval())
        low, high = intervals.of_samples([2.0, 2.0, 2.0], 0.01, "").interval()
        self.assertAlmostEqual(math.exp(0.02), high / low)
        self.assertIsNone(intervals.of_samples([], 0.01, ""))

    def test_a_lone_clean_sample_has_the_spread_of_the_noisy_ones(self):
        samples = [sample("W", "a", 1.0), *(sample("W", "a", time, is_noisy=True)
                                            for time in (1.5, 2.0, 3.0)), sample("W", "b", 1.0)]
        row = figures(samples)["rows"][0]
        self.assertEqual(1.0, row["median"]["a"]["time"])
        low, high = row["median"]["a"]["time_interval"]
        self.assertTrue(low < 0.5 and high > 2, (low, high))
        self.assertIsNone(row["median"]["b"]["time_interval"])

    def test_an_interval_without_ends_is_still_made_of_numbers(self):
        # Two rounds that differ by a factor of a thousand, at the confidence of a whole table.
        wild = intervals.Estimate(log=0.0, variance=12.0, freedom=1.0, floor=0.01)
        low, high = wild.interval(1 - 1e-5)
        self.assertTrue(0 < low < 1e-20 and 1e20 < high < float("inf"))

    def test_same_samples_give_the_same_interval(self):
        first, second = (intervals.of_samples([1.0, 1.1, 1.3], 0, "x") for _ in range(2))
        self.assertEqual(first, second)

    def test_a_mean_over_rows_is_known_better_than_a_row(self):
        found = figures(noisy_samples(random.Random(5), {"a": 1, "b": 1.2}, 16, 5, 0.03))
        mean = found["geometric_mean_time_interval"]["b"]
        rows = [row["time_ratio_interval"]["b"] for row in found["rows"]]
        self.assertLess(mean[1] / mean[0], min(high / low for low, high in rows))
        self.assertTrue(mean[0] < 1 / 1.2 < mean[1], mean)


class SelfCheck(unittest.TestCase):
    """The findings that --self must make, and those it must not."""

    def violations(self, factor: float, seed: int, rounds: int = 7) -> list[str]:
        with mock.patch.object(intervals, "REPLICATES", 100):
            return self_check.violations(figures(noisy_samples(
                random.Random(seed), {"a": 1, "b": factor}, 12, rounds, 0.03)))

    def test_equal_libraries_measure_as_equal(self):
        failed = sum(bool(self.violations(1, seed)) for seed in range(FAMILIES))
        self.assertLessEqual(failed, 1)  # 95 % of whole tables must hold

    def test_a_slowed_copy_is_found(self):
        found = [self.violations(1.3, seed) for seed in range(FAMILIES)]
        self.assertTrue(all(found))
        self.assertGreater(statistics.mean(map(len, found)), 12)  # of 24 figures

    def test_one_round_proves_nothing(self):
        self.assertEqual(24, len(self.violations(1, 1, rounds=1)))

    def test_twins(self):
        glibc = allocators.available(Path("none"), None)["glibc"]
        self.assertEqual(["glibc", "glibc-again"],
                         [one.name for one in self_check.twins([glibc])])
        other = replace(glibc, name="other")
        self.assertEqual([glibc, other], self_check.twins([glibc, other]))


if __name__ == "__main__":
    unittest.main()
