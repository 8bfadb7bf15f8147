# Tests of the times of single calls: the histogram on known numbers, the figures of made-up
# samples, the page and its picture, and small runs of every load.
#
# The runs need TALUS_BENCH_PROGRAMS, and the library beside the benchmarks' folder. No test depends
# on how fast the machine is: the longest recurring call drops the machine's own delays.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import math
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from bench import tail, tail_chart
from bench.tests.test_programs import programs

SHARES = (0.5, 0.99, 0.999, 0.9999, 1.0)
PART = 1 / 32
FRAME_LIMIT_NS = 5000


def sample(load: str, allocator: str, p9999: float = 1000, is_noisy: bool = False,
           **changes) -> dict:
    result = {"ops": 1000, "relative_time": p9999 / 1e6}
    for kind in ("malloc", "free", "machine"):
        result |= {f"{kind}_p50_ns": 20, f"{kind}_p99_ns": 40, f"{kind}_p999_ns": 300,
                   f"{kind}_p9999_ns": p9999}
        for cause in tail.CAUSES:
            result |= {f"{kind}_worst_{cause}_ns": 2000, f"{kind}_above_5us_{cause}": 0,
                       f"{kind}_above_100us_{cause}": 0}
    if load == "frame":
        result["worst_repeated_ns"] = 500
    return {"load": load, "allocator": allocator, "outcome": "ok", "is_noisy": is_noisy,
            "result": result | changes}


class Histogram(unittest.TestCase):
    def quantiles(self, values: list[int], halves: int = 1) -> list[int]:
        done = subprocess.run([programs() / "histogram_check", str(halves)], check=True, text=True,
                              input="\n".join(map(str, values)), capture_output=True)
        return [int(word) for word in done.stdout.split()]

    def check(self, values: list[int], halves: int = 1) -> None:
        *found, largest, total = self.quantiles(values, halves)
        self.assertEqual((max(values), len(values)), (largest, total))
        ordered = sorted(values)
        for share, one in zip(SHARES, found):
            exact = ordered[max(0, math.ceil(share * len(ordered)) - 1)]
            self.assertGreaterEqual(one, exact, share)
            self.assertLessEqual(one, max(exact * (1 + PART), exact + 1), share)

    def test_quantiles_of_known_numbers(self):
        draws = random.Random(46)
        self.check(list(range(1, 100_001)))
        self.check([round(2 ** draws.uniform(0, 62)) for _ in range(50_000)])
        self.check([7])
        self.check([20] * 99_999 + [3_000_000_000])
        self.check([0, 1, 31, 32, 33, 63, 64, 65, 2**40 - 1, 2**40, 2**63])

    def test_sums_of_two(self):
        self.check(list(range(3, 60_000, 7)), halves=2)

    def test_nothing(self):
        self.assertEqual([0] * 7, self.quantiles([]))


class Figures(unittest.TestCase):
    def test_medians_worst_and_sums_are_of_clean_runs(self):
        samples = [sample("steady", "talus", p9999, malloc_worst_faulted_ns=worst,
                          free_above_100us_waited=1)
                   for p9999, worst in ((100, 5000), (300, 9000), (200, 7000))]
        samples += [sample("steady", "talus", 1, True, malloc_worst_faulted_ns=1e9),
                    {**sample("steady", "talus"), "outcome": "crash"}]
        one = tail.all_figures(samples)["steady"]["talus"]
        self.assertEqual((200, 9000, 3, False),
                         (one.shares["free", "p9999"], one.worst_of("malloc"),
                          one.above["free", "waited"], one.is_noisy))
        self.assertTrue(tail.figures_of([sample("steady", "talus", 1, True)]).is_noisy)

    def test_a_preempted_call_is_not_the_allocators_worst(self):
        one = tail.figures_of([sample("steady", "talus", malloc_worst_preempted_ns=1e9)])
        self.assertEqual(2000, one.worst_of("malloc"))

    def test_the_best_rival_is_another_allocator(self):
        found = tail.all_figures([sample("frame", "glibc", 800), sample("frame", "talus", 400),
                                  sample("frame", tail.BOUNDED, 10)])["frame"]
        self.assertIn("all calls 0.50 (glibc), malloc 0.50 (glibc), free 0.50 (glibc).",
                      tail.words_on("frame", found))
        self.assertEqual("", tail.beside_the_best({"glibc": found["glibc"]}))

    def test_the_page_has_a_table_for_each_load_and_says_what_is_provisional(self):
        samples = [sample(load, name, is_noisy=load == "churn")
                   for load in tail.LOADS for name in ("glibc", "talus")]
        fields = {"machine": {"cores": 2, "processor": "P"}, "day": "2026-11-28",
                  "settings": {"threads": 2, "scale": 1, "repeat": 5}}
        text = tail.block_of(fields, tail.all_figures(samples))
        self.assertEqual(len(tail.LOADS), text.count("\n### "))
        self.assertIn("| talus~ |", text)
        self.assertIn("Provisional", text)
        calm = [one for one in samples if not one["is_noisy"]]
        self.assertNotIn("Provisional", tail.block_of(fields, tail.all_figures(calm)))

    def test_the_picture_has_a_curve_for_each_allocator_and_panel(self):
        found = tail.all_figures([sample(load, name) for load in tail.LOADS
                                  for name in ("glibc", "talus")])
        drawn = ElementTree.fromstring(tail_chart.draw(found, tail.LOADS))
        curves = [one for one in drawn.iter() if (one.get("class") or "").startswith("curve")]
        self.assertEqual(len(tail.LOADS) * 2 * 2, len(curves))


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = programs().parent
        if not (build / "libtalus.so").is_file():
            raise unittest.SkipTest("the library is not built here")
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stdout(io.StringIO()) as shown:
            out = Path(folder) / "out.json"
            cls.status = tail.main(["--build", str(build), "--alloc", "glibc,talus", "--threads",
                                    "1", "--repeat", "1", "--scale", "0.1", "--out", str(out)])
            cls.samples = json.loads(out.read_text())["samples"]
        cls.shown = shown.getvalue()

    def test_every_load_gives_figures(self):
        self.assertEqual(0, self.status)
        self.assertEqual(2 * len(tail.LOADS) + 1, len(self.samples))
        for one in self.samples:
            result = one["result"]
            for kind in tail.KINDS:
                shares = [result[f"{kind}_{share}_ns"] for share in tail.SHARES]
                self.assertEqual(sorted(shares), shares)
                for cause in tail.CAUSES:
                    self.assertGreaterEqual(result[f"{kind}_above_5us_{cause}"],
                                            result[f"{kind}_above_100us_{cause}"])
        for load in tail.LOADS:
            self.assertIn(f"`Cm/{load}`", self.shown)

    def test_page_faults_are_told(self):
        # A burst's first blocks are on pages that the process never had.
        for one in self.samples:
            if one["load"] == "burst" and one["allocator"] == "glibc":
                self.assertGreater(one["result"]["malloc_worst_faulted_ns"], 0)

    def test_no_call_on_a_bounded_instance_takes_5_us_again_and_again(self):
        one = next(one["result"] for one in self.samples if one["allocator"] == tail.BOUNDED)
        self.assertLess(one["worst_repeated_ns"], FRAME_LIMIT_NS)
        self.assertEqual((0, 0, 0), (one["bounded_misses"], one["bounded_overflows"],
                                     one["bounded_routed"]))


if __name__ == "__main__":
    unittest.main()
