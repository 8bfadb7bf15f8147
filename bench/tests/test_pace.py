# Tests of the yardstick, and of the verdict on runs that the machine helped or harmed.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import unittest

from bench import pace, table


def sample(yardstick_s: float | None, major_faults: int = 0) -> dict:
    return {"workload": "P/lua", "allocator": "talus", "round": 2, "outcome": "ok",
            "yardstick_s": yardstick_s, "measured": {"major_faults": major_faults}}


class Pace(unittest.TestCase):
    def test_help_and_harm_are_told_and_usual_runs_are_not(self):
        runs = [sample(one) for one in (1.0, 1.05, 0.95, 1.0, 1.0)]
        self.assertEqual([], pace.unusual(runs))
        found = pace.unusual([*runs, sample(1.5), sample(0.8), sample(1.0, major_faults=3)])
        self.assertEqual(["the machine was 50% slower", "the machine was 20% faster",
                          "it read from the disk"], [words for _, words in found])

    def test_few_runs_and_older_ones_have_no_verdict(self):
        self.assertEqual([], pace.unusual([sample(1.0), sample(9.0)]))
        self.assertEqual([], pace.unusual([sample(None)] * 9 + [{"workload": "B1"}] * 9))

    def test_the_report_names_them(self):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            table.print_pace([sample(1.0)] * 5 + [sample(2.0)])
        self.assertIn("1 of 6 runs", shown.getvalue())
        self.assertIn("P/lua under talus, round 2: the machine was 100% slower", shown.getvalue())
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            table.print_pace([sample(1.0)] * 6)
        self.assertEqual("", shown.getvalue())

    def test_the_yardstick_is_some_time(self):
        self.assertGreater(pace.yardstick_s(), 0)


if __name__ == "__main__":
    unittest.main()
