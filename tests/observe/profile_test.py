# SPDX-License-Identifier: MIT
"""Owns: heap profiles of a program whose heap is known (profiled.cpp), read from outside."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import pprof_form
from process import COMMAND, REAL, Preloaded, Process, look, program, talus

MEGABYTE = 1000000
HELD = {"leak_small": 60, "leak_zeroed": 40, "leak_new": 30, "leak_large": 100, "grow": 50,
        "in_thread": 45, "leak_aligned": 20.48}


def decoded(path):
    """{innermost function: [sums of the four sample types]}, and the mappings' build ids."""
    profile = pprof_form.read(path)
    assert profile.types == pprof_form.TYPES, profile.types
    return pprof_form.by_function(profile), profile.build_ids


class Profiled(Preloaded):
    def __init__(self, **environment):
        super().__init__(program("profiled"), **environment)

    def ask(self, letter):
        assert super().ask(letter) == "done\n"


class ProfileTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def read(self, pid, *words):
        path = os.path.join(self.folder.name, "profile.pb.gz")
        done = talus("profile", *words, "-o", path, pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_bytes_of_sites_are_within_a_tenth(self):
        with Profiled(TALUS_PROFILE="16KiB") as profiled:
            path = self.read(profiled.pid)
            sums, build_ids = decoded(path)
            table = talus("profile", "--text", "--collapsed", profiled.pid).stdout
            for name, megabytes in HELD.items():
                truth = megabytes * MEGABYTE
                self.assertLess(abs(sums[name][3] - truth), truth / 10, f"{name}: {sums[name]}")
                self.assertIn(name, table)
            self.assertLess(abs(sums["churn"][1] - 200 * MEGABYTE), 20 * MEGABYTE)
            self.assertEqual(sums["churn"][3], 0)
            self.assertTrue(build_ids and all(len(one) >= 16 for one in build_ids))
            pprof = shutil.which("pprof")
            if pprof is not None:
                top = subprocess.run([pprof, "-top", path], capture_output=True, text=True,
                                     check=True, timeout=120).stdout
                self.assertIn("leak_large", top)
            profiled.ask("f")
            sums, _ = decoded(self.read(profiled.pid))
            held = sum(row[3] for name, row in sums.items() if name in HELD)
            self.assertEqual(held, 0, "all are freed, and those of the other thread as well")

    def test_counts_stand_beside_the_estimate(self):
        with Profiled(TALUS_PROFILE="16KiB") as profiled:
            done = talus("profile", "--view", "sizes", profiled.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {words[0]: [int(word) for word in words[-4:]] for words in
                map(str.split, done.stdout.splitlines()) if len(words) in (5, 6) and
                words[-1].isdigit()}
        # Few blocks of these sizes are of the C library.
        for size, allocated, live in (("112", 600000, 600000), ("512", 460000, 60000),
                                      ("2048", 20000, 20000)):
            self.assertLess(rows[size][0] - allocated, 100, rows)
            self.assertGreaterEqual(rows[size][0], allocated, rows)
            self.assertLess(abs(rows[size][2] - live), 100, rows)
            self.assertLess(abs(rows[size][1] - allocated), allocated / 10, rows)
        self.assertEqual(rows["all"][0], sum(row[0] for name, row in rows.items()
                                             if name != "all"))

    def test_each_entry_point(self):
        """Preloaded, linked shared, linked into a static program, one object, header-only."""
        for kind, more in (("plain", {"LD_PRELOAD": REAL}), ("shared", {}), ("static", {}),
                           ("object", {}), ("header", {})):
            with self.subTest(kind=kind), Process(kind, TALUS_PROFILE="16KiB", **more) as process:
                sums, _ = decoded(self.read(process.pid))
                live = look(process.pid)["heap"]["live_bytes"]
                held = sum(row[3] for row in sums.values())
                self.assertGreater(held, live / 2)
                self.assertLess(held, 2 * live)
                self.assertTrue(any(name != "?" for name in sums))

    def test_a_stopped_process_is_read(self):
        with Profiled(TALUS_PROFILE="512KiB") as profiled:
            os.kill(profiled.pid, signal.SIGSTOP)
            try:
                self.assertIn("leak_large", talus("profile", profiled.pid).stdout)
            finally:
                os.kill(profiled.pid, signal.SIGCONT)

    def test_a_process_that_was_started_plainly(self):
        with Profiled(TALUS_PRINT_STATS="/dev/null", TALUS_PRINT_STATS_TRIGGER="2") as profiled:
            done = talus("profile", profiled.pid)
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no profile", done.stderr)
            done = talus("ctl", profiled.pid, "profile", "16KiB")
            self.assertEqual(done.returncode, 0, done.stderr)
            profiled.ask("c")
            sums, _ = decoded(self.read(profiled.pid))
            self.assertLess(abs(sums["churn"][1] - 200 * MEGABYTE), 20 * MEGABYTE)
            self.assertNotIn("leak_large", sums, "blocks from before have no sample")
            done = talus("ctl", profiled.pid, "profile", "off")
            self.assertEqual(done.returncode, 0, done.stderr)
            profiled.ask("c")
            again, _ = decoded(self.read(profiled.pid))
            self.assertEqual(again["churn"], sums["churn"], "it is off")

    def test_a_span_of_time(self):
        with Profiled(TALUS_PRINT_STATS="/dev/null", TALUS_PRINT_STATS_TRIGGER="2") as profiled:
            path = os.path.join(self.folder.name, "span.pb.gz")
            with subprocess.Popen([COMMAND, "profile", "--for", "3s", "-o", path,
                                   str(profiled.pid)]) as command:
                while command.poll() is None:
                    profiled.ask("c")
                    time.sleep(0.01)
                self.assertEqual(command.returncode, 0)
            sums, _ = decoded(path)
            self.assertGreater(sums["churn"][1], 10 * MEGABYTE)


if __name__ == "__main__":
    unittest.main()
