# SPDX-License-Identifier: MIT
"""Owns: the tests that everything told about options comes from the one table: docs/options.md, the
JSON and the plain list agree, and the parser reaches for nothing of libc.
"""

import json
import os
import subprocess
import unittest

from command import COMMAND, SOURCE, environment, talus


class Table(unittest.TestCase):
    def test_document_is_up_to_date(self):
        with open(os.path.join(SOURCE, "docs", "options.md"), encoding="utf-8") as file:
            written = file.read()
        self.assertEqual(written, talus("options", "--markdown").stdout,
                         "run: talus options --markdown > docs/options.md")

    def test_names_of_statistics_are_in_their_document(self):
        with open(os.path.join(SOURCE, "docs", "statistics.md"), encoding="utf-8") as file:
            written = file.read()
        tables = talus("statistics", "--markdown").stdout
        self.assertGreater(tables.count("\n| `"), 60)
        self.assertIn(tables, written, "put in it what `talus statistics --markdown` prints")
        names = [line.split("`")[1] for line in tables.splitlines() if line.startswith("| `")]
        listed = talus("statistics").stdout.splitlines()
        self.assertEqual([line for line in listed if not line.startswith(" ")], names)

    def test_every_row_of_the_document_has_six_cells(self):
        options = talus("options", "--markdown").stdout.split("## Presets")[0]
        table = [line for line in options.splitlines() if line.startswith("|")]
        self.assertGreaterEqual(len(table), 9)
        for line in table:
            self.assertEqual(line.replace("\\|", "").count("|"), 7, line)

    def test_json_and_list_agree(self):
        rows = json.loads(talus("options", "--json").stdout)
        self.assertGreaterEqual(len(rows), 7)
        listed = [line for line in talus("options").stdout.splitlines()
                  if line.startswith("TALUS_")]
        self.assertEqual([line.split("=")[0] for line in listed],
                         [row["environment"] for row in rows])
        for row in rows:
            self.assertEqual(row["environment"], "TALUS_" + row["name"].upper())
            if row["type"] == "number":
                self.assertTrue(row["min"] <= row["default"] <= row["max"], row)

    def test_every_listed_default_is_accepted_by_run(self):
        listed = [line for line in talus("options").stdout.splitlines()
                  if line.startswith("TALUS_")]
        result = talus("run", "--lib", os.environ["TALUS_TEST_STAND_IN"], *listed, "true")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_both_formats_at_once_are_refused(self):
        self.assertEqual(talus("options", "--json", "--markdown").returncode, 2)

    def test_output_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([COMMAND, "options"], stdout=full, env=environment(),
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 2)

    def test_versions(self):
        result = talus("version")
        self.assertEqual(result.returncode, 0)
        first = result.stdout.splitlines()[0]
        self.assertRegex(first, r"^talus \d+\.\d+\.\d+$")
        self.assertEqual(talus("--version").stdout.strip(), first)


class Parser(unittest.TestCase):
    def test_reaches_for_nothing_a_starting_process_has_not(self):
        output = subprocess.run([os.environ["TALUS_TEST_NM"], "-u",
                                 os.environ["TALUS_TEST_OBJECT"]],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        used = {line.split()[-1] for line in output.splitlines() if line.strip()}
        # What a compiler may make of a loop or of a large copy, and the checks of a hardened
        # compiler: none of it needs an initialised libc.
        allowed = {"memcpy", "memmove", "memset", "strlen", "__stack_chk_fail",
                   "_GLOBAL_OFFSET_TABLE_"}
        self.assertLessEqual(used, allowed)


if __name__ == "__main__":
    unittest.main()
