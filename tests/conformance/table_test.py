#!/usr/bin/env python3
"""Tests that the conformance page says in words what its table says, on made-up results.

Nothing is run: suites are given as table.py gets them from run.py.
SPDX-License-Identifier: MIT
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import run  # noqa: E402
import table  # noqa: E402


def suite(**outcomes):
    """Results of probes in run.py's form."""
    return [{"probe": probe, "outcome": outcome, "seconds": 1.0, "figures": [],
             "reasons": [] if outcome == "passed" else ["it is made up"]}
            for probe, outcome in outcomes.items()]


def page(suites):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.md"
        table.write_report(path, suites, table.introduction(suites), table.table_lines(suites))
        return path.read_text()


def words_above_the_table(text):
    return " ".join(text.partition("\nRun of ")[0].split())


class Words(unittest.TestCase):
    def assert_agrees(self, suites):
        """Each probe that the text names for a column failed there, and each that failed is."""
        text = words_above_the_table(page(suites))
        for name, title in table.EXAMINED_COLUMNS.items():
            if name not in suites:
                self.assertNotIn(f"{title} fails", text)
                continue
            part = re.search(rf"{title} fails (.*?)(?: (?:Talus|glibc) fails |Skips are )", text)
            failed = {r["probe"] for r in suites[name] if r["outcome"] == "failed"}
            self.assertEqual(set(re.findall(r"`(\w+_\w+)`", part[1])), failed)
        return text

    def test_a_run_names_what_did_not_end_as_promised(self):
        ends = {"a": "passed", "b": "failed", "c": "skipped", "d": "failed", "e": "passed"}
        results = [{"probe": name, "outcome": outcome} for name, outcome in ends.items()]
        self.assertEqual(run.unexpected_names(results), ["b", "d"])
        self.assertEqual(run.unexpected_names(results, ["b", "c", "e"], ["d"]), ["e"])

    def test_a_probe_that_passes_is_not_said_to_fail(self):
        text = self.assert_agrees({"talus": suite(memory_idle_release="passed",
                                                  threads_churn="passed"),
                                   "glibc": suite(memory_idle_release="failed",
                                                  threads_churn="passed")})
        self.assertIn("Talus fails none of 2 probes.", text)
        self.assertIn("glibc fails 1 of 2 probes. `memory_idle_release` asks for more than", text)

    def test_a_failure_of_which_nothing_is_known_is_named(self):
        text = self.assert_agrees({"talus": suite(memory_drift="failed", api_overflow="failed",
                                                  api_bsd_calls="skipped")})
        self.assertIn("Talus fails 2 of 2 probes. `memory_drift` asks about a day", text)
        self.assertIn("Not explained here: `api_overflow`.", text)

    def test_what_is_known_of_one_column_is_not_said_of_another(self):
        text = self.assert_agrees({"talus": suite(cxx_wrapping_new="failed"),
                                   "glibc": suite(cxx_wrapping_new="passed")})
        self.assertNotIn("libstdc++", text)

    def test_all_that_is_known_is_told_in_short_lines(self):
        failing = {probe: "failed" for _, probe in table.EXAMINED}
        text = page({"talus": suite(**failing), "glibc": suite(**failing)})
        self.assert_agrees({"talus": suite(**failing), "glibc": suite(**failing)})
        above = text.partition("\nRun of ")[0].splitlines()
        self.assertEqual([line for line in above if len(line) > 100], [])

    def test_other_columns_get_no_words(self):
        self.assert_agrees({"jemalloc": suite(api_overflow="failed")})

    def test_where_nothing_failed_the_page_says_so(self):
        self.assertTrue(page({"talus": suite(api_overflow="passed")}).endswith(
            "## What failed\n\nNothing.\n"))


class Reasons(unittest.TestCase):
    def test_the_condition_of_a_probe_is_left_out(self):
        for reason, wanted in (
                ("expected a == b: 3 of 4: too few", "3 of 4: too few"),
                ("expected (a ? b : c) == probe::min(): none", "none"),
                ("expected: 682 of 2048 KiB", "expected: 682 of 2048 KiB"),
                ("ended by SIGSEGV", "ended by SIGSEGV"),
                ("it expected a: b", "it expected a: b")):
            self.assertEqual(table.shown(reason), wanted)


class Explanations(unittest.TestCase):
    def test_each_is_of_a_probe_that_exists(self):
        here = Path(__file__).parent
        for _, probe in table.EXAMINED:
            self.assertTrue(list(here.glob(f"{probe.replace('_', '/', 1)}.c*")), probe)


if __name__ == "__main__":
    unittest.main()
