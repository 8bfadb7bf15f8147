# Tests of the page in a real browser: no errors, no request, all cells, both themes, keyboard, a
# phone's width, paper. Skipped, with the reason, if Chromium or jinja2 is missing.
#
# SPDX-License-Identifier: MIT

import importlib.util
import tempfile
import unittest
from pathlib import Path

from bench.report import charts, figures, palette, record

from . import browser
from .made_up import everything

PROGRAM = browser.find()
MISSING = ("jinja2 is not installed" if not importlib.util.find_spec("jinja2") else
           "no Chromium is installed" if not PROGRAM else None)
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def rgb(name: str, theme: int) -> str:
    colour = palette.COLOURS[name][theme]
    return "rgb(" + ", ".join(str(int(colour[at:at + 2], 16)) for at in (1, 3, 5)) + ")"


@unittest.skipIf(MISSING, MISSING)
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from bench.report import page
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = Path(cls.folder.name) / "report.html"
        cls.record = record.from_data(everything())
        drawn = charts.Charts(figures.compute(cls.record))
        cls.page.write_text(page.render(drawn), encoding="utf-8")
        cls.files = drawn.files()
        cls.browser = browser.Browser(PROGRAM)
        cls.addClassCleanup(cls.browser.__exit__)

    def click(self, selector: str) -> None:
        self.assertTrue(self.browser.run(
            f"(one => one ? (one.click(), true) : false)(document.querySelector(`{selector}`))"),
            selector)

    def rows(self) -> list[str]:
        return self.browser.run("[...document.querySelectorAll('.is-shown tbody th')]"
                                ".map(one => one.textContent)")

    def tearDown(self):
        self.assertEqual([], self.browser.errors)

    def test_the_browser_tells_of_errors(self):
        broken = self.page.with_name("broken.html")
        broken.write_text("<script>console.error('told'); nothing.at.all()</script>"
                          "<img src='http://127.0.0.1:9/gone.png'>")
        self.browser.show(broken)
        told = " ".join(self.browser.errors)
        self.browser.errors.clear()
        for words in ("told", "nothing is not defined", "asked the network"):
            self.assertIn(words, told)

    def test_the_policy_keeps_the_page_off_the_network(self):
        self.browser.show(self.page)
        self.browser.run("new Promise(done => { const one = new Image(); one.onerror = done;"
                         " one.onload = done; one.src = 'http://127.0.0.1:9/gone.png'; })"
                         ".then(() => 1)")
        told = " ".join(self.browser.errors)
        self.browser.errors.clear()
        self.assertIn("Content Security Policy", told)

    def test_heat_map_has_all_cells(self):
        self.browser.show(self.page)
        whole = len(self.record.workloads) * len(self.record.allocators)
        for figure in ("time", "rss_kib"):
            self.click(f"[data-map={figure}]")
            self.assertEqual(whole, self.browser.run(
                "[...document.querySelectorAll('.is-shown tbody td:not(.rank)')].filter("
                "one => one.offsetWidth && one.textContent.trim()).length"))

    def test_both_themes_and_the_switch(self):
        for number, theme in enumerate(("light", "dark")):
            self.browser.show(self.page, theme=theme)
            self.assertEqual(rgb("page", number), self.browser.run(BACKGROUND))
            other = ("dark", "light")[number]
            self.click(f"[data-theme-choice={other}]")
            self.assertEqual(rgb("page", 1 - number), self.browser.run(BACKGROUND))
            self.assertEqual(rgb("ink", 1 - number), self.browser.run(
                "getComputedStyle(document.querySelector('.chart .chart-title')).fill"))
            self.click("[data-theme-choice='']")
            self.assertEqual(rgb("page", number), self.browser.run(BACKGROUND))

    def test_sorting(self):
        self.browser.show(self.page)
        first = self.rows()
        self.click(".controls [data-sort=rank]")
        by_rank = self.rows()
        self.assertEqual("B4", by_rank[0])
        self.assertEqual(sorted(first), sorted(by_rank))
        self.click(".is-shown thead .own button")
        self.assertEqual("B4", self.rows()[0])
        self.assertEqual("descending", self.browser.run(
            "document.querySelector('.is-shown th.own').getAttribute('aria-sort')"))
        self.click(".is-shown thead .corner-cell button")
        self.assertEqual(first, self.rows())

    def test_a_link_opens_its_section(self):
        self.browser.show(self.page)
        self.click(".is-shown tbody th a[href='#w-b4']")
        self.browser.run("new Promise(done => setTimeout(done, 100)).then(() => 1)")
        self.assertEqual([True, "SUMMARY"], self.browser.run(
            "[document.getElementById('w-b4').open, document.activeElement.tagName]"))
        shown = self.browser.run(
            "document.querySelector('#w-b4 summary').getBoundingClientRect().top"
            " - document.querySelector('.bar').getBoundingClientRect().bottom")
        self.assertGreaterEqual(shown, 0)

    def test_highlight(self):
        self.browser.show(self.page)
        faint = ("[...document.querySelectorAll('figure [data-allocator]')].filter("
                 "one => getComputedStyle(one).opacity < 0.5).map(one => one.dataset.allocator)")
        self.assertEqual([], self.browser.run(faint))
        self.click("[data-highlight=glibc]")
        found = set(self.browser.run(faint))
        self.assertEqual(set(self.record.allocators) - {"glibc"}, found)

    def test_keyboard_reaches_what_can_be_used(self):
        self.browser.show(self.page)
        for _ in range(3):
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                                  windowsVirtualKeyCode=9)
        self.assertEqual(["A", "solid"], self.browser.run(
            "[document.activeElement.tagName, getComputedStyle(document.activeElement)"
            ".outlineStyle]"))
        self.assertEqual([], self.browser.run(
            "[...document.querySelectorAll('.scroll')].filter(one => one.tabIndex !== 0 ||"
            " !one.getAttribute('aria-label')).map(one => one.outerHTML.slice(0, 80))"))
        self.assertEqual([], self.browser.run(
            "[...document.querySelectorAll('figure svg')].filter("
            "one => !one.getAttribute('aria-label')).length ? ['unnamed'] : []"))

    def test_phone_width_never_scrolls_sideways(self):
        self.browser.show(self.page, width=360)
        self.click("[data-open-all=open]")
        self.assertEqual(360, self.browser.run("document.documentElement.scrollWidth"))
        self.assertTrue(self.browser.run("!!document.querySelector('.only-narrow').offsetWidth"))
        self.assertGreater(self.browser.run(
            "Math.min(...[...document.querySelectorAll('main p, main dd, .tiles li')]"
            ".filter(one => one.offsetWidth).map(one => parseFloat(getComputedStyle(one)"
            ".fontSize)))"), 11)

    def test_all_is_there_without_the_script(self):
        self.browser.show(self.page, has_script=False)
        # The tests' own expressions still run: only the page's script was blocked.
        self.assertEqual([2, 0], self.browser.run(
            "[[...document.querySelectorAll('.heat-map')].filter(one => one.offsetHeight).length,"
            " [...document.querySelectorAll('[data-needs-script]')].filter("
            "one => one.offsetHeight).length]"))

    def test_prints(self):
        self.browser.show(self.page, theme="dark")
        self.browser.call("Emulation.setEmulatedMedia", media="print", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(rgb("page", 0), self.browser.run(BACKGROUND))
        self.assertEqual(2, self.browser.run("[...document.querySelectorAll('.heat-map')].filter("
                                             "one => one.offsetHeight).length"))
        self.assertTrue(self.browser.printed().startswith(b"%PDF"))

    def test_charts_of_their_own_follow_the_theme(self):
        for name, text in self.files.items():
            path = self.page.with_name(name)
            path.write_text(text, encoding="utf-8")
            for number, theme in enumerate(("light", "dark")):
                with self.subTest(f"{name} {theme}"):
                    self.browser.show(path, theme=theme)
                    self.assertEqual(rgb("card", number), self.browser.run(
                        "getComputedStyle(document.querySelector('.paper')).fill"))


if __name__ == "__main__":
    unittest.main()
