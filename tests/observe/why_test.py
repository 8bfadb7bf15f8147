# SPDX-License-Identifier: MIT
"""Owns: `talus why`: its parts sum to Rss, and the advised call gives back what it says."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from process import REAL, Process, look, rss_of, talus


def picture_of(pid):
    done = talus("why", "--json", pid)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def sum_of(seen):
    return sum(value for group in seen["parts"].values() for value in group.values())


class Why(unittest.TestCase):
    def test_parts_sum_to_rss(self):
        for kind, options in (("shared", {}), ("static", {}), ("header", {}),
                              ("plain", {"LD_PRELOAD": REAL}), ("header", {"LD_PRELOAD": REAL})):
            with self.subTest(kind, **options), Process(kind, **options) as process:
                seen = picture_of(process.pid)
                self.assertEqual(seen["total_bytes"], rss_of(process.pid))
                self.assertEqual(sum_of(seen), seen["total_bytes"] + seen["beyond_total_bytes"])
                self.assertLess(seen["beyond_total_bytes"], 64 << 10)

    def test_a_busy_process_sums_as_well(self):
        with Process("shared", TALUS_HELPER="1") as process:
            process.ask("b")
            for _ in range(5):
                seen = picture_of(process.pid)
                self.assertEqual(sum_of(seen), seen["total_bytes"] + seen["beyond_total_bytes"])

    def test_parts_are_those_of_stats(self):
        with Process("shared") as process:
            seen, numbers = picture_of(process.pid), look(process.pid)["resident"]
        parts = {name: value for group in seen["parts"].values() for name, value in group.items()}
        for part, names in (("live_large_bytes", ["live_large_bytes"]),
                            ("kept_bytes", ["kept_bytes"]),
                            ("ranges_bytes", ["retained_bytes"]),
                            ("pinned_bytes free_pages_bytes", ["free_bytes"]),
                            ("metadata_bytes ends_bytes", ["metadata_bytes", "rest_bytes"])):
            self.assertAlmostEqual(sum(parts[name] for name in part.split()),
                                   sum(numbers[name] for name in names), delta=8192, msg=part)
        # Where lists have blocks is looked up here, and is a share of all there.
        out = ["live_small_bytes", "listed_bytes", "remote_bytes"]
        self.assertAlmostEqual(parts["live_small_bytes"] + parts["lists_bytes"],
                               sum(numbers[name] for name in out), delta=8192)

    def test_areas_of_sampled_blocks(self):
        """Areas have parts and words of their own, and their numbers are those of `stats`."""
        with Process("shared", TALUS_PROFILE="64KiB") as process:
            seen, heap = picture_of(process.pid), look(process.pid)["heap"]
            own = process.own_numbers()["heap"]
            page = talus("why", process.pid).stdout
        areas = seen["sample_areas"]
        self.assertGreater(areas["samples"], 100)
        self.assertEqual(areas["samples"], heap["sampled_blocks"])
        self.assertEqual(areas["bytes"], heap["sample_area_bytes"])
        self.assertLessEqual(areas["room_bytes"] + heap["sampled_bytes"], areas["bytes"])
        for name in ("sampled_blocks", "sampled_bytes", "sample_area_bytes"):
            self.assertEqual(own[name], heap[name], name)
        # Each block has whole units of 512 bytes. Its pages are resident where it was written to.
        self.assertGreater(heap["sampled_bytes"] + areas["room_bytes"] + 512 * areas["samples"],
                           areas["bytes"])
        in_use, free = seen["parts"]["in_use"], seen["parts"]["free"]
        self.assertGreater(in_use["sampled_bytes"], 0)
        self.assertLessEqual(in_use["sampled_bytes"], heap["sampled_bytes"])
        self.assertLessEqual(free["sample_room_bytes"], areas["room_bytes"])
        self.assertEqual(sum_of(seen), seen["total_bytes"] + seen["beyond_total_bytes"])
        self.assertRegex(page, r"(?m)^  sampled blocks  ")
        self.assertIn(f", {areas['samples']} samples, ", page)

    def test_trim_gives_what_it_says(self):
        with Process("shared") as process:
            process.ask("w")
            before = rss_of(process.pid)
            advised = {row["name"]: row["bytes"] for row in picture_of(process.pid)["advice"]}
            process.ask("t")
            given = before - rss_of(process.pid)
            after = picture_of(process.pid)
        self.assertGreater(advised["trim"], 8 << 20)
        self.assertAlmostEqual(given / advised["trim"], 1, delta=0.1)
        self.assertNotIn("trim", [row["name"] for row in after["advice"]])

    def test_memory_kept_for_bursts(self):
        """Three bursts a second apart make a pattern. Then their memory stays."""
        with Process("shared", TALUS_HELPER="1") as process:
            process.ask("w")
            time.sleep(3.5)  # what the process took at its start is no burst
            process.ask("c")
            time.sleep(1)
            self.assertEqual(picture_of(process.pid)["burst_bytes"], 0)
            for _ in range(3):
                process.ask("c")
                time.sleep(1)
            kept = picture_of(process.pid)["burst_bytes"]
            page = talus("why", process.pid).stdout
        self.assertAlmostEqual(kept, 64 << 20, delta=8 << 20)
        self.assertIn("kept for the next burst: 6", page)

    def test_ages_of_free_memory(self):
        """Slabs by age are all slabs; an age grows while no block is taken from its slabs."""
        with Process("shared", TALUS_HELPER="1", TALUS_DECAY_MS="1000",
                     TALUS_PRINT_STATS="/dev/null", TALUS_PRINT_STATS_TRIGGER="2",
                     TALUS_PRINT_STATS_MS="3600s") as process:
            process.ask("w")
            young = picture_of(process.pid)
            time.sleep(3)
            old = picture_of(process.pid)
        for seen in (young, old):
            for field in ("slabs", "resident_bytes", "free_bytes"):
                self.assertEqual(sum(row[field] for row in seen["ages"]),
                                 sum(row[field] for row in seen["survivors"]), field)
        ages = [row["free_age_ms"] for seen in (young, old) for row in seen["classes"]
                if row["block_bytes"] == 128]
        self.assertEqual(len(ages), 2)
        self.assertLess(ages[0], 3000)
        self.assertGreater(ages[1], ages[0])

    def test_nothing_would_help(self):
        with Process("shared") as process:
            process.ask("t")
            text = talus("why", process.pid).stdout
        self.assertIn("Nothing would help.", text)

    def test_text(self):
        with Process("shared") as process:
            for locale, bar in (("C.UTF-8", "█"), ("C", "#")):
                environment = dict(os.environ, LC_ALL=locale)
                text = talus("why", process.pid, env=environment).stdout
                self.assertIn("What helps most:", text)
                self.assertIn(bar, text)
                self.assertNotIn("\033", text)
                self.assertEqual(text.isascii(), locale == "C")
                self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
                for group in ("in use", "free", "Talus' own", "not Talus'", "slabs by class"):
                    self.assertRegex(text, re.compile(f"^{group}", re.MULTILINE))

    def test_stopped_process_and_its_core(self):
        with Process("shared") as process:
            os.kill(process.pid, signal.SIGSTOP)
            live = picture_of(process.pid)
            if shutil.which("gcore"):
                with tempfile.TemporaryDirectory() as folder:
                    subprocess.run(["gcore", "-o", f"{folder}/core", str(process.pid)], check=True,
                                   capture_output=True, timeout=120)
                    core = picture_of(f"{folder}/core.{process.pid}")
                self.assertFalse(core["pages_known"])
                self.assertEqual(core["advice"], [])
                self.assertEqual([row["slabs"] for row in core["survivors"]],
                                 [row["slabs"] for row in live["survivors"]])
                self.assertGreaterEqual(core["parts"]["in_use"]["live_small_bytes"],
                                        live["parts"]["in_use"]["live_small_bytes"])
            os.kill(process.pid, signal.SIGCONT)

    def test_refusals(self):
        for words, code in ((["why"], 2), (["why", "0"], 2), (["why", os.getpid()], 1),
                            (["why", "/nowhere"], 2)):
            done = talus(*words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), words)
            self.assertRegex(done.stderr, r"\Atalus: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
