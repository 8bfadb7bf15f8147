# Tests of reading, of the arithmetic and of the words, with made-up results.
#
# SPDX-License-Identifier: MIT

import json
import tempfile
import unittest
from pathlib import Path

from bench.report import chart_curves, facts, figures, heat, record, wording
from bench.report.figures import RSS, TIME

from .made_up import ODD_NAME, everything, record as made_record, runs, sample


def computed(samples: list[dict], **fields) -> figures.Figures:
    return figures.compute(record.from_data(made_record(samples, **fields)))


class Reading(unittest.TestCase):
    def test_refuses_what_is_no_result(self):
        for data in ([], {}, {"samples": 1}, {"samples": []}, {"samples": [1, {"workload": "W"}]}):
            with self.assertRaises(record.NoResult):
                record.from_data(data)

    def test_refuses_files_that_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "broken.json"
            broken.write_text("{")
            for path in (broken, Path(folder) / "missing.json"):
                with self.assertRaises(record.NoResult):
                    record.read(path)

    def test_an_ok_sample_without_figures_counts_as_failed(self):
        for broken in ({"time": None}, {"rss_kib": "much"}, {"time": float("nan")}):
            read = record.from_data(made_record([{**sample("W", "a"), **broken}]))
            self.assertEqual("incomplete", read.samples[0]["outcome"])

    def test_subject_and_orders(self):
        samples = [sample("V", "b"), sample("W", "talus"), sample("V", "a")]
        read = record.from_data(made_record(samples))
        self.assertEqual(("talus", ["b", "talus", "a"], ["V", "W"]),
                         (read.subject, read.allocators, read.workloads))
        read = record.from_data(made_record(samples, summary={"subject": "gone", "rows": [
            {"workload": "W"}]}))
        self.assertEqual(("b", ["W", "V"]), (read.subject, read.workloads))


class Arithmetic(unittest.TestCase):
    def test_ratios_ranks_and_means(self):
        made = computed([sample("V", "talus", 2), sample("V", "a", 1), sample("V", "b", 4),
                         sample("W", "talus", 3), sample("W", "a", 12)])
        self.assertEqual((2, 2, 1), (made.ratio_to_best("V", "talus", TIME),
                                     made.rank("V", "talus", TIME), made.rank("W", "talus", TIME)))
        self.assertIsNone(made.rank("W", "b", TIME))
        mean = made.mean_to_other("a", TIME, ["V", "W"])
        self.assertAlmostEqual((2 * 3 / 12) ** 0.5, mean.value)
        self.assertEqual((None, 2), (mean.interval, mean.count))
        self.assertEqual(1, made.mean_to_other("b", TIME, ["V", "W"]).count)
        # In V its best rival takes twice as long as a, in W a quarter.
        self.assertAlmostEqual((0.5 * 4) ** 0.5, made.mean_to_best("a", TIME, ["V", "W"]).value)

    def test_equals_share_the_better_rank(self):
        made = computed([sample("V", "talus", 1), sample("V", "a", 1), sample("V", "b", 2)])
        self.assertEqual([1, 1, 3], [made.rank("V", name, TIME) for name in ("talus", "a", "b")])

    def test_an_interval_holds_its_figure_and_needs_more_than_one_run(self):
        made = computed(runs("V", "talus", [1, 1.1, 0.9, 1.05]) + runs("V", "a", [2, 2.2, 1.9])
                        + runs("W", "talus", [1]) + runs("W", "a", [1]))
        mean = made.mean_to_other("a", TIME, ["V"])
        self.assertLess(mean.interval[0], mean.value)
        self.assertGreater(mean.interval[1], mean.value)
        self.assertIsNone(made.cells["W", "a"].interval(TIME))
        self.assertIsNone(made.mean_to_other("a", TIME, ["W"]).interval)
        self.assertIsNotNone(made.mean_to_other("a", TIME, ["V", "W"]).interval)

    def test_zero_is_compared_with_nothing(self):
        made = computed([sample("V", "talus", 0.0), sample("V", "a", 1.0)])
        self.assertIsNone(made.best("V", "a", TIME))
        self.assertIsNone(made.ratio_to_best("V", "a", TIME))
        self.assertIsNone(made.mean_to_other("a", TIME, ["V"]))
        self.assertEqual("too small to compare", heat.cell(made, "V", "talus", TIME).hint[10:])

    def test_who_does_not_trim_is_marked_and_never_the_best_in_time(self):
        made = computed([sample("V", "talus", 2, 20, trims=True, trim_is_timed=True),
                         sample("V", "a", 1, 10, trims=False, trim_is_timed=True),
                         sample("W", "talus", 1), sample("W", "a", 2)])
        self.assertEqual((None, "a", 1), (made.best("V", "talus", TIME),
                                          made.best("V", "talus", RSS),
                                          made.rank("V", "talus", TIME)))
        self.assertEqual(("0.50*", "0.50"), (heat.cell(made, "V", "a", TIME).text,
                                             heat.cell(made, "V", "a", RSS).text))
        self.assertIn("cannot return memory", heat.cell(made, "V", "a", TIME).hint)
        mean = made.mean_to_best("a", TIME, ["V", "W"])
        self.assertEqual((2, 1), (mean.value, mean.count))

    def test_who_failed_a_run_is_not_the_best(self):
        made = computed([sample("V", "talus", 2, 20), sample("V", "a", 1, 10),
                         sample("V", "a", outcome="crash"), sample("V", "b", 3, 30)])
        for figure in (TIME, RSS):
            self.assertEqual(("b", 1), (made.best("V", "talus", figure),
                                        made.rank("V", "talus", figure)))
        self.assertEqual("V, a: 0.50 times talus; 1 runs failed",
                         heat.cell(made, "V", "a", TIME).hint)
        self.assertIsNone(heat.cell(made, "V", "a", TIME).band)
        self.assertEqual([0, 1], [made.wins(["V"], name, TIME) for name in ("a", "talus")])
        self.assertEqual(["a", "talus", "b"], made.ranked("V", TIME))
        made = computed([sample("V", "talus", 2), sample("V", "talus", outcome="crash")])
        self.assertIsNone(made.best("V", "talus", TIME))
        self.assertIn("nothing to compare with", heat.cell(made, "V", "talus", TIME).hint)

    def test_a_series_counts_where_its_base_row_is_missing(self):
        self.assertEqual(["B1", "B2@1", "B2@2"], figures.counted_workloads(
            ["B1", "B1@1", "B1@2", "B2@1", "B2@2"]))

    def test_curves_have_a_point_a_thread_count(self):
        made = figures.compute(record.from_data(everything()))
        chart = chart_curves.curves(made)["B1/500"]["talus"]
        self.assertEqual([1, 2, 4], [threads for threads, _, _ in chart])
        self.assertEqual([1e6, 2e6, 4e6], [speed for _, _, speed in chart])
        self.assertAlmostEqual(40961 * 1024 / (32 << 20), chart[0][1])


class Cells(unittest.TestCase):
    def test_bands_at_their_bounds(self):
        self.assertEqual([0, 1, 1, 2, 7], [heat.band(ratio)
                                           for ratio in (1.0, 1.001, 1.05, 1.06, 99.0)])
        self.assertEqual(len(heat.WORDS), len(heat.BOUNDS) + 1)

    def test_what_a_cell_says(self):
        made = figures.compute(record.from_data(everything()))
        self.assertEqual("crash", heat.cell(made, "B5", "jemalloc", TIME).text)
        self.assertTrue(heat.cell(made, "B5", "jemalloc", RSS).is_failed)
        self.assertEqual(("–", False), (heat.cell(made, "Cf/huge", "ünï", TIME).text,
                                        heat.cell(made, "Cf/huge", "ünï", TIME).is_failed))
        self.assertEqual("1.00~", heat.cell(made, "B5", "talus", TIME).text)
        self.assertEqual("2.00", heat.cell(made, "B4", "talus", TIME).text)

    def test_failures_with_one_reason_stand_together(self):
        made = figures.compute(record.from_data(everything()))
        found = facts.failures(made, "B5")
        self.assertEqual([("jemalloc", ["1", "2"]), ("ünï", ["1"])],
                         [(one["name"], one["rounds"]) for one in found])


class Words(unittest.TestCase):
    def test_who_leads_and_what_is_lost(self):
        made = computed([sample("V", "talus", 2, 1000), sample("V", "a", 1, 4000),
                         sample("W", "talus", 1, 1000), sample("W", "a", 1.5, 1000)])
        first, second = (text.replace("\u00a0", " ") for text in wording.findings(made))
        self.assertIn("In time, a leads (typically 0.87 times its best rival", first)
        self.assertIn("Talus is the leanest of 2", first)
        self.assertIn("best on 1 of 2 workloads; it loses 1 by 10 % or more, most of all "
                      "V (2.00 times a)", second)
        self.assertIn("In memory talus is best on 2 of 2 workloads; it loses none", second)

    def test_nothing_to_compare(self):
        made = computed([sample("V", "talus")])
        self.assertEqual([], wording.findings(made))

    def test_a_subject_without_figures(self):
        made = computed([sample("V", "talus", outcome="crash", reason="x"), sample("V", "a"),
                         sample("V", "b", 2)])
        self.assertIn("talus has no figure", wording.findings(made)[0])

    def test_cautions_name_what_spoils_a_result(self):
        made = computed([sample("V", "talus", is_noisy=True), sample("V", "a", outcome="crash")],
                        settings={"repeat": 1, "scale": 0.2})
        text = " ".join(wording.cautions(made))
        for words in ("0.2 of their full work", "Only 1 round:", "1 of 1 medians", "1 of 2 runs"):
            self.assertIn(words, text)
        self.assertEqual([], wording.cautions(computed([sample("V", "talus")])))

    def test_rounding(self):
        self.assertEqual(["0.25", "1.00", "9.94", "10.0", "99.9", "100", "1.2k", "23k", "–"],
                         [wording.times(value) for value in
                          (0.25, 1.0, 9.94, 9.96, 99.9, 100.2, 1234, 23456, None)])
        self.assertEqual(["512 KiB", "1.0 MiB", "99.9 MiB", "100 MiB", "2.0 GiB"],
                         [wording.memory(kib) for kib in
                          (512, 1024, 99.9 * 1024, 102400, 2 << 20)])
        self.assertEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "21st"],
                         [wording.ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21)])
        self.assertEqual(["20 % less", "as much", "50 % more", "2.50 times as much"],
                         [wording.percent(value) for value in (0.8, 1.001, 1.5, 2.5)])

    def test_odd_names_survive(self):
        made = figures.compute(record.from_data(json.loads(json.dumps(everything()))))
        self.assertIn(ODD_NAME, made.record.workloads)
        self.assertEqual("40.0", heat.cell(made, ODD_NAME, "ünï", TIME).text)


if __name__ == "__main__":
    unittest.main()
