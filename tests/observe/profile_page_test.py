# SPDX-License-Identifier: MIT
"""Owns: the page of `talus profile`, and differences of two profiles."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import pprof_form
from process import talus
from profile_test import MEGABYTE, Profiled

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def data_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r"(?i)https?://(?!www.w3.org)|@import|url\(|<link|<img|src=", text)
    assert "@SCRIPT@" not in text and "@LOOK@" not in text and "@DATA@" not in text
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text,
                                re.DOTALL)[1])


def sums_of(data):
    """{innermost function: [allocated, live and peak ones, each as blocks and bytes]}"""
    sums = {}
    for stack, _, *values in data["stacks"]:
        name = data["frames"][stack[-1]][0]
        sums[name] = [a + b for a, b in zip(sums.get(name, [0] * 6), values[:6])]
    return sums


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def profile(self, *words):
        done = talus("profile", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def seen(self, name, fragment):
        """The page as a browser has it, and nothing went wrong in it."""
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             "--user-data-dir=" + self.path("browser"), "--virtual-time-budget=2000",
             "--window-size=1200,900", "--dump-dom", "file://" + self.path(name) + fragment],
            capture_output=True, text=True, check=False, timeout=100)
        self.assertNotRegex(done.stderr, "Uncaught")
        return done.stdout

    def test_the_data_and_both_forms_at_once(self):
        with Profiled(TALUS_PROFILE="64KiB") as profiled:
            self.profile("-o", self.path("a.html"), "-o", self.path("a.pb.gz"), profiled.pid)
        data, file = data_of(self.path("a.html")), pprof_form.read(self.path("a.pb.gz"))
        page, addresses = sums_of(data), pprof_form.by_function(file)
        self.assertEqual(page.keys(), addresses.keys())
        # The file rounds each stack of addresses, the page what several of them have in a line.
        rounding = 1 + len(data["stacks"]) // 2
        for name, values in page.items():
            for value, other in zip(values, addresses[name]):
                self.assertLessEqual(abs(value - other), rounding, name)
        self.assertAlmostEqual(sum(one[1] for one in data["ages"]),
                               sum(row[5] for row in data["stacks"]), delta=MEGABYTE)

    @unittest.skipUnless(BROWSER, "needs chromium")
    def test_search_zoom_and_order_in_a_browser(self):
        with Profiled(TALUS_PROFILE="64KiB") as profiled:
            self.profile("-o", self.path("a.html"), profiled.pid)
        text = self.seen("a.html", "#light")
        rows = re.search(r'<tbody id="rows">(.*?)</tbody>', text, re.DOTALL)[1]
        self.assertLess(rows.index("leak_large"), rows.index("leak_aligned"), "by live bytes")
        flame = re.search(r'<div id="flame".*?</div></div>', text, re.DOTALL)[0]
        self.assertRegex(flame, r">main<")
        self.assertNotIn("churn", flame, "it holds nothing")
        self.assertRegex(self.seen("a.html", "#measure=2"), r'role="treeitem"[^>]*>churn<')
        text = self.seen("a.html", "#sort=7,search=leak_s")
        self.assertRegex(text, r'class="[^"]*found"[^>]*>leak_small<')
        self.assertRegex(text, r'id="hits">[\d.]+ MiB found')
        self.assertNotIn("leak_large ", re.search(r'<tbody id="rows">(.*?)</tbody>', text,
                                                  re.DOTALL)[1], "the table has what was found")
        text = self.seen("a.html", "#dark,zoom=leak_large")
        self.assertRegex(text, r'class="above"[^>]*>main<')
        self.assertNotRegex(text, r'role="treeitem"[^>]*>leak_small<')

    def test_a_difference(self):
        with Profiled(TALUS_PROFILE="16KiB") as profiled:
            self.profile("-o", self.path("a.pb.gz"), profiled.pid)
            profiled.ask("c")
            profiled.ask("f")
            text = self.profile("--diff", self.path("a.pb.gz"), "--text", "-o",
                                self.path("d.pb.gz"), "-o", self.path("d.html"), profiled.pid)
            self.profile("-o", self.path("b.pb.gz"), profiled.pid)
        self.assertRegex(text, r"(?m)^ +-9\d\.\d MiB +-\d+ .* leak_large")
        self.assertRegex(text, r"(?m)\+\d+\.\d MiB +\d+  churn")
        # Two files give what a file and the process gave.
        self.profile("--diff", self.path("a.pb.gz"), "-o", self.path("e.pb.gz"),
                     self.path("b.pb.gz"))
        for name in ("d.pb.gz", "e.pb.gz"):
            sums = pprof_form.by_function(pprof_form.read(self.path(name)))
            self.assertAlmostEqual(sums["leak_large"][3], -100 * MEGABYTE, delta=MEGABYTE)
            self.assertAlmostEqual(sums["churn"][1], 200 * MEGABYTE, delta=20 * MEGABYTE)
        data = data_of(self.path("d.html"))
        self.assertTrue(data["is_difference"])
        self.assertLess(sums_of(data)["leak_large"][3], -99 * MEGABYTE)
        if BROWSER:
            text = self.seen("d.html", "#light")
            self.assertRegex(text, r'class="less">-9\d\.\d MiB')
            self.assertRegex(text, r"background:\s*hsl\(214[^>]*>leak_large|leak_large")
        if shutil.which("pprof"):
            top = subprocess.run(["pprof", "-top", self.path("d.pb.gz")], capture_output=True,
                                 text=True, check=True, timeout=120).stdout
            self.assertRegex(top, r"-9\d\.\d+MB.*leak_large")

    def test_a_file_that_is_no_profile(self):
        for name, data in (("short.gz", b"\x1f\x8b\x08"), ("other.gz", None)):
            with open(self.path(name), "wb") as file:
                file.write(pprof_form.packed(b"\x0a\xff\xff\x03x") if data is None else data)
            done = talus("profile", "--diff", self.path(name), self.path(name))
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertRegex(done.stderr, r"\Atalus: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
