# SPDX-License-Identifier: MIT
"""Owns: the tests of what `talus compare` writes: JSON and the page hold every sample, and are
valid whatever the program is called.
"""

import re
import unittest
import xml.etree.ElementTree as tree

from command import program
from compare_test import Folder

PROGRAM = program("compare_program")
SAMPLE_KEYS = {
    "round", "counted", "end", "number", "wall_s", "peak_rss_kib", "cpu_s", "user_s", "sys_s",
    "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "rss_floor_kib",
    "output_bytes", "output_fnv1a", "left_processes"}


class Show(Folder):
    def test_json_and_page(self):
        page = self.path("page.html")
        odd = b"<b>&\"\xff\x01\xef\xbf\xbe\xef\xbf\xbf".decode("utf-8", "surrogateescape")
        _, told, found = self.compare(("same",), PROGRAM, "brief", odd, options=("--html", page))
        self.assertEqual((told["format"], told["reference"]), (2, "libc"))
        self.assertEqual(told["program"], [PROGRAM, "brief", "<b>&\"\ufffd\x01\ufffe\uffff"])
        self.assertGreater(told["machine"]["processors"], 0)
        for one in found.values():
            for sample in one["samples"] + one["warm_ups"]:
                self.assertEqual(set(sample), SAMPLE_KEYS)
                self.assertGreater(sample["wall_s"], 0)
                self.assertEqual(sample["counted"], sample["round"] > 0)
            self.assertEqual(one["counted"], 3)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        root = tree.fromstring(text)
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(list(root.iter(space + "svg"))), 3)
        self.assertEqual(len(list(root.iter(space + "circle"))), 3 * 2 * 3)
        shown = "".join(root.itertext())
        self.assertIn(f"Made at {told['date']} by ", shown)
        self.assertIn(" compare --rounds 3 --alloc same=", shown)
        first = next(root.iter("{http://www.w3.org/1999/xhtml}p"))
        self.assertTrue(first.text.startswith(told["verdict"]), first.text)
        rows = list(root.iter("{http://www.w3.org/1999/xhtml}tr"))
        self.assertEqual([row[0].text for row in rows], ["allocator", "libc", "same"] * 3)
        self.assertEqual([len(row) for row in rows], [6] * 9)
        self.assertIn("prefers-color-scheme: dark", text)
        self.check_phone(text, root)
        loads = re.findall(r"(?:src|href|url)\s*[=(]", text)
        self.assertEqual(loads, [], "the page loads nothing")

    def check_phone(self, text, root):
        """Nothing has a width of its own but what stands in a box that scrolls."""
        self.assertIn('name="viewport" content="width=device-width, initial-scale=1"', text)
        style = re.search("<style>(.*?)</style>", text, re.S).group(1)
        self.assertEqual(re.findall(r"(?<!max-)width:\s*[\d.]+(?:px|r?em)", style), [])
        self.assertRegex(style, r"\.scroll \{ overflow-x: auto; \}")
        wide = [child.tag.split("}")[1] for box in root.iter() if box.get("class") == "scroll"
                for child in box]
        self.assertEqual(wide, ["table", "svg"] * 3)
        self.assertEqual(len(re.findall("<(?:table|svg)[ >]", text)), 6)

    def test_quiet(self):
        result, _, _ = self.compare(("same",), PROGRAM, "print", options=("--quiet",))
        self.assertEqual((result.stdout, result.stderr), ("", ""))


if __name__ == "__main__":
    unittest.main()
