#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual, and looks whether what readers search is in it.

    manual_test.py SOURCE BUILD

Owns: that no page has a link into nothing (Sphinx's warnings are errors), and that each function of
the C headers is an entry. The tables of contents have each page. The site works from a folder.
Ends with 77 where Sphinx, MyST or the theme is not installed.
"""
import html.parser
import os
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = sys.argv[1:3]
PYTHON = next((python for python in ("/usr/bin/python3", sys.executable) if subprocess.run(
    [python, "-c", "import sphinx, myst_parser, furo"], capture_output=True,
    check=False).returncode == 0), None)
MANUAL = os.path.join(BUILD, "manual")


class Page(html.parser.HTMLParser):
    """What a page asks a browser to load, where it links to, and the names that it defines."""
    def __init__(self, name):
        super().__init__()
        self.loads, self.links, self.names = set(), set(), set()
        with open(os.path.join(MANUAL, name), encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.names.add(attributes.get("id"))
        if tag == "a":
            self.links.add(attributes.get("href", ""))
        elif tag == "link" and attributes.get("rel") != "stylesheet":
            return
        else:
            self.loads |= {attributes.get("src"), attributes.get("href")} - {None}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run(
            [PYTHON, "-B", "-m", "sphinx", "-q", "-W", "--keep-going", "-c", f"{SOURCE}/docs/site",
             "-d", f"{BUILD}/manual-doctrees", "-b", "html", SOURCE, MANUAL],
            capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr

    def test_each_function_has_an_entry(self):
        names = Page("docs/site/reference.html").names
        count = 0
        for header in ("talus.h", "bounded.h", "profile.h"):
            with open(f"{SOURCE}/include/talus/{header}", encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            for name in re.findall(r"^TALUS_API [^;(]*?(\w+)\(", text, re.M):
                self.assertIn(f"c.{name}", names)
                count += 1
        self.assertGreater(count, 70)

    def test_the_contents_have_each_page(self):
        links = Page("index.html").links
        with open(f"{SOURCE}/docs/README.md", encoding="utf-8") as file:
            pages = re.findall(r"^\| \[[^]]+\]\(([^)]+)\.md\)", file.read(), re.M)
        self.assertGreater(len(pages), 40)
        for page in pages:
            self.assertIn(f"docs/{page}.html", links)

    def test_nothing_comes_from_elsewhere(self):
        for name in ("index.html", "docs/site/reference.html", "search.html"):
            elsewhere = {load for load in Page(name).loads if re.match(r"(\w+:)?//", load)}
            self.assertEqual(elsewhere, set(), name)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: Sphinx, MyST and furo are not installed (make manual installs them)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
