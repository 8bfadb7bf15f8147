# SPDX-License-Identifier: MIT
"""Owns: the tests of `talus options --effective` and `--presets`. They show values and sources from
every place, as text that is a configuration file again, and as JSON. The real library agrees.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import REAL, environment, program, talus


class Effective(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        (self.home / ".config").mkdir()
        self.own = self.home / ".config/talus.conf"

    def effective(self, *words, **more):
        env = environment(HOME=str(self.home), **more)
        env.pop("XDG_CONFIG_HOME", None)
        result = talus("options", "--effective", "--json", *words, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = json.loads(result.stdout)
        return {row["name"]: (row["value"], row["source"]) for row in told["options"]}, told

    def test_each_place(self):
        self.own.write_text("preset=small\n[program_plain]\nheaps=3\n[sh]\nheaps=4\nbad\n")
        found, told = self.effective("decay_ms=5s", "--", program("program_plain"), "-x",
                                     TALUS_THP="always")
        self.assertEqual(found["decay_ms"], ("5s", "environment"))
        self.assertEqual(found["thp"], ("always", "environment"))
        self.assertEqual(found["heaps"], ("3", "~/.config/talus.conf:3"))
        self.assertEqual(found["retain_bytes"], ("8MiB", "preset small, ~/.config/talus.conf:1"))
        self.assertEqual(found["verbose"], ("0", "default"))
        self.assertEqual(told["program"], program("program_plain"))
        self.assertEqual(told["warnings"], [])
        self.assertEqual(told["files"][-1], {"path": str(self.own), "state": "read"})

    def test_without_a_program_sections_are_left_out(self):
        self.own.write_text("decay_ms=5s\n[program_plain]\nheaps=3\n")
        found, told = self.effective()
        self.assertEqual(found["decay_ms"], ("5s", "~/.config/talus.conf:1"))
        self.assertEqual(found["heaps"], ("0", "default"))
        self.assertIsNone(told["program"])

    def test_scripts_are_known_by_their_own_name_and_their_interpreters(self):
        script = self.home / "my-script"
        script.write_text("#!/bin/sh\n:\n")
        script.chmod(0o755)
        shell = os.path.basename(os.path.realpath("/bin/sh"))
        self.own.write_text(f"[my-script]\nheaps=3\n[{shell}]\ndecay_ms=5s\n")
        found, _ = self.effective(str(script))
        self.assertEqual((found["heaps"][0], found["decay_ms"][0]), ("3", "5s"))

    def scripts(self):
        """A script without #!, one of a script, and one of the former; with their interpreter."""
        shell = os.path.basename(os.path.realpath("/bin/sh"))
        texts = {"bare": ":\n", "inner": "#!/bin/sh\n:\n", "outer": f"#!{self.home}/inner\n",
                 "of-bare": f"#!{self.home}/bare\n"}
        for name, text in texts.items():
            (self.home / name).write_text(text)
            (self.home / name).chmod(0o755)
        self.own.write_text("[bare]\nheaps=3\n[outer]\nheaps=4\n[of-bare]\nheaps=5\n[sh]\nheaps=6\n"
                            f"[{shell}]\ndecay_ms=5s\n[inner]\narena_bytes=8M\n")
        return {"bare": "6", "outer": "4", "of-bare": "6"}

    def test_scripts_that_sh_reads_and_scripts_of_scripts(self):
        for name, heaps in self.scripts().items():
            found, told = self.effective(str(self.home / name))
            self.assertEqual((found["heaps"][0], found["decay_ms"][0], found["arena_bytes"][0]),
                             (heaps, "5s", "4MiB"), name)
            self.assertEqual(told["program"], str(self.home / name))

    def test_a_script_that_env_starts_is_what_env_executes(self):
        script = self.home / "by-env"
        script.write_text("#!/usr/bin/env program_plain\n")
        script.chmod(0o755)
        self.own.write_text("[program_plain]\nheaps=3\n[env]\nheaps=4\n[by-env]\nheaps=5\n")
        path = os.path.dirname(program("program_plain")) + ":" + os.environ["PATH"]
        found, _ = self.effective(str(script), PATH=path)
        self.assertEqual(found["heaps"][0], "3")
        if REAL:
            env = environment(HOME=str(self.home), PATH=path)
            env.pop("XDG_CONFIG_HOME", None)
            done = talus("run", "--lib", REAL, "verbose=1", str(script), env=env,
                         stdin=subprocess.DEVNULL)
            last = [line for line in done.stderr.splitlines() if line.startswith("talus 0")][-1]
            self.assertIn(" heaps=3 ", last)

    def test_mistakes_are_told_with_their_place(self):
        self.own.write_text("decayms=1\n")
        _, told = self.effective("true", TALUS_HEAPS="many")
        self.assertEqual(len(told["warnings"]), 2)
        self.assertIn("~/.config/talus.conf:1: unknown option decayms; did you mean decay_ms?",
                      told["warnings"][0])
        self.assertIn("TALUS_HEAPS=many is not understood", told["warnings"][1])
        result = talus("options", "--effective", "heaps=many", "true")
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_text_is_a_file_that_gives_the_same_values(self):
        self.own.write_text("preset=tiny\nprint_stats=/tmp/x\n")
        env = environment(HOME=str(self.home))
        first = talus("options", "--effective", "true", env=env)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertRegex(first.stdout, r"(?m)^heaps = 1 +# preset tiny, ~/.config/talus.conf:1$")
        named = self.home / "again.conf"
        named.write_text(first.stdout)
        before, _ = self.effective("true")
        again, told = self.effective(f"CONFIG={named}", "true")
        self.assertEqual(told["warnings"], [])
        for name, (value, _) in before.items():
            if name != "config":
                self.assertEqual(again[name][0], value)
                self.assertIn(str(named), again[name][1])

    def test_a_text_that_no_file_can_have_is_a_comment(self):
        for value, is_for_files in (("/tmp/a#1", True), ("/tmp/a #1", False), ("#1", False),
                                    (" /tmp/a", False), ("/tmp/a\t", False), ("a\nb", False)):
            result = talus("options", "--effective", f"PRINT_STATS={value}", "true")
            line, = [line for line in result.stdout.splitlines() if "print_stats = " in line]
            self.assertEqual(line.startswith("print_stats"), is_for_files, line)
            self.assertEqual(line.startswith("# print_stats"), not is_for_files, line)

    def test_wrong_use(self):
        for words in (("true",), ("heaps=3",), ("--effective", "--presets"),
                      ("--effective", "--markdown"), ("--presets", "--json")):
            self.assertEqual(talus("options", *words).returncode, 2, words)
        self.assertEqual(talus("options", "--effective", "/nowhere").returncode, 127)
        self.assertEqual(talus("options", "--effective", "/etc").returncode, 126)

    def test_presets(self):
        table = talus("options", "--presets").stdout
        self.assertIn(table, talus("options", "--markdown").stdout)
        self.assertIn("| `tiny` | `small` | `default` | `fast` |", table.splitlines()[0])
        self.assertIn("| `decay_ms` | 0 | 250ms | 1s | 10s |", table.splitlines())

    def test_the_programs_own_text(self):
        for kind, is_seen in (("program_text_exported", True), ("program_text_hidden", False)):
            found, _ = self.effective(program(kind))
            self.assertEqual(found["decay_ms"],
                             ("7s", "program") if is_seen else ("1s", "default"), kind)

    @unittest.skipUnless(REAL, "the library is not built here")
    def test_the_library_agrees(self):
        scripts = [str(self.home / name) for name in self.scripts()]
        text = self.own.read_text()
        self.own.write_text("preset=small\n[program_text*]\nheaps=3\n" + text)
        programs = ("program_text_exported", "program_text_hidden", "program_plain")
        for name in (*map(program, programs), *scripts):
            settings = ("thp=always", "verbose=1")
            found, _ = self.effective(*settings, name)
            env = environment(HOME=str(self.home))
            env.pop("XDG_CONFIG_HOME", None)
            done = talus("run", "--lib", REAL, *settings, name, env=env,
                         stdin=subprocess.DEVNULL)
            line = next(line for line in done.stderr.splitlines() if line.startswith("talus "))
            told = re.findall(r" ([a-z_]+)=(\S*?)(?: \(([^)]*)\))?(?= |;)", line)
            self.assertEqual({name: (value, source or "default")
                              for name, value, source in told}, found, name)


if __name__ == "__main__":
    unittest.main()
