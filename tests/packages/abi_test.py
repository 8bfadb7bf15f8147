#!/usr/bin/env python3
# Tests tools/dist/abi.py on small libraries: what an older program does not survive is found, and
# new names are not. Also that the kept interface has the functions of talus.h. Without libabigail
# it is skipped (77).
# Arguments: the source folder.
# SPDX-License-Identifier: MIT
"""The comparison of binary interfaces finds what breaks programs."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "tools/dist"))

import abi  # noqa: E402

HEADER = """struct talus_pair { int first; int second; };
int talus_sum(struct talus_pair* pair);
long talus_more(void);
"""
BODY = """#include "talus/talus.h"
int talus_sum(struct talus_pair* pair) { return pair->first + pair->second; }
long talus_more(void) { return 1; }
"""


class Abi(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="talus-abi-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.first = self.made("first", HEADER, BODY)

    def made(self, name, header, body):
        """The interface of a library of these texts."""
        folder = self.folder / name
        (folder / "include/talus").mkdir(parents=True)
        (folder / "include/talus/talus.h").write_text(header)
        (folder / "body.c").write_text(body)
        subprocess.run(["cc", "-g", "-shared", "-fPIC", "-I", folder / "include",
                        folder / "body.c", "-o", folder / "lib.so"], check=True)
        abi.write(folder, folder / "lib.so", folder / "lib.abi")
        return folder / "lib.abi"

    def test_the_same_is_compatible(self):
        self.assertEqual(abi.compare(self.first, self.made("same", HEADER, BODY)), "")

    def test_a_new_function_is_compatible(self):
        more = self.made("more", HEADER + "int talus_new(void);\n",
                         BODY + "int talus_new(void) { return 2; }\n")
        self.assertEqual(abi.compare(self.first, more), "")

    def test_a_function_that_went_is_not(self):
        less = self.made("less", HEADER, BODY.replace("long talus_more(void) { return 1; }", ""))
        self.assertIn("talus_more", abi.compare(self.first, less))

    def test_a_structure_that_grew_is_not(self):
        grown = self.made("grown", HEADER.replace("int second;", "long second;"), BODY)
        self.assertIn("talus_pair", abi.compare(self.first, grown))

    def test_the_kept_interface_is_of_this_header(self):
        kept = set(re.findall(r"elf-symbol name='(\w+)'", (SOURCE / abi.KEPT).read_text()))
        header = (SOURCE / "include/talus/talus.h").read_text()
        declared = set(re.findall(r"TALUS_API[^;]*?\b(talus_\w+)\(", header))
        self.assertGreater(len(declared), 50)
        # A function that is newer than the release is not there yet.
        self.assertGreater(len(declared & kept), 50)
        self.assertTrue({"malloc", "free", "realloc", "calloc"} <= kept)


if __name__ == "__main__":
    if shutil.which("abidw") is None:
        print("skipped: there is no libabigail here (package abigail-tools)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
