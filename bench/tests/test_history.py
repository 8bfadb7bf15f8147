# Tests of the page of kept runs: with made-up runs, and that the committed page is up to date.
#
# SPDX-License-Identifier: MIT

import unittest
from pathlib import Path

from bench import history

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "runs.md"


def run(started: str, *, rows: int = history.MANY_ROWS, scale: float = 1, threads: int = 2) -> dict:
    cells = {"talus": {"time": 2.0, "rss_kib": 2048, "failures": 0},
             "a": {"time": 1.0, "rss_kib": 4096, "failures": 0},
             "b": {"time": 4.0, "rss_kib": 1024, "failures": 0},
             "lucky": {"time": 0.5, "rss_kib": 512, "failures": 1}}
    row = {"median": cells, "time_ratio_to_best": 2.0, "best_peer": "a",
           "rss_ratio_to_leanest": 2.0}
    shown = [{**row, "workload": f"W{i}"} for i in range(rows)]
    return {"started": started, "commit": {"id": "0123456789"},
            "machine": {"processor": "Some(R) One", "cores": 2},
            "settings": {"scale": scale, "threads": threads, "repeat": 5},
            "summary": {"subject": "talus", "rows": shown,
                        "geometric_mean_time": {"a": 2.0, "b": 0.5},
                        "geometric_mean_rss": {"a": 0.5, "b": 2.0},
                        "geometric_mean_time_to_best": 2.0,
                        "geometric_mean_time_to_best_interval": [1.5, 2.5]}}


class Page(unittest.TestCase):
    def test_a_kind_is_shown_as_it_was_measured_last(self):
        runs = {"old": run("1"), "new": run("2"), "part": run("3", scale=0.2),
                "some": run("4", rows=3), "threads": run("5", threads=16)}
        self.assertEqual(["new", "part", "threads"],
                         [history.last_of(runs, kind) for kind in history.KINDS])
        self.assertIsNone(history.last_of({"some": runs["some"]}, "The whole work"))

    def test_a_row_names_the_fastest_and_the_leanest(self):
        shown = history.rows_of(run("1", rows=1)["summary"])
        self.assertIn("| W0 | 2.000 | 2.00 | a | - | 2.0 | 2.00 | b | - | 0.50 | a |", shown)

    def test_a_row_that_talus_failed_or_alone_has_stays(self):
        summary = run("1", rows=2)["summary"]
        failed, alone = summary["rows"]
        failed["median"] = {name: cell for name, cell in failed["median"].items()
                            if name != "talus"}
        failed |= {"time_ratio_to_best": None, "rss_ratio_to_leanest": None}
        alone["median"] = {name: alone["median"][name] for name in ("talus", "lucky")}
        alone |= {"time_ratio_to_best": None, "best_peer": None, "rss_ratio_to_leanest": None}
        shown = history.rows_of(summary)
        self.assertIn("| W0 | failed | - | a | - | failed | - | b | - | - | a |", shown)
        self.assertIn("| W1 | 2.000 | - | - | - | 2.0 | - | - | - | - | - |", shown)

    def test_each_run_has_a_line(self):
        shown = history.page({"one": run("1"), "two": run("2", rows=3)})
        for name in ("one", "two"):
            self.assertIn(f"| `{name}` | 0123456 | Some |", shown)
        self.assertIn("2.00 [1.50, 2.50]", shown)

    def test_the_committed_page_is_that_of_the_kept_runs(self):
        runs = history.read_runs(history.RUNS)
        self.assertEqual(history.page(runs), PAGE.read_text(encoding="utf-8"),
                         "run: python3 -B -m bench.history > docs/benchmarks/runs.md")


if __name__ == "__main__":
    unittest.main()
