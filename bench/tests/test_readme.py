# Tests that README, the page of benchmarks and their charts show the figures of the kept run.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import re
import shutil
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path
from unittest import mock

from bench import kept, readme, tail

FIGURE = re.compile(r"\d+\.\d\d")


class Shown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shown = readme.Shown(kept.FOLDER / readme.SHOWN)
        cls.files = readme.wanted(readme.ROOT, cls.shown)

    def copy(self) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name in self.files:
            target = Path(folder.name) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(readme.ROOT / name, target)
        return Path(folder.name)

    def test_pages_and_charts_are_those_of_the_kept_run(self):
        self.assertEqual([], readme.differing(readme.ROOT, self.files),
                         "run: python3 -B -m bench.readme")

    def test_each_chart_of_the_folder_is_generated_or_drawn_by_another_command(self):
        charts = {f"{readme.CHARTS}/{path.name}"
                  for path in (readme.ROOT / readme.CHARTS).glob("*.svg")}
        self.assertEqual({f"{readme.CHARTS}/drift.svg", tail.CHART}, charts - set(self.files))

    def test_one_wrong_digit_is_found(self):
        for name in ("README.md", f"{readme.CHARTS}/{readme.PICTURE}",
                     f"{readme.CHARTS}/heat-time.svg"):
            root = self.copy()
            text = (root / name).read_text(encoding="utf-8")
            wrong = text.replace("1.18", "1.17", 1)
            self.assertNotEqual(text, wrong, name)
            (root / name).write_text(wrong, encoding="utf-8")
            found = readme.differing(root, readme.wanted(root, self.shown))
            self.assertEqual([name], found)

    def test_prose_around_the_blocks_may_change(self):
        root = self.copy()
        page = root / "README.md"
        page.write_text("Other words.\n" + page.read_text(encoding="utf-8"), encoding="utf-8")
        self.assertEqual([], readme.differing(root, readme.wanted(root, self.shown)))

    def test_a_lost_or_unknown_block_is_refused(self):
        for text in ("No block at all.\n",
                     "<!-- generated: nothing-like-it -->\n<!-- end -->\n"):
            root = self.copy()
            (root / "README.md").write_text(text)
            with self.assertRaisesRegex(ValueError, "README.md: "):
                readme.wanted(root, self.shown)

    def test_the_picture_the_table_and_the_charts_show_the_same_figures(self):
        picture = xml.fromstring(self.files[f"{readme.CHARTS}/{readme.PICTURE}"])
        bars = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")
                if one.get("class") == "value"]
        rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]]
                for line in self.shown.beside_the_best().splitlines()]
        columns = [rows[0].index(name) for name in ("Talus", "glibc", "jemalloc", "mimalloc 3")]
        self.assertEqual([rows[line][at] for line in (2, 3) for at in columns], bars)
        alt = FIGURE.findall(self.shown.picture_alt())
        self.assertEqual([rows[line][at] for at in columns for line in (2, 3)], alt)
        scatter = self.files[f"{readme.CHARTS}/time-memory.svg"]
        for name in self.shown.names:
            time, memory = (f"{value:.2f}" for value in self.shown.beside(name))
            self.assertIn(f"{name}: {time} time, {memory} memory", scatter)

    def test_the_definition_is_stated_once(self):
        stated = [page for page in readme.ROOT.glob("docs/**/*.md")
                  if "## Beside the best" in page.read_text(encoding="utf-8")]
        self.assertEqual([readme.ROOT / "docs/benchmarks/README.md"], stated)

    def test_check_writes_nothing(self):
        root = self.copy()
        page = root / "README.md"
        page.write_text(page.read_text(encoding="utf-8").replace("1.18", "9.99"), encoding="utf-8")
        with mock.patch.object(readme, "ROOT", root), \
                contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(1, readme.main(["--check"]))
            self.assertIn("differs: README.md", output.getvalue())
            self.assertIn("9.99", page.read_text(encoding="utf-8"))
            self.assertEqual(0, readme.main([]))
            self.assertNotIn("9.99", page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
