# Tests of the page as text and of the command: required content, forbidden content, and the
# messages for missing files.
#
# SPDX-License-Identifier: MIT

import contextlib
import html
import html.parser
import importlib.util
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import kept
from bench.report import __main__ as command
from bench.report import charts, figures, record

from .made_up import ODD_NAME, everything, record as made_record, runs, sample

VOID = {"meta", "link", "br"}
MISSING = None if importlib.util.find_spec("jinja2") else "jinja2 is not installed"
BYTES_MAX = 3 << 20


class Nesting(html.parser.HTMLParser):
    """Ids, local links, and whether all elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at line {self.getpos()[0]}")


def rendered(data: dict) -> str:
    from bench.report import page
    return page.render(charts.Charts(figures.compute(record.from_data(data))))


@unittest.skipIf(MISSING, MISSING)
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = rendered(everything())

    def test_is_well_nested_and_links_lead_somewhere(self):
        nesting = Nesting()
        nesting.feed(self.text)
        self.assertEqual(([], []), (nesting.wrong, nesting.open))
        self.assertEqual(len(nesting.ids), len(set(nesting.ids)))
        local = {link[1:] for link in nesting.links if link.startswith("#")}
        self.assertEqual(set(), local - set(nesting.ids))
        self.assertLessEqual({link for link in nesting.links if link[:1] != "#"}, {"data:,"})

    def test_needs_nothing_else(self):
        self.assertNotRegex(self.text, r"""(src|href)=["']?(https?:|//|/)|@import|url\(""")
        self.assertNotIn("{{", self.text)

    def test_text_of_a_result_stays_text(self):
        self.assertNotIn("<script>bad", self.text)
        self.assertIn("SIGSEGV: &lt;script&gt;bad", self.text)
        self.assertIn(html.escape(ODD_NAME, quote=False).replace("'", "&#39;").replace(
            '"', "&#34;"), self.text)

    def test_holds_what_the_result_holds(self):
        for words in ("0123456789ab with changes", "redis-server is not installed", "Made-up 1",
                      "python3 -m bench --quick", "bench_made_up --scale 1", "no run succeeded",
                      "ran past its time limit", "After the last free", "Instructions of a malloc"):
            self.assertIn(words, self.text)

    def test_folders_of_the_machine_are_left_out(self):
        data = everything()
        data["allocators"][0]["path"] = "/home/user/libtalus.so"
        text = rendered(data)
        self.assertIn("libtalus.so", text)
        self.assertNotIn("/home/user", text)

    def test_presets_are_no_allocators_that_talus_is_against(self):
        data = made_record([sample("V", name, time) for name, time in (
            ("talus", 2), ("talus-fast", 1), ("talus-tiny", 9), ("glibc", 3), ("jemalloc", 4))])
        text = rendered(data)
        self.assertIn("Talus against 2 allocators", text)
        self.assertIn("talus is the fastest of 3", text.lower())

    def test_a_kept_run_is_shown_without_its_samples(self):
        data = json.loads(kept.text_of(kept.keep(kept.from_full(everything()))))
        text = rendered(data)
        nesting = Nesting()
        nesting.feed(text)
        self.assertEqual(([], []), (nesting.wrong, nesting.open))
        for words in ("Time, medians and intervals", "ran past its time limit", "SIGSEGV",
                      "0123456789ab with changes", "After the last free"):
            self.assertIn(words, text)
        self.assertNotIn("every run</text>", text)
        self.assertNotIn("<circle cx", text.split('id="w-b4"')[-1].split("</svg>")[0])
        full = charts.Charts(figures.compute(record.from_data(everything())))
        short = charts.Charts(figures.compute(record.from_data(data)))
        for name in full.record.allocators:
            for figure in figures.FIGURES:
                one, other = (each.to_best[name, figure] for each in (full, short))
                self.assertEqual(one is None, other is None)
                if one:
                    self.assertAlmostEqual(one.value, other.value, delta=one.value / 500)
                    self.assertEqual(one.count, other.count)
        self.assertEqual(full.figures.runs(), short.figures.runs())
        self.assertEqual(set(full.files()), set(short.files()))

    def test_bare_results(self):
        for data in ({"samples": [sample("V", "talus")]},
                     {"samples": [sample("V", "a", outcome="crash", reason="x")]},
                     {"samples": [sample("V", "talus", 0.0, 0), sample("V", "b", 0.0, 0)]},
                     {"samples": [sample("V", "b"), sample("W", "c")], "allocators": [
                         {"name": "never run"}], "machine": {}, "commit": None},
                     made_record([{"workload": "V", "allocator": "a", "outcome": "ok"}])):
            nesting = Nesting()
            nesting.feed(rendered(data))
            self.assertEqual([], nesting.wrong)

    def test_full_size_stays_below_the_limit(self):
        names = ["talus", *(f"peer-{number}" for number in range(13))]
        data = made_record([one for number in range(60) for name in names
                            for one in runs(f"W{number}", name, [1, 1.1, 0.9, 1.2, 1.05])])
        self.assertLess(len(rendered(data).encode()), BYTES_MAX)


class Command(unittest.TestCase):
    def run_command(self, *words: str) -> tuple[int, str]:
        with contextlib.redirect_stderr(io.StringIO()) as errors, \
                contextlib.redirect_stdout(io.StringIO()):
            status = command.main(list(words))
        return status, errors.getvalue()

    @unittest.skipIf(MISSING, MISSING)
    def test_writes_page_and_charts(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            result.write_text(json.dumps(everything()))
            self.assertEqual((0, ""), self.run_command(str(result)))
            written = {path.name for path in (Path(folder) / "result-report").iterdir()}
            self.assertEqual({"report.html", "means.svg", "versus.svg", "heat-time.svg",
                              "heat-memory.svg", "time-memory.svg", "curves.svg"}, written)

    def test_no_result(self):
        status, errors = self.run_command("/nowhere/result.json")
        self.assertEqual(2, status)
        self.assertIn("No such file", errors)

    def test_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            result.write_text(json.dumps(everything()))
            missing = ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
            with mock.patch("importlib.import_module", side_effect=missing):
                status, errors = self.run_command(str(result))
            self.assertEqual(2, status)
            self.assertIn("jinja2 is missing", errors)
            self.assertIn("requirements.lock", errors)


if __name__ == "__main__":
    unittest.main()
