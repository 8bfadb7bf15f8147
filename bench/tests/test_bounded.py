# Tests of python3 -m bench.bounded: its figures from samples, and a small run of all rows.
#
# The run needs TALUS_BENCH_PROGRAMS, and the library beside the benchmarks' folder.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from bench import bounded
from bench.tests.test_programs import programs


def sample(name: str, memory: str, threads: int, figure: float, is_noisy: bool = False) -> dict:
    result = ({"thread_ops_per_s_mean": figure} if name == "B16" else {"figure": figure})
    return {"bench": name, "memory": memory, "threads": threads, "outcome": "ok",
            "is_noisy": is_noisy, "result": result}


class Figures(unittest.TestCase):
    def test_rates_are_of_all_threads(self):
        self.assertEqual(3e6, bounded.rate(sample("B16", "heap", 3, 1e6)))
        self.assertEqual(2e8, bounded.rate(sample("B17", "heap", 2, 20)))

    def test_medians_are_of_clean_runs_if_there_are(self):
        samples = [sample("B16", "cache", 1, 100), sample("B16", "cache", 1, 300),
                   sample("B16", "cache", 1, 200), sample("B16", "cache", 1, 1, True),
                   sample("B16", "heap", 1, 7, True),
                   {**sample("B16", "heap", 2, 7), "outcome": "crash"}]
        self.assertEqual({("B16", 1, "cache"): 200, ("B16", 1, "heap"): 7},
                         bounded.median_rates(samples))

    def test_a_falling_curve_is_found(self):
        rates = {("B16", 1, "heap"): 10, ("B16", 2, "heap"): 11,
                 ("B16", 1, "cache"): 10, ("B16", 2, "cache"): 9}
        found = bounded.falling(rates, cores=2)
        self.assertEqual(1, len(found))
        self.assertIn("B16/cache falls", found[0])
        self.assertEqual([], bounded.falling(rates, cores=1))


class Run(unittest.TestCase):
    def test_every_memory_serves_both(self):
        build = programs().parent
        if not (build / "libtalus.so").is_file():
            self.skipTest("the library is not built here")
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            out = Path(folder) / "out.json"
            bounded.main(["--build", str(build), "--threads", "1,2", "--repeat", "1", "--scale",
                          "0.01", "--out", str(out)])
            samples = json.loads(out.read_text())["samples"]
        self.assertEqual(12, len(samples))
        for one in samples:
            self.assertEqual("ok", one["outcome"], one.get("reason"))
            hits = one["result"].get("bounded_hits")
            if one["memory"] == "heap":
                self.assertIsNone(hits)
            else:
                self.assertGreater(hits, one["result"]["ops"] / 3)
                self.assertEqual(0, one["result"]["bounded_routed"])


if __name__ == "__main__":
    unittest.main()
