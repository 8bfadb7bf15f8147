# Tests of the regression gate with made-up samples, for its passes and its failures.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import math
import random
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import gate, intervals, summary
from bench.tests.test_summary import sample

ROWS = ("V", "W", "X", "Y")


def samples(factors: dict[str, float], *, seed: int = 1, noise: float = 0.01, rounds: int = 5,
            rss: dict[str, float] | None = None, only: str | None = None) -> list[dict]:
    """Times by allocator. A factor counts in all rows, or in `only`."""
    draw = random.Random(seed)
    found = []
    for row in ROWS:
        for name, factor in factors.items():
            is_changed = only in (None, row)
            time = factor if is_changed else 1
            memory = (rss or {}).get(name, 1) if is_changed else 1
            found += [sample(row, name, time * math.exp(draw.gauss(0, noise)),
                             round(100_000 * memory * math.exp(draw.gauss(0, noise / 4))))
                      for _ in range(rounds)]
    return found


def without(found: list[dict], row: str, allocator: str) -> list[dict]:
    """As if all runs of it had failed."""
    return [{**one, "outcome": "crash"} if (one["workload"], one["allocator"]) == (row, allocator)
            else one for one in found]


def check(changes: list[gate.Change], failures: list[str] | None = None) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = gate.verdict(changes, failures or [])
    return status, output.getvalue()


def setUpModule():
    patch = mock.patch.object(intervals, "REPLICATES", 200)
    patch.start()
    unittest.addModuleCleanup(patch.stop)


class AgainstABuild(unittest.TestCase):
    def check(self, **requests) -> tuple[int, str]:
        return check(gate.compare_builds(samples(**requests), list(ROWS)))

    def test_the_same_passes(self):
        self.assertEqual(0, self.check(factors={"base": 1, "talus": 1})[0])

    def test_slower_by_a_fifth_fails(self):
        status, output = self.check(factors={"base": 1, "talus": 1.2})
        self.assertEqual(1, status)
        self.assertIn("WORSE   geometric mean: time", output)

    def test_one_slow_row_fails_by_name(self):
        status, output = self.check(factors={"base": 1, "talus": 1.3}, only="W")
        self.assertEqual(1, status)
        self.assertIn("WORSE   W: time", output)
        self.assertNotIn("WORSE   V", output)

    def test_five_percent_slower_passes_and_eight_percent_larger_fails(self):
        self.assertEqual(0, self.check(factors={"base": 1, "talus": 1.05})[0])
        status, output = self.check(factors={"base": 1, "talus": 1}, rss={"talus": 1.08})
        self.assertEqual(1, status)
        self.assertIn("WORSE   V: RSS", output)

    def test_three_percent_larger_passes(self):
        self.assertEqual(0, self.check(factors={"base": 1, "talus": 1}, rss={"talus": 1.03})[0])

    def test_noise_as_large_as_the_change_passes(self):
        self.assertEqual(0, self.check(factors={"base": 1, "talus": 1.12}, noise=0.3)[0])

    def test_better_is_said_and_passes(self):
        status, output = self.check(factors={"base": 1, "talus": 0.7})
        self.assertEqual(0, status)
        self.assertIn("better  V: time x 0.7", output)

    def test_a_row_that_the_base_failed_is_unknown_and_said(self):
        found = without(samples({"base": 1, "talus": 1}), "V", "base")
        status, output = check(gate.compare_builds(found, list(ROWS)))
        self.assertEqual(0, status)
        self.assertIn("unknown V: RSS could not be compared", output)
        self.assertIn("10 figures, 0 worse, 0 better, 2 unknown, 0 failed runs: passed, but 2 are "
                      "unknown", output)

    def test_one_round_is_no_comparison(self):
        self.assertEqual(2, self.check(factors={"base": 1, "talus": 2}, rounds=1)[0])


def compared(now: list[dict], then: list[dict], peers: list[str]) -> tuple[int, str]:
    return check(gate.compare_with_reference(now, summary.cells_of(then), peers))


class AgainstAReference(unittest.TestCase):
    peers = ["glibc", "jemalloc"]

    def check(self, talus: float, machine: float = 1, **requests) -> tuple[int, str]:
        then = samples({"talus": 0.8, "glibc": 1, "jemalloc": 1.1}, seed=2)
        now = samples({"talus": 0.8 * talus * machine, "glibc": machine,
                       "jemalloc": 1.1 * machine}, seed=3, **requests)
        return compared(now, then, self.peers)

    def test_another_machine_passes(self):
        self.assertEqual(0, self.check(1, machine=3.0)[0])

    def test_slower_fails_on_any_machine(self):
        for machine in (0.5, 1, 3):
            self.assertEqual(1, self.check(1.25, machine=machine)[0])

    def test_larger_fails(self):
        status, output = self.check(1, rss={"talus": 1.1})
        self.assertEqual(1, status)
        self.assertIn("RSS", output)

    def test_a_row_without_a_peer_is_unknown(self):
        then = samples({"talus": 1, "glibc": 1})
        now = without(samples({"talus": 1, "glibc": 1}, seed=2), "V", "glibc")
        status, output = compared(now, then, ["glibc"])
        self.assertEqual(0, status)
        self.assertIn("unknown V: time could not be compared", output)
        self.assertIn("passed, but 2 are unknown", output)
        worse = without(samples({"talus": 2, "glibc": 1}), "V", "glibc")
        self.assertEqual(1, compared(worse, then, ["glibc"])[0])

    def test_a_row_is_compared_by_the_peers_that_have_it(self):
        then = samples({"talus": 1, "glibc": 1, "jemalloc": 1})
        now = without(samples({"talus": 2, "glibc": 1, "jemalloc": 1}), "V", "glibc")
        for sides in ((now, then), (without(now, "W", "talus"), without(then, "X", "glibc"))):
            status, output = compared(*sides, self.peers)
            self.assertEqual(1, status)
            for row in ("V", "X"):
                self.assertRegex(output, rf"WORSE   {row}: time x (1\.9|2\.0)")

    def test_a_peer_without_the_trim_is_no_measure_of_time(self):
        then = samples({"talus": 1, "glibc": 1, "jemalloc": 1})
        now = samples({"talus": 1, "glibc": 1, "jemalloc": 0.5})
        for one in now:
            if one["allocator"] == "jemalloc":
                one["result"] |= {"trims": False, "trim_is_timed": True}
        self.assertEqual(0, compared(now, then, self.peers)[0])


class Runs(unittest.TestCase):
    def test_a_crash_of_the_subject_fails_and_one_of_a_peer_does_not(self):
        crashed = [sample("V", "talus", 1, outcome="crash"), sample("V", "base", 1)]
        self.assertEqual(1, len(gate.subject_failures(crashed)))
        self.assertEqual([], gate.subject_failures([sample("V", "base", 1, outcome="crash")]))
        fine = gate.compare_builds(samples({"base": 1, "talus": 1}), list(ROWS))
        self.assertEqual(1, check(fine, ["V: crash: "])[0])

    def test_the_newest_usable_reference_is_taken(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertIsNone(gate.newest_reference(folder))
            for file_name, names in (("2026-01-01.json", ("talus", "glibc")),
                                     ("2026-02-01.json", ("talus", "jemalloc")),
                                     ("2026-03-01.json", ("glibc", "jemalloc"))):
                (folder / file_name).write_text(json.dumps(
                    {"allocators": [{"name": one} for one in names]}))
            self.assertEqual("2026-02-01.json", gate.newest_reference(folder).name)


if __name__ == "__main__":
    unittest.main()
