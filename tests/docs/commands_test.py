#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the talus commands of README.md and docs/, and looks up the names that stand there.

Owns: that a reader who copies a command gets no error. Stand-ins take the places of programs and
process ids; everything else of a line is run as it is written. Variables, functions, statistics,
targets of make and paths of this tree that a page names must exist.

    commands_test.py ROOT COMMAND LIBRARY
"""
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import pages  # noqa: E402

ROOT, COMMAND, LIBRARY = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
PROGRAMS = {"./program", "program", "python", "python3", "service", "/usr/bin/myservice",
            "redis-server", "vim", "sqlite3"}
# Where a name that is no option's must stand: it is a macro, or a variable of the build.
SOURCE_PLACES = ("include", "src", "CMakeLists.txt", "Makefile")
SOURCE_ENDINGS = (".h", ".hpp", ".cpp", ".txt", ".cmake", "")
# The process that commands look into has a background thread, which obeys `talus ctl`.
WITH_HELPER = {"TALUS_PRINT_STATS": "/dev/null", "TALUS_PRINT_STATS_TRIGGER": "2"}
FUNCTION = re.compile(r"`(talus_[a-z_]+)(?:\([^`]*\))?`")
STATISTIC = re.compile(
    r"`(?:talus_get\(\")?((?:process|resident|heap|space|calls)\.[a-z_]+)\b(?!\*)")
PATH = re.compile(r"`((?:src|tests|docs|bench|tools|examples|include)/[\w./-]*\w)`")


def runnable(line: str, process: int, folder: Path) -> list:
    """The words of a command with stand-ins for what this machine has not."""
    line = re.sub(r'"\$\(.*\)"|\bPID\b|\b1234\b|\bCORE\b', str(process), line)
    line = line.replace("/tmp/", f"{folder}/").replace("/var/tmp", str(folder))
    line = re.sub(r"--for \d+s", "--for 0.1s", line)
    words = shlex.split(line)
    if words[1] == "serve":
        return [COMMAND, "serve", "--help"]  # it would not end
    if words[1] == "compare":
        words[2:2] = ["--rounds", "1", "--only", "talus,libc"]
    words = [word for word in words if not word.startswith("--watch")]  # it would not end
    for place, word in enumerate(words):
        if word in PROGRAMS:
            words[place:] = ["/bin/true"]
            break
    return [COMMAND, *words[1:]]


class Commands(unittest.TestCase):
    def test_each_command_of_a_page_works(self):
        ran = 0
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                ["sleep", "300"], env={"LD_PRELOAD": LIBRARY, "PATH": "/usr/bin:/bin",
                                       **WITH_HELPER}) as sleeper:
            try:
                for page in pages.user_pages(ROOT):
                    for line in pages.commands(page.read_text(encoding="utf-8")):
                        with self.subTest(page=page.name, line=line):
                            words = runnable(line, sleeper.pid, Path(folder))
                            done = subprocess.run(words, cwd=folder, capture_output=True, text=True,
                                                  timeout=60)
                            # the process made no mistake that could be explained
                            good = 1 if words[1] == "explain" else 0
                            self.assertEqual(done.returncode, good, done.stdout + done.stderr)
                            ran += 1
            finally:
                sleeper.kill()
        self.assertGreater(ran, 10, "the pages have commands, and they were found")


class Names(unittest.TestCase):
    def test_each_variable_is_an_option_or_a_name_of_the_sources(self):
        options = pages.option_names(COMMAND)
        sources = None
        for page in pages.user_pages(ROOT):
            for name in set(re.findall(r"(?<![\w/])TALUS_[A-Z_]*[A-Z]\b",
                                       page.read_text(encoding="utf-8"))) - options:
                if sources is None:
                    sources = self.source_words()
                self.assertIn(name, sources, f"{page.name} names {name}")

    def source_words(self) -> set:
        files = [file for place in SOURCE_PLACES for file in
                 ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))]
        text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files
                         if file.is_file() and file.suffix in SOURCE_ENDINGS)
        return set(re.findall(r"TALUS_[A-Z_]*[A-Z]\b", text))

    def test_each_function_is_declared(self):
        headers = "".join(path.read_text() for path in (ROOT / "include/talus").iterdir())
        # OpenMetrics writes statistics so.
        metrics = {"talus_" + name.replace(".", "_") for name in pages.statistic_names(COMMAND)}
        declared = set(re.findall(r"\btalus_[a-z_]+\b", headers)) | metrics
        for page in pages.user_pages(ROOT):
            for name in FUNCTION.findall(page.read_text(encoding="utf-8")):
                self.assertIn(name, declared, f"{page.name} names {name}")

    def test_each_statistic_is_told(self):
        statistics = pages.statistic_names(COMMAND)
        self.assertGreater(len(statistics), 60)
        for page in pages.user_pages(ROOT):
            for name in STATISTIC.findall(page.read_text(encoding="utf-8")):
                self.assertIn(name, statistics, f"{page.name} names {name}")

    def test_each_target_of_make_is_there(self):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
        for page in pages.user_pages(ROOT):
            text = page.read_text(encoding="utf-8")
            named = re.findall(r"`make ([a-z-]+)[` ]", text)
            named += [match[1] for line in pages.code_lines(text)
                      if (match := re.match(r"(?:sudo )?make (?:-C \w+ )?([a-z-]+)", line))]
            for name in named:
                self.assertIn(name, targets, f"{page.name}: make {name}")

    def test_each_path_of_this_tree_is_there(self):
        for page in pages.user_pages(ROOT):
            for path in PATH.findall(page.read_text(encoding="utf-8")):
                self.assertTrue((ROOT / path).exists(), f"{page.name} names {path}")

    def test_each_command_is_one_of_talus(self):
        said = subprocess.run([COMMAND, "--help"], capture_output=True, text=True,
                              check=True).stdout
        for page in pages.user_pages(ROOT):
            for name in re.findall(r"`talus ([a-z]+)\b", page.read_text(encoding="utf-8")):
                self.assertRegex(said, rf"\b{name}\b", f"{page.name}: talus {name}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
