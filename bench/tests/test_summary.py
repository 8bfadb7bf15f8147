# Tests of the arithmetic and of the choice of samples, with made-up samples.
#
# SPDX-License-Identifier: MIT

import unittest

from bench import corner, kept, leanest, summary, table, workloads


def sample(workload: str, allocator: str, time: float, rss_kib: int = 1000, *,
           is_noisy: bool = False, outcome: str = "ok", requested: int = 0) -> dict:
    return {"workload": workload, "allocator": allocator, "outcome": outcome, "time": time,
            "rss_kib": rss_kib, "is_noisy": is_noisy,
            "result": {"peak_requested_bytes": requested}}


class Cells(unittest.TestCase):
    def test_median_of_clean_samples_only(self):
        cells = summary.cells_of([sample("W", "a", 1), sample("W", "a", 3), sample("W", "a", 2),
                                  sample("W", "a", 90, is_noisy=True)])
        self.assertEqual((2, 3, False), (cells["W", "a"].time, cells["W", "a"].samples,
                                         cells["W", "a"].is_noisy))

    def test_noisy_samples_count_when_there_are_no_others(self):
        cell = summary.cells_of([sample("W", "a", 5, is_noisy=True)])["W", "a"]
        self.assertEqual((5, True), (cell.time, cell.is_noisy))

    def test_failed_runs_are_counted_and_never_measured(self):
        cells = summary.cells_of([sample("W", "a", 1), sample("W", "a", 0.1, outcome="crash"),
                                  sample("W", "b", 0.1, outcome="timeout")])
        self.assertEqual((1, 1), (cells["W", "a"].time, cells["W", "a"].failures))
        self.assertNotIn(("W", "b"), cells)


class Ratios(unittest.TestCase):
    def setUp(self):
        large = 64 << 20
        self.samples = [
            sample("V", "talus", 1, 500), sample("V", "glibc", 2, 1000),
            sample("V", "jemalloc", 4, 2000),
            sample("W", "talus", 9, 800, requested=large), sample("W", "glibc", 8, 200),
            sample("W", "jemalloc", 1, 100)]
        self.figures = summary.summarize(self.samples, ["V", "W"],
                                         ["talus", "glibc", "jemalloc"], "talus")

    def test_geometric_means(self):
        self.assertAlmostEqual((0.5 * 9 / 8) ** 0.5, self.figures["geometric_mean_time"]["glibc"])
        self.assertAlmostEqual((0.25 * 8) ** 0.5, self.figures["geometric_mean_rss"]["jemalloc"])
        self.assertAlmostEqual((0.5 * 9) ** 0.5, self.figures["geometric_mean_time_to_best"])

    def test_best_peer_of_each_workload(self):
        self.assertEqual(["glibc", "jemalloc"], [row["best_peer"] for row in self.figures["rows"]])
        self.assertEqual([0.5, 9], [row["time_ratio_to_best"] for row in self.figures["rows"]])

    def test_who_failed_a_run_is_not_the_best(self):
        samples = self.samples + [sample("W", "jemalloc", 1, outcome="crash")]
        figures = summary.summarize(samples, ["W"], ["talus", "glibc", "jemalloc"], "talus")
        row = figures["rows"][0]
        self.assertEqual(("glibc", 9 / 8, 4), (row["best_peer"], row["time_ratio_to_best"],
                                               row["rss_ratio_to_leanest"]))
        self.assertEqual(9, row["time_ratio"]["jemalloc"])

    def test_noise_of_one_allocator_marks_the_row(self):
        samples = [sample("W", "talus", 1), sample("W", "glibc", 2, is_noisy=True),
                   sample("V", "talus", 1), sample("V", "glibc", 2)]
        figures = summary.summarize(samples, ["V", "W"], ["talus", "glibc"], "talus")
        self.assertEqual([False, True], [row["is_noisy"] for row in figures["rows"]])

    def test_heap_bound_workloads_alone(self):
        self.assertEqual(["W"], self.figures["heap_bound_workloads"])
        self.assertAlmostEqual(8, self.figures["geometric_mean_rss_heap_bound"]["jemalloc"])

    def test_memory_beside_the_leanest(self):
        large = 64 << 20
        self.assertAlmostEqual((0.5 * 8) ** 0.5, self.figures["geometric_mean_rss_to_leanest"])
        # W has no requested bytes for glibc, so RSS is all there is to compare.
        self.assertAlmostEqual((0.5 * 8) ** 0.5, self.figures["geometric_mean_memory_to_leanest"])
        # The same peak of V counts more with fewer requested bytes; each run has its own request.
        samples = [sample("V", "talus", 1, 800, requested=4 * large),
                   sample("V", "talus", 1, 200, requested=large),
                   sample("V", "talus", 1, 900, requested=large),
                   sample("V", "glibc", 1, 200, requested=large // 2)]
        row = summary.summarize(samples, ["V"], ["talus", "glibc"], "talus")["rows"][0]
        self.assertEqual((4, 0.5), (row["rss_ratio_to_leanest"],
                                    row["memory_ratio_to_leanest"]))

    def test_memory_beside_the_leanest_of_the_fast(self):
        samples = [sample("V", "talus", 1, 600), sample("V", "glibc", 4, 100),
                   sample("V", "jemalloc", 2.9, 300), sample("V", "snmalloc", 2, 400)]
        names = ["talus", "glibc", "jemalloc", "snmalloc"]
        figures = summary.summarize(samples, ["V"], names, "talus")
        self.assertAlmostEqual(6, figures["geometric_mean_rss_to_leanest"])
        self.assertAlmostEqual(2, figures["geometric_mean_rss_to_leanest_fast"])
        # An allocator with a failed run sets no time either.
        samples.append(sample("V", "snmalloc", 2, 400, outcome="crash"))
        figures = summary.summarize(samples, ["V"], names, "talus")
        self.assertAlmostEqual(6, figures["geometric_mean_rss_to_leanest_fast"])

    def test_a_missing_allocator_leaves_a_hole_not_a_number(self):
        kept = [one for one in self.samples
                if (one["workload"], one["allocator"]) != ("V", "glibc")]
        figures = summary.summarize(kept, ["V", "W"], ["talus", "glibc", "jemalloc"], "talus")
        self.assertIsNone(figures["rows"][0]["time_ratio"]["glibc"])
        self.assertAlmostEqual(9 / 8, figures["geometric_mean_time"]["glibc"])


class Trims(unittest.TestCase):
    """A time without the trim that the others contain is not comparable."""

    def samples(self, is_timed: bool, number: int = 0) -> list[dict]:
        found = []
        for name, time, rss_kib, trims in (("talus", 2, 600, True), ("glibc", 1.5, 500, True),
                                           ("snmalloc", 1, 400, False)):
            made = {**sample("W", name, time, rss_kib), "round": number}
            made["result"] |= {"trims": trims, "trim_is_timed": is_timed}
            found.append(made)
        return found

    def row(self, samples: list[dict]) -> dict:
        names = ["talus", "glibc", "snmalloc"]
        return summary.summarize(samples, ["W"], names, "talus")["rows"][0]

    def test_who_cannot_trim_is_not_the_best_where_that_is_timed(self):
        row = self.row([one for number in range(3) for one in self.samples(True, number)])
        self.assertEqual(("glibc", 2 / 1.5), (row["best_peer"], row["time_ratio_to_best"]))
        self.assertAlmostEqual(2 / 1.5, row["time_ratio_to_best_held_out"])
        # Its column stays, and so does its memory.
        self.assertEqual((2, 1.5), (row["time_ratio"]["snmalloc"], row["rss_ratio_to_leanest"]))
        self.assertEqual([False, False, True],
                         [one["skips_trim"] for one in row["median"].values()])
        self.assertEqual(("snmalloc", "glibc"), (leanest.leanest_peer(row, "talus"),
                                                 leanest.leanest_peer(row, "talus", 1.5)))
        self.assertEqual([True, False], [table.median_text(row["median"][name], "time")[-1] == "*"
                                         for name in ("snmalloc", "glibc")])

    def test_it_may_be_where_the_trim_is_not_timed_and_where_nothing_is_told(self):
        self.assertEqual("snmalloc", self.row(self.samples(False))["best_peer"])
        told_nothing = [{**one, "result": {}} for one in self.samples(True)]
        self.assertEqual("snmalloc", self.row(told_nothing)["best_peer"])

    def test_a_preset_is_no_peer(self):
        small = sample("W", "talus-tiny", 0.5, 100)
        found = summary.summarize([*self.samples(True), small], ["W"],
                                  ["talus", "talus-tiny", "glibc", "snmalloc"], "talus")
        self.assertEqual("snmalloc", leanest.leanest_peer(found["rows"][0], "talus"))


class Corner(unittest.TestCase):
    def test_each_stands_beside_the_best_of_the_others(self):
        samples = [sample("W", name, time, rss_kib) for name, time, rss_kib in (
            ("talus", 2, 100), ("talus-fast", 1, 400), ("glibc", 4, 200), ("jemalloc", 2, 800))]
        names = [one["allocator"] for one in samples]
        shown = corner.corner_of(kept.from_full({
            "allocators": [{"name": name} for name in names],
            "summary": {"rows": [{"workload": "W"}]}, "samples": samples}))
        for line in ("| talus | 1.00 | - | 0.50 |", "| talus-fast | 0.50 | - | 2.00 |",
                     "| glibc | 2.00 | - | 2.00 |", "| jemalloc | 1.00 | - | 8.00 |"):
            self.assertIn(line, shown)


class Selection(unittest.TestCase):
    def test_number_matches_its_variants_and_nothing_longer(self):
        self.assertEqual(["B1/500", "B1/5000"], [row.name for row in workloads.select("b1")])
        self.assertEqual(["B1/5000", "B3"],
                         [row.name for row in workloads.select("B1/5000,B3,B3")])

    def test_unknown_name_is_refused(self):
        with self.assertRaises(ValueError):
            workloads.select("B99")

    def test_the_first_set_stays_what_it_was(self):
        first = ["B1/500", "B1/5000", "B2/500", "B2/5000", "B3", "B6/T1", "B6/TP", "B9/64",
                 "B9/mixed", "B10/scratch", "B10/thrash", "B13/16"]
        self.assertEqual(first, [row.name for row in workloads.select(None)])
        self.assertEqual(list(workloads.ROWS), workloads.select(None, workloads.FULL))

    def test_each_set_has_rows_and_each_row_a_set(self):
        sets = set(workloads.SETS) - {workloads.FULL}
        self.assertEqual(sets, {row.group for row in workloads.ROWS})

    def test_a_row_of_any_set_can_be_named(self):
        self.assertEqual(["B4", "B3"], [row.name for row in workloads.select("B4,B3")])

    def test_a_list_of_threads_gives_curves_and_leaves_other_rows_alone(self):
        rows = workloads.spread(workloads.select("B1/500,B3,B4,P/lua"), [1, 8])
        self.assertEqual(["B1/500@1", "B1/500@8", "B3@1", "B3@8", "B4", "P/lua"],
                         [row.name for row in rows])
        self.assertEqual(["B1/500", 8], [rows[1].base, rows[1].threads])
        self.assertIn("--threads 8", " ".join(rows[1].command(2, 1)))

    def test_names_are_unique(self):
        names = [row.name for row in workloads.ROWS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
