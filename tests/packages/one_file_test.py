#!/usr/bin/env python3
# Tests tools/amalgamate.py: what it leaves out and what it keeps.
# Arguments: the source folder.
# SPDX-License-Identifier: MIT
"""The one file to copy is complete, has the users' documentation, and no other comments."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tools"))

import amalgamate  # noqa: E402

# A little more than the 1.17 MB of 0.2.0.
BYTES_MAX = 1_200_000
MIXED = r'''// first
int one = 1'000'000;  // a number with separators

/* two
   lines */
const char* text = "// kept \" /* kept */";  /* gone */ int two;
const char quote = '"'; // gone
const char* raw = R"x(// kept )" /* kept */)x";


int three;
'''
PLAIN = r'''int one = 1'000'000;

const char* text = "// kept \" /* kept */";    int two;
const char quote = '"';
const char* raw = R"x(// kept )" /* kept */)x";

int three;'''


class OneFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "talus.hpp")
            subprocess.run([sys.executable, "-B", SOURCE / "tools/amalgamate.py", "--alone", made],
                           check=True, cwd=folder)
            cls.text = made.read_text()

    def test_comments_go_and_texts_stay(self):
        self.assertEqual(amalgamate.without_comments(MIXED), PLAIN)

    def test_needs_no_other_file(self):
        self.assertNotRegex(self.text, r'(?m)^\s*#\s*include\s+"')
        self.assertNotRegex(self.text, r"(?m)^\s*#\s*include\s+<talus/")

    def test_has_the_licence(self):
        plain = re.sub(r"(?m)^// ?", "", self.text)
        self.assertIn((SOURCE / "LICENSE").read_text().strip(), plain)

    def test_has_the_documentation_of_users(self):
        for name in ("talus.h", "bounded.h", "heap.hpp", "bounded.hpp"):
            header = (SOURCE / "include/talus" / name).read_text()
            comments = re.findall(r"(?m)^ *(?:// |/\* )\S.*$", header)
            self.assertGreater(len(comments), 10)
            for comment in comments[1:]:
                self.assertIn(comment, self.text)

    def test_has_no_comments_of_maintainers(self):
        begin = self.text.index("// ---- src/")
        inside = None
        for line in self.text[begin:].splitlines():
            if match := re.match(r"// ---- (src|include)/", line):
                inside = match.group(1)
            elif inside == "src":
                self.assertNotRegex(line, r"^\s*//")

    def test_is_not_large(self):
        self.assertLess(len(self.text), BYTES_MAX)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
