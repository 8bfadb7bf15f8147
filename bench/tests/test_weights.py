# Tests of how much each workload counts: real programs together half, once there are enough.
#
# SPDX-License-Identifier: MIT

import unittest

from bench import kept, readme, summary, weights, workloads
from bench.intervals import Estimate

SYNTHETIC = ["B1/500", "B1/500@4", "B9/64", "Cm/steady"]
REAL = ["B21/lists", *(f"P/program{number}" for number in range(9))]


class Weights(unittest.TestCase):
    def test_real_programs_together_count_half(self):
        found = weights.of(SYNTHETIC + REAL)
        self.assertAlmostEqual(0.5, sum(found[name] for name in REAL))
        self.assertAlmostEqual(1, sum(found.values()))
        self.assertEqual({0.125}, {found[name] for name in SYNTHETIC})

    def test_a_handful_of_programs_counts_as_other_workloads_do(self):
        self.assertEqual({1 / 13}, set(weights.of(SYNTHETIC + REAL[1:]).values()))
        self.assertEqual({0.1}, set(weights.of(REAL).values()))
        self.assertEqual({}, weights.of([]))

    def test_means_and_their_intervals_use_them(self):
        ratios = {name: 2.0 if name in REAL else 0.5 for name in SYNTHETIC + REAL}
        self.assertAlmostEqual(1, summary.geometric_mean(ratios))
        self.assertAlmostEqual(0.5, summary.geometric_mean(
            {name: None if name in REAL else value for name, value in ratios.items()}))
        low, high = summary.mean_interval(
            {name: Estimate(0.7 if name in REAL else -0.7, 1e-6, 100.0, 0.0) for name in ratios})
        self.assertAlmostEqual(1, (low * high) ** 0.5)

    def test_the_kept_run_of_the_pages_is_as_it_was(self):
        names = kept.read(kept.FOLDER / readme.SHOWN).workloads
        self.assertEqual(1, len(set(weights.of(names).values())))

    def test_the_set_has_twenty_programs(self):
        names = [row.name for row in workloads.ROWS if weights.is_real(row.name)]
        self.assertGreaterEqual(len({name.removesuffix("/keys") for name in names}), 20)
        self.assertFalse(any(weights.is_real(row.name) for row in workloads.WORKLOADS))


if __name__ == "__main__":
    unittest.main()
