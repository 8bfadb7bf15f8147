# SPDX-License-Identifier: MIT
"""Owns: the tests of how the command speaks. There is one usage text a command, and complaints of
one line that name the page to read. Wrong settings are answered with what was probably meant.
"""

import os
import shutil
import tempfile
import unittest

from command import STAND_IN, run, talus


class Usage(unittest.TestCase):
    def test_each_complaint_is_one_line_that_names_the_page_of_its_command(self):
        for words, name in (([], ""), (["bogus"], ""), (["run", "--bogus", "true"], "run "),
                            (["run"], "run "), (["check"], "check "),
                            (["compare", "--rounds", "0", "true"], "compare "),
                            (["options", "--json", "--markdown"], "options ")):
            result = talus(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertRegex(result.stderr, rf"^talus: .*; see talus {name}--help\n$")

    def test_each_command_has_one_usage_text(self):
        forms = {"run": 1, "check": 2, "compare": 1, "options": 2, "statistics": 1, "version": 1}
        listed = talus("--help").stdout
        for name, count in forms.items():
            self.assertIn(f"\n  {name} ", listed)
            page = talus(name, "--help").stdout
            self.assertEqual(page.count(f"talus {name} "), count, page)
            self.assertEqual(page.count("Usage:"), 1, page)
            self.assertIn(f"\nUsage: talus {name} ", page)
        for page in (listed, *(talus(name, "--help").stdout for name in forms)):
            for word in ("[OPTIONS]", "SUBCOMMAND", "INT", "FLOAT", "TEXT", "Excludes", "[sett"):
                self.assertNotIn(word, page)
            self.assertFalse([line for line in page.splitlines() if line != line.rstrip()], page)


class Settings(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="talus-words-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_size_in_another_spelling_is_answered_with_ours(self):
        for size, meant in (("1GB", "1GiB"), ("1 GB", "1GiB"), ("512mb", "512MiB")):
            result = run(f"retain_bytes={size}", "echo", "started")
            self.assertEqual((result.returncode, result.stdout), (2, ""), size)
            self.assertEqual(result.stderr, f"talus: TALUS_RETAIN_BYTES={size} is not understood; "
                                            f"did you mean {meant}? Allowed: 0 to 128TiB\n")
        self.assertEqual(run("retain_bytes=64K", "true").returncode, 0)

    def test_a_configuration_file_that_cannot_be_read_starts_nothing(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for path, reason in (("/missing", "cannot be opened: No such file or directory"),
                             (self.folder, "is not a regular file"),
                             (pipe, "is not a regular file")):
            for words in (["run", "--lib", STAND_IN], ["options", "--effective"]):
                result = talus(*words, f"CONFIG={path}", "echo", "started")
                self.assertEqual((result.returncode, result.stdout), (2, ""), path)
                self.assertEqual(result.stderr, f"talus: TALUS_CONFIG={path} {reason}\n")
        file = os.path.join(self.folder, "named.conf")
        with open(file, "w", encoding="utf-8") as conf:
            conf.write("heaps=3\n")
        for word in (f"CONFIG={file}", "CONFIG=none", "CONFIG="):
            self.assertEqual(run(word, "echo", "started").stdout, "started\n", word)
        result = run("CONFIG=named.conf", "echo", "started", cwd=self.folder)
        self.assertEqual(result.stdout, "started\n")


if __name__ == "__main__":
    unittest.main()
