# Tests of the workload programs, of measure, and of the verdict on their results.
#
# Needs the build folder of the benchmarks in TALUS_BENCH_PROGRAMS, which ctest sets. Runs every row
# small: once well, and once under an allocator that gives blocks two owners, which must be noticed.
#
# SPDX-License-Identifier: MIT

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import allocators, measuring, workloads

SCALE = 0.01
FAULT_SCALE = 0.2  # two owners must meet on a busy machine; ends at the first fault
FAULT_TRIES = 10
# Rows with large blocks only.
LARGE_BLOCKS = {"B11/written", "B11/untouched", "Cb/loop", "Cf/recycled", "Cf/huge", "Cp/large"}
LARGE_BLOCKS |= {row.name for row in workloads.WORKLOADS if row.name.startswith("Cn/")}
LIMITS = measuring.Limits(timeout_s=60, foreign_cores_max=1e9)
FIELDS = {"benchmark": str, "threads": int, "figure": (int, float), "unit": str,
          "higher_is_better": bool, "ops": int, "elapsed_s": float, "malloc_from": str,
          "peak_requested_bytes": int, "rss_end_kib": int}


def programs() -> Path:
    folder = os.environ.get("TALUS_BENCH_PROGRAMS")
    if not folder:
        raise unittest.SkipTest("TALUS_BENCH_PROGRAMS is not set")
    return Path(folder)


def run(row: workloads.Workload, allocator: allocators.Allocator, fault: str = "",
        limits: measuring.Limits = LIMITS) -> dict:
    with mock.patch.dict(os.environ, {"BROKEN_MALLOC": fault} if fault else {}):
        return measuring.run_once(programs(), row, allocator, 2,
                                  FAULT_SCALE if fault else SCALE, limits)


class Workloads(unittest.TestCase):
    def setUp(self):
        self.glibc = allocators.available(Path("none"), None)["glibc"]
        self.broken = allocators.from_path("broken", programs() / "broken_malloc.so")

    def test_every_row_gives_a_whole_result(self):
        for row in workloads.WORKLOADS:
            with self.subTest(row.name):
                sample = run(row, self.glibc)
                self.assertEqual("ok", sample["outcome"], sample.get("reason"))
                for field, kind in FIELDS.items():
                    self.assertIsInstance(sample["result"].get(field), kind, field)
                self.assertGreater(sample["result"]["ops"], 0)
                self.assertGreater(sample["time"], 0)
                self.assertGreater(sample["rss_kib"], 500)
                for name in ("malloc", "free"):
                    self.assertRegex(sample["served_by"][name], "/libc[.-]")

    def test_every_row_notices_a_block_with_two_owners(self):
        # Two threads must meet in the shared block, but a busy machine may run them one after the
        # other in a run this short. A workload that notices nothing in ten runs is blind.
        for row in workloads.WORKLOADS:
            fault = "overlap_large" if row.name in LARGE_BLOCKS else "overlap"
            with self.subTest(row.name):
                for _ in range(FAULT_TRIES):
                    sample = run(row, self.broken, fault)
                    if sample["outcome"] == "wrong_data":
                        break
                self.assertEqual("wrong_data", sample["outcome"], sample.get("reason"))

    def test_preloaded_library_is_accepted_when_it_works(self):
        self.assertEqual("ok", run(workloads.WORKLOADS[0], self.broken)["outcome"])

    def test_crash_hang_and_refusal_are_outcomes(self):
        row = workloads.WORKLOADS[0]
        self.assertEqual("crash", run(row, self.broken, "crash")["outcome"])
        refused = run(row, self.broken, "null")
        self.assertEqual("failed", refused["outcome"])
        self.assertIn("malloc returned null", refused["reason"])
        short = measuring.Limits(timeout_s=1.5, foreign_cores_max=1e9)
        self.assertEqual("timeout", run(row, self.broken, "hang", short)["outcome"])

    def test_a_preload_without_effect_is_noticed(self):
        # measure is not a shared library: the loader ignores it and glibc serves the program.
        ignored = allocators.from_path("ignored", programs() / "measure")
        self.assertEqual("wrong_library", run(workloads.WORKLOADS[0], ignored)["outcome"])

    def test_a_result_tells_whether_the_allocator_could_trim(self):
        # broken_malloc has no trim of its own, and the C library's would act on another heap.
        timed = {"B1/500": False, "B2/500": False, "B18": True, "Ch": False, "Ck": True, "Cl": True,
                 "Cm/trim": True}
        for row in workloads.WORKLOADS:
            if row.name not in timed:
                continue
            for allocator, trims in ((self.glibc, True), (self.broken, False)):
                with self.subTest(row.name, allocator=allocator.name):
                    result = run(row, allocator)["result"]
                    self.assertEqual((trims, timed[row.name]),
                                     (result["trims"], result["trim_is_timed"]))
        self.assertNotIn("trims", run(workloads.select("B4")[0], self.glibc)["result"])

    def test_after_free_reports_what_stays(self):
        # Eleven seconds of sleep are too long for each program; they share the code.
        row = workloads.Workload("B4", "bench_b04_mstress", ("--after-free", "1"))
        result = run(row, self.glibc)["result"]
        self.assertGreater(result["rss_after_1s_kib"], 500)
        self.assertGreater(result["rss_after_10s_kib"], 500)

    def test_unknown_option_is_refused(self):
        done = subprocess.run([programs() / "bench_b03_larson", "--no-such", "1"],
                              capture_output=True, check=False)
        self.assertEqual(2, done.returncode)


class Measure(unittest.TestCase):
    def measure(self, *command: str) -> tuple[int, dict]:
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.json"
            done = subprocess.run([programs() / "measure", record, "--", *command],
                                  capture_output=True, check=False)
            return done.returncode, json.loads(record.read_text())

    def test_peak_rss_does_not_start_at_the_runners(self):
        ballast = bytearray(64 << 20)
        ballast[::4096] = b"x" * len(ballast[::4096])
        status, record = self.measure("/bin/true")
        self.assertEqual(0, status)
        self.assertLess(record["max_rss_kib"], 8 << 10)
        self.assertGreater(record["minor_faults"], 0)

    def test_mean_rss_lies_between_little_and_the_peak(self):
        # Half of the time small, half with 64 MiB. The kernel's figures are off by a few dozen
        # pages.
        script = "import time; time.sleep(0.3); block = bytearray(64 << 20); time.sleep(0.3)"
        _, record = self.measure(sys.executable, "-S", "-c", script)
        share = record["mean_rss_kib"] / record["max_rss_kib"]
        self.assertGreater(record["max_rss_kib"], 64 << 10)
        self.assertTrue(0.1 < share < 0.95, f"mean RSS is {share} of the peak")

    def test_time_status_and_signal_are_recorded(self):
        status, record = self.measure("sh", "-c", "sleep 0.2; exit 7")
        self.assertEqual((7, 7, 0), (status, record["exit_status"], record["signal"]))
        self.assertGreaterEqual(record["wall_s"], 0.2)
        status, record = self.measure("sh", "-c", "kill -SEGV $$")
        self.assertEqual((139, 11), (status, record["signal"]))
        self.assertEqual(127, self.measure("/no/such/program")[0])


class WarmMemory(unittest.TestCase):
    def test_touches_what_it_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.json"
            subprocess.run([programs() / "measure", record, "--", programs() / "warm_memory", "64"],
                           check=True)
            self.assertGreaterEqual(json.loads(record.read_text())["max_rss_kib"], 64 << 10)

    def test_refuses_what_is_no_number(self):
        for given in ("", "64x", "-"):
            done = subprocess.run([programs() / "warm_memory", given], capture_output=True,
                                  check=False)
            self.assertEqual(2, done.returncode, given)

    def test_a_run_may_begin_with_it(self):
        rows = workloads.select("B13/16")
        warm = measuring.Limits(60, 1e9, warm_mib=8)
        glibc = allocators.available(Path("none"), None)["glibc"]
        with mock.patch.object(measuring.subprocess, "run", wraps=subprocess.run) as started:
            sample = measuring.run_once(programs(), rows[0], glibc, 1, SCALE, warm)
        self.assertEqual("ok", sample["outcome"])
        self.assertEqual([programs().resolve() / "warm_memory", "8"], started.call_args.args[0])

    def test_a_run_without_it_is_not_measured_and_the_next_one_goes_on(self):
        row = workloads.select("B13/16")[0]
        glibc = allocators.available(Path("none"), None)["glibc"]
        warm = measuring.Limits(60, 1e9, warm_mib=8)
        with tempfile.TemporaryDirectory() as name:
            for program in ("measure", "witness.so", row.program):
                (Path(name) / program).symlink_to(programs().resolve() / program)
            for wrong in ("/bin/false", "/no/such/program"):
                (Path(name) / "warm_memory").symlink_to(wrong)
                sample = measuring.run_once(Path(name), row, glibc, 1, SCALE, warm)
                self.assertEqual("not_measured", sample["outcome"])
                self.assertIn("warm_memory", sample["reason"])
                (Path(name) / "warm_memory").unlink()


if __name__ == "__main__":
    unittest.main()
