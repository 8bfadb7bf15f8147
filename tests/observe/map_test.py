# SPDX-License-Identifier: MIT
"""Owns: `talus map`: the page has each page of Talus once, loads nothing, and runs in a browser."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from process import REAL, Process, look, talus

ABSENT, OUTSIDE = "A", "K"
SAMPLE_AREA = 7  # kinds of pieces are in tools/talus/map/pieces.js
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def data_of(text):
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text,
                                re.DOTALL)[1])


def pages_of(region):
    return [(letter, int(times or 1))
            for letter, times in re.findall(r"([A-K])(\d*)", region["pages"])]


class Map(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "map.html")

    def map_of(self, pid):
        done = talus("map", pid, "-o", self.path)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        with open(self.path, encoding="utf-8") as page:
            return page.read()

    def test_each_page_once(self):
        with Process("shared") as process:
            data, numbers = data_of(self.map_of(process.pid)), look(process.pid)
        resident, slabs, live = 0, 0, 0
        for region in data["regions"]:
            pages = pages_of(region)
            self.assertEqual(sum(times for _, times in pages),
                             sum(piece[1] for piece in region["pieces"]))
            resident += sum(times for letter, times in pages if letter not in (ABSENT, OUTSIDE))
            for piece in region["pieces"]:
                slabs += piece[0] == 0
                live += piece[2] * piece[4] if piece[0] == 0 else 0
        self.assertAlmostEqual(resident * data["page_bytes"], numbers["resident"]["total_bytes"],
                               delta=2 * data["page_bytes"])
        self.assertEqual(slabs, numbers["heap"]["slabs"])
        self.assertAlmostEqual(live / numbers["heap"]["live_small_bytes"], 1, delta=0.02)

    def test_areas_of_sampled_blocks(self):
        with Process("shared", TALUS_PROFILE="64KiB") as process:
            data, heap = data_of(self.map_of(process.pid)), look(process.pid)["heap"]
        areas = [piece for region in data["regions"] for piece in region["pieces"]
                 if piece[0] == SAMPLE_AREA]
        self.assertEqual(sum(area[1] * data["page_bytes"] for area in areas),
                         heap["sample_area_bytes"])
        self.assertEqual(sum(area[2] for area in areas), heap["sampled_blocks"])
        free = sum(area[3] for area in areas)
        self.assertLessEqual(free + heap["sampled_bytes"], heap["sample_area_bytes"])
        states = {letter for region in data["regions"] for letter, _ in pages_of(region)}
        self.assertTrue(areas and states)

    def test_one_file(self):
        with Process("shared") as process:
            text = self.map_of(process.pid)
        self.assertNotRegex(text, r"(?i)https?://|@import|url\(|<link|<img|src=")
        self.assertNotIn("@DATA@", text)

    def test_a_gib_is_quick(self):
        with Process("shared") as process:
            process.ask("l")
            begin = time.monotonic()
            self.map_of(process.pid)
            taken = time.monotonic() - begin
        self.assertLess(os.path.getsize(self.path), 3 << 20)
        self.assertLess(taken, 5)

    @unittest.skipUnless(shutil.which("gcore"), "needs gcore")
    def test_a_core_file(self):
        """All pages count as resident, and the pieces are those of the stopped process."""
        with Process("shared") as process:
            os.kill(process.pid, signal.SIGSTOP)
            live = data_of(self.map_of(process.pid))
            subprocess.run(["gcore", "-o", os.path.join(self.folder.name, "core"),
                            str(process.pid)], check=True, capture_output=True, timeout=120)
            os.kill(process.pid, signal.SIGCONT)
        data = data_of(self.map_of(os.path.join(self.folder.name, f"core.{process.pid}")))
        self.assertEqual((live["pages_known"], data["pages_known"]), (True, False))
        self.assertEqual(data["process"], process.pid)

        def slabs_of(seen):
            return sorted(piece for region in seen["regions"] for piece in region["pieces"]
                          if piece[0] == 0)

        self.assertTrue(slabs_of(data))
        self.assertEqual(slabs_of(data), slabs_of(live))
        states = {letter for region in data["regions"] for letter, _ in pages_of(region)}
        self.assertTrue(states - {ABSENT, OUTSIDE}, "pages have colours")

    @unittest.skipUnless(BROWSER, "needs chromium")
    def test_in_a_browser(self):
        with Process("plain", LD_PRELOAD=REAL) as process:
            self.map_of(process.pid)
            pid = process.pid
        for fragment in ("#light", "#dark,mode=class,zoom=6,point=300,300"):
            done = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                 "--user-data-dir=" + self.folder.name, "--virtual-time-budget=2000", "--dump-dom",
                 "file://" + self.path + fragment], capture_output=True, text=True, check=False,
                timeout=100)
            self.assertNotRegex(done.stderr, "Uncaught")
            self.assertIn(f"process {pid}</h1>", done.stdout)
            self.assertRegex(done.stdout, r'aria-pressed="true"')
            self.assertIn('class="pick"', done.stdout)

    def test_refusals(self):
        with Process("shared") as process:
            pid = process.pid
            for words, code in ((["map"], 2), (["map", pid], 2),
                                (["map", os.getpid(), "-o", "-"], 1),
                                (["map", pid, "-o", "/nowhere/map.html"], 2),
                                (["map", pid, "-o", "/dev/full"], 2)):
                done = talus(*words)
                self.assertEqual((done.returncode, done.stdout), (code, ""), words)
                self.assertRegex(done.stderr, r"\Atalus: [^\n]+\n\Z")
            self.assertIn("</html>", talus("map", pid, "-o", "-").stdout)


if __name__ == "__main__":
    unittest.main()
