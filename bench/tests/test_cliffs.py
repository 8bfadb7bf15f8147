# Tests of the search for patterns on which Talus is behind: what is a finding, of made-up samples,
# and a small search.
#
# The search needs TALUS_BENCH_PROGRAMS, and the library beside the benchmarks' folder. No test
# depends on how fast the machine is.
#
# SPDX-License-Identifier: MIT

import argparse
import contextlib
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from bench import cliffs
from bench.tests.test_programs import programs


def sample(seed: int, allocator: str, time_s: float, mib: float = 10, outcome: str = "ok") -> dict:
    return {"seed": seed, "allocator": allocator, "outcome": outcome, "rss_kib": mib * 1024,
            "measured": {"user_s": time_s, "sys_s": 0.0},
            "result": {"benchmark": f"Cr batch, one size of {seed}", "threads": 2}}


class Findings(unittest.TestCase):
    def finding(self, *samples: dict) -> bool:
        return cliffs.is_finding(cliffs.figures_of(samples), "talus")

    def test_far_behind_the_best_in_time(self):
        self.assertTrue(self.finding(sample(1, "talus", 0.30), sample(1, "mimalloc2", 0.20),
                                     sample(1, "glibc", 0.90)))
        self.assertFalse(self.finding(sample(1, "talus", 0.25), sample(1, "mimalloc2", 0.20)))

    def test_short_runs_are_no_findings(self):
        self.assertFalse(self.finding(sample(1, "talus", 0.010), sample(1, "glibc", 0.002)))

    def test_memory_beside_the_leanest_of_the_fast(self):
        fat = sample(1, "talus", 0.20, mib=30)
        self.assertTrue(self.finding(fat, sample(1, "glibc", 0.22, mib=20)))
        self.assertFalse(self.finding(fat, sample(1, "mimalloc2", 0.20, mib=29),
                                      sample(1, "glibc", 0.90, mib=10)))

    def test_the_least_time_and_the_median_peak_count(self):
        figures = cliffs.figures_of([sample(1, "talus", 0.3, 10), sample(1, "talus", 0.2, 30),
                                     sample(1, "talus", 0.4, 20)])
        self.assertEqual(figures, {"talus": cliffs.Figures(0.2, 20 * 1024)})

    def test_an_allocator_that_failed_is_left_out(self):
        self.assertFalse(self.finding(sample(1, "talus", 0.3), sample(1, "glibc", 0.1),
                                      sample(1, "glibc", 0.1, outcome="wrong data")))

    def test_tables(self):
        groups = cliffs.by_seed([sample(7, "talus", 0.6, 20), sample(7, "glibc", 0.2, 10),
                                 sample(8, "talus", 0.2), sample(8, "glibc", 0.2)])
        found = cliffs.findings_table(groups, "talus").splitlines()
        self.assertEqual(len(found), 3, found)
        self.assertEqual(found[2], "| 7 | batch, one size of 7 | 2 | 0.600 | 3.00 (glibc) | 20.0 "
                                   "| 2.00 (glibc) |")
        summary = cliffs.summary_table(groups, "talus").splitlines()
        self.assertEqual(summary[2:], ["| talus | 1.00 | 1.00 | 1 | 1 |",
                                       "| glibc | 0.59 | 0.71 | 0 | 0 |"])

    def test_seeds(self):
        self.assertEqual(cliffs.seeds_of("3,1-4"), [3, 1, 2, 4])
        for text in ("", "0", "-3", "a", "5-3"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=text):
                cliffs.seeds_of(text)


class Runs(unittest.TestCase):
    def test_patterns_of_every_order_run_and_repeat(self):
        seen = set()
        for seed in range(1, 61):
            words = [programs() / cliffs.PROGRAM, "--seed", str(seed), "--scale", "1e-4"]
            first, again = (json.loads(subprocess.run(words, check=True, capture_output=True,
                                                      text=True).stdout) for _ in range(2))
            self.assertEqual((first["benchmark"], first["ops"]), (again["benchmark"], again["ops"]))
            seen.add(first["benchmark"].removeprefix("Cr ").split(",")[0])
        self.assertEqual(len(seen), 12, sorted(seen))

    def test_a_search(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "found.json"
            with contextlib.redirect_stdout(io.StringIO()) as printed, \
                    contextlib.redirect_stderr(io.StringIO()):
                status = cliffs.main(["--alloc", "talus,glibc", "--seeds", "2-3", "--repeat", "1",
                                      "--scale", "0.001", "--warm", "1", "--max-foreign", "99",
                                      "--build", str(programs().parent), "--out", str(out)])
            self.assertEqual(status, 0)
            self.assertIn("| glibc |", printed.getvalue())
            fields = json.loads(out.read_text())
            self.assertEqual(len(fields["samples"]), 4)
            self.assertEqual(fields["settings"]["warm_mib"], 1)


if __name__ == "__main__":
    unittest.main()
