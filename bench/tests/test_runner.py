# Tests of whole runs: order, curves, the check against itself, instruction counts, the record.
#
# Needs TALUS_BENCH_PROGRAMS, as test_programs.py does. Nothing here depends on the speed or the
# load of the machine, except the slowed copy, which takes ten times as long.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import (__main__ as runner, allocators, instructions, measuring, record, rounds,
                   self_check, summary, table, workloads)

TRIES = 4
LIMITS = measuring.Limits(timeout_s=60, foreign_cores_max=1e9)


def folder() -> Path:
    found = os.environ.get("TALUS_BENCH_PROGRAMS")
    if not found:
        raise unittest.SkipTest("TALUS_BENCH_PROGRAMS is not set")
    return Path(found)


def passing_on(name: str, **environment: str) -> allocators.Allocator:
    """The C library's malloc through a library of the tests, which the environment can break."""
    return allocators.Allocator(name, "1", (folder() / "broken_malloc.so").resolve(), {},
                                environment)


def plan(rows: list, chosen: list, **requests) -> rounds.Plan:
    return rounds.Plan(**{"programs": folder(), "rows": rows, "allocators": chosen, "rounds": 1,
                          "threads": 2, "scale": 0.01, "limits": LIMITS, "retries": 0, **requests})


def quietly(function, *arguments):
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


class Rounds(unittest.TestCase):
    def setUp(self):
        self.rows = workloads.select("B13,B6/T1")
        self.chosen = [passing_on("a"), passing_on("b")]

    def fake(self, noisy_tries: int = 0):
        """Stands for run_once: starts nothing, and its first tries are noisy."""
        tries = {}

        def run_once(_programs, row, allocator, *_):
            key = (row.name, allocator.name)
            tries[key] = tries.get(key, 0) + 1
            return {"workload": row.name, "allocator": allocator.name, "outcome": "ok",
                    "time": 1.0, "rss_kib": 1, "is_noisy": tries[key] <= noisy_tries,
                    "foreign_cores": 1}
        return mock.patch.object(measuring, "run_once", run_once)

    def test_rounds_are_outside_and_the_order_changes(self):
        with self.fake():
            samples, count = quietly(rounds.run_all, plan(self.rows, self.chosen, rounds=2))
            again, _ = quietly(rounds.run_all, plan(self.rows, self.chosen, rounds=2))
        self.assertEqual(samples, again)
        self.assertEqual([(number, row.name) for number in (1, 2) for row in self.rows
                          for _ in self.chosen],
                         [(one["round"], one["workload"]) for one in samples])
        for row in self.rows:
            first, second = ([one["allocator"] for one in samples if one["round"] == number
                              and one["workload"] == row.name] for number in (1, 2))
            self.assertEqual(["a", "b"], sorted(first))
            self.assertEqual(first, second[::-1])
        self.assertEqual(2, count)

    def test_places_are_as_even_as_can_be(self):
        for count in range(1, 15):
            for number in range(2, 12):
                found = rounds.orders(list(range(count)), number, "W")
                self.assertEqual(number, len(found))
                for order in found:
                    self.assertEqual(list(range(count)), sorted(order))
                sums = [sum(order.index(item) for order in found) for item in range(count)]
                can_be_equal = number % 2 == 0 or count % 2 == 1
                self.assertLessEqual(max(sums) - min(sums), 0 if can_be_equal else 1,
                                     (count, number, found))
        self.assertEqual(1, len(rounds.orders([1, 2], 1, "W")))
        # Also if a budget ends five rounds after three.
        self.assertEqual({12}, {sum(order.index(item) for order in
                                    rounds.orders(list(range(9)), 5, "W")[:3])
                                for item in range(9)})

    def test_each_comes_after_many_others(self):
        before = {(order[at - 1], order[at]) for row in workloads.ROWS
                  for order in rounds.orders(list(range(9)), 5, row.name) for at in range(1, 9)}
        self.assertEqual(9 * 8, len(before))

    def test_noisy_runs_are_repeated_and_all_are_kept(self):
        with self.fake(noisy_tries=2):
            samples, _ = quietly(rounds.run_all, plan(self.rows[:1], self.chosen, retries=5))
        self.assertEqual([True, True, False] * 2, [one["is_noisy"] for one in samples])

    def test_a_budget_ends_the_run_but_not_before_three_rounds(self):
        with self.fake():
            _, count = quietly(rounds.run_all,
                               plan(self.rows, self.chosen, rounds=9, budget_s=0))
        self.assertEqual(rounds.ROUNDS_MIN, count)


class Itself(unittest.TestCase):
    def test_a_slowed_copy_is_found_in_real_runs(self):
        chosen = [passing_on("fine"), passing_on("slow", BROKEN_MALLOC="slow")]
        rows = workloads.select("B13")
        for _ in range(TRIES):  # on a busy machine four rounds may be too noisy to tell
            samples, _ = quietly(rounds.run_all, plan(rows, chosen, rounds=4))
            self.assertEqual({"ok"}, {one["outcome"] for one in samples})
            figures = summary.summarize(samples, ["B13/16"], ["fine", "slow"], "fine")
            found = self_check.violations(figures)
            if any("time fine/slow" in one for one in found):
                return
        self.fail(f"a copy that takes ten times as long was not found: {figures['rows']}")


class Instructions(unittest.TestCase):
    def setUp(self):
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed")

    def count(self, chosen: list) -> list[dict]:
        instructions.loop_alone.cache_clear()
        with mock.patch.multiple(instructions, PATTERNS=("pair",), FEW_PAIRS=1000,
                                 MANY_PAIRS=2000):
            return quietly(instructions.measure, folder(), chosen, (64,))

    def test_counts_are_exact_and_see_the_smallest_difference(self):
        fine, again, slow = self.count([passing_on("fine"), passing_on("again"), passing_on(
            "slow", BROKEN_MALLOC="slow")])
        self.assertEqual(["ok"] * 3, [one["outcome"] for one in (fine, again, slow)], slow)
        self.assertEqual(fine["instructions"], again["instructions"])
        self.assertTrue(10 < fine["instructions"] < 1000, fine)
        self.assertGreater(slow["instructions"], fine["instructions"] + 3000)

    def test_a_crash_and_a_preload_without_effect_are_outcomes(self):
        ignored = allocators.from_path("ignored", folder() / "measure")
        crash, wrong = self.count([passing_on("crash", BROKEN_MALLOC="crash"), ignored])
        self.assertEqual(["crash", "wrong_library"], [crash["outcome"], wrong["outcome"]])
        self.assertIsNone(crash["instructions"])


class Commands(unittest.TestCase):
    def arguments(self, *words: str):
        with contextlib.redirect_stderr(io.StringIO()):
            return runner.parse_arguments(list(words))

    def test_full_is_everything_and_quick_is_the_first_set(self):
        full = self.arguments("--full")
        self.assertEqual(("full", "all", 1.0), (full.set, full.alloc, full.scale))
        quick = self.arguments("--quick")
        self.assertEqual(("first", None), (quick.set, quick.alloc))
        self.assertGreaterEqual(quick.repeat, 3)
        self.assertLess(quick.budget_s, 300)

    def test_threads_are_a_number_or_a_list(self):
        one = self.arguments("--threads", "3")
        self.assertEqual((3, None), (one.threads, one.thread_list))
        several = self.arguments("--threads", "1,2,4,4", "--only", "B3,B4")
        self.assertEqual([1, 2, 4], several.thread_list)
        self.assertEqual(["B3@1", "B3@2", "B3@4", "B4"],
                         [row.name for row in runner.chosen_rows(several)[0]])
        for wrong in ("0", "1,x", ""):
            with self.assertRaises(SystemExit):
                self.arguments("--threads", wrong)

    def test_a_missing_program_is_skipped_with_its_reason(self):
        with mock.patch.object(shutil, "which", lambda _: None):
            rows, skipped = runner.chosen_rows(self.arguments("--only", "P/lua,B4"))
        self.assertEqual(["B4"], [row.name for row in rows])
        self.assertEqual("P/lua", skipped[0]["workload"])


class Record(unittest.TestCase):
    def test_a_run_leaves_what_results_md_promises(self):
        rows = workloads.spread(workloads.select("B1/500"), [1, 2])
        chosen = [passing_on("a"), passing_on("b")]
        with tempfile.TemporaryDirectory() as name:
            build, out = Path(name), Path(name) / "result.json"
            (build / "bench").symlink_to(folder().resolve())
            arguments = runner.parse_arguments(
                ["--threads", "1,2", "--repeat", "2", "--scale", "0.01", "--build", name,
                 "--out", str(out), "--max-foreign", "1e9"])
            self.assertEqual(0, quietly(runner.run, arguments, rows, [], chosen))
            found = json.loads(out.read_text())
        self.assertEqual(record.FORMAT, found["format"])
        self.assertEqual([1, 2], found["settings"]["thread_list"])
        row = found["summary"]["rows"][1]
        self.assertEqual(["B1/500@2", "B1/500", 2, "first"],
                         [row[key] for key in ("workload", "base", "threads", "group")])
        low, high = row["time_ratio_interval"]["b"]
        self.assertTrue(low <= row["time_ratio"]["b"] <= high)
        wide = row["time_ratio_interval_all"]["b"]
        self.assertTrue(wide[0] <= low and high <= wide[1])
        for key in ("user_s", "sys_s", "minor_faults", "voluntary_switches", "figure"):
            self.assertIsNotNone(row["median"]["a"][key], key)
        self.assertEqual([1, 2], sorted({one["threads"] for one in found["samples"]}))
        for key in ("started", "finished", "commit", "machine", "command", "skipped"):
            self.assertIn(key, found)
        self.assertRegex(found["machine"]["processor_model"], r"^(\d+-\d+-\d+|unknown)$")

    def test_tables_have_a_place_for_what_is_missing(self):
        entries = [{"allocator": "a", "pattern": "pair", "size": 16, "outcome": "crash",
                    "instructions": None, "reason": ""}]
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            table.print_instructions(entries, ["a"])
            table.print_after_free([{"workload": "W", "allocator": "a", "outcome": "crash",
                                     "rss_kib": None, "rss_after_10s_kib": None}], ["a"])
        self.assertIn("crash", output.getvalue())


if __name__ == "__main__":
    unittest.main()
