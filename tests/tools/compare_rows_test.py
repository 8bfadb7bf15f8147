# SPDX-License-Identifier: MIT
"""Owns: the tests of the rows that `talus compare` has for presets and settings of Talus: each has
its environment, and the record says which.
"""

import csv
import re
import unittest

from command import environment, talus
from compare_test import Folder, library


class Rows(Folder):
    def test_each_row_has_its_settings_and_the_record_says_which(self):
        log, table = self.path("log"), self.path("table.csv")
        text, page = self.path("text.md"), self.path("page.html")
        script = self.script("#!/bin/sh\n"
                             f'echo "$TALUS_PRESET/$TALUS_DECAY_MS/$TALUS_THP" >> {log}\n')
        result, told, found = self.compare((), script, "a|b", options=(
            "--lib", library("same"), "--rounds", "1", "--only", "libc,talus,talus-tiny",
            "--alloc", "talus-fast", "--with", "DECAY_MS=0,TALUS_THP=never", "--csv", table,
            "--markdown", text, "--html", page), env=environment(TALUS_DECAY_MS="7"))
        names = ["talus", "talus-fast", "talus-tiny", "talus+decay_ms=0+thp=never", "libc"]
        self.assertEqual(list(found), names)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read().split()[:5],
                             ["/7/", "fast/7/", "tiny/7/", "/0/never", "/7/"])
        self.assertEqual([one["settings"] for one in found.values()], [
            [], ["TALUS_PRESET=fast"], ["TALUS_PRESET=tiny"],
            ["TALUS_DECAY_MS=0", "TALUS_THP=never"], []])
        self.assertEqual(told["environment"], ["TALUS_DECAY_MS=7"])
        self.assertIn("TALUS_DECAY_MS=7 from the environment", " ".join(told["notes"]))
        self.assertEqual((told["command"][1], told["command"][-2:]), ("compare", [script, "a|b"]))
        self.assertRegex(told["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.check_csv(table, names, told)
        with open(page, encoding="utf-8") as file:
            self.assertIn(", <code>TALUS_DECAY_MS=0</code>, <code>TALUS_THP=never</code></li>",
                          file.read())
        self.check_markdown(text, result, told)

    def check_csv(self, path, names, told):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual(list(dict.fromkeys(row["allocator"] for row in rows)), names)
        self.assertEqual(len(rows), len(names) * len(told["allocators"][0]["figures"]))
        for row in rows:
            self.assertNotIn(None, row)
            self.assertEqual(row["date"], told["date"])
            self.assertIn("'a|b'", row["command"])
        first = next(row for row in rows if row["measure"] == "wall_s")
        figure = told["allocators"][0]["figures"]["wall_s"]
        self.assertEqual(float(first["median"]), figure["median"])

    def check_markdown(self, path, result, told):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith(f"**{told['verdict']}**"), text)
        self.assertTrue(result.stdout.startswith(told["verdict"] + "\n"))
        tables = [line for line in text.split("\n") if line.startswith("|")]
        self.assertEqual(len(tables), 3 * 7)
        for line in tables:
            self.assertEqual(len(re.findall(r"(?<!\\)\|", line)), 7, line)
        self.assertIn(told["date"], text)

    def test_wrong_rows(self):
        for words, reason in (
                (["--alloc", "talus-quick"], "talus-quick: TALUS_PRESET=quick is not understood"),
                (["--only", "libc,talus-quick"], "TALUS_PRESET=quick is not understood"),
                (["--with", "decay_ms=never"], "TALUS_DECAY_MS=never"),
                (["--with", "decay_ms"], "write KEY=VALUE"),
                (["--with", ""], "write KEY=VALUE"),
                (["--alloc", "jemalloc"], "write NAME=PATH or talus-PRESET")):
            result = talus("compare", "--lib", library("same"), *words, "ls")
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(reason, result.stderr)
            self.assertEqual(result.stderr.count("talus: "), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
