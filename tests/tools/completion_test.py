#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Owns: what the shells complete, in the real shells, and the manual pages, as man reads them.

A shell that is not installed is skipped.
"""

import os
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest

COMMAND = os.environ["TALUS_TEST_COMMAND"]
SCRIPTS = os.path.join(os.environ["TALUS_TEST_SOURCE"], "tools", "completion")
ENVIRONMENT = {**os.environ, "PATH": f"{os.path.dirname(COMMAND)}:{os.environ['PATH']}",
               "TERM": "dumb"}
ENVIRONMENT.pop("LD_PRELOAD", None)


def output_of(*words):
    return subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=30,
                          check=False).stdout


def asked(*words):
    """The command's own answer."""
    return [line.split("\t")[0] for line in output_of(COMMAND, "complete", "--", "talus",
                                                      *words).splitlines()]


def needs(shell):
    return unittest.skipUnless(shutil.which(shell), f"{shell} is not installed")


class Words(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(asked("sta"), ["stats", "statistics"])
        self.assertNotIn("complete", asked(""))

    def test_options_and_their_values(self):
        self.assertEqual(asked("stats", "--op"), ["--openmetrics"])
        self.assertEqual(asked("compare", "--html", ""), [":files"])
        self.assertEqual(asked("profile", "--view", "p"), ["peak", "pins"])

    def test_settings_and_their_words(self):
        self.assertEqual(asked("run", "GUARD_P"), ["GUARD_PAGES=", ":command 2"])
        self.assertEqual(asked("run", "GUARD_PAGES="), ["GUARD_PAGES=0", "GUARD_PAGES=1",
                                                        ":command 2"])
        self.assertIn("MODE=hardened", asked("run", "MODE=h"))

    def test_the_program_has_words_of_its_own(self):
        self.assertEqual(asked("run", "MODE=checked", "git", "sta"), [":command 3"])
        self.assertEqual(asked("run", "--", "sta"), [":command 3"])
        self.assertEqual(asked("check", "--", "x"), [":command 3"])

    def test_processes_on_talus(self):
        library = os.environ["TALUS_TEST_STAND_IN"]
        with subprocess.Popen(["sleep", "60"], env={**ENVIRONMENT, "LD_PRELOAD": library}) as on:
            try:
                while library not in output_of("cat", f"/proc/{on.pid}/maps"):
                    time.sleep(0.01)
                self.assertIn(str(on.pid), asked("stats", ""))
                self.assertNotIn(str(os.getpid()), asked("stats", ""))
            finally:
                on.kill()


class Shells(unittest.TestCase):
    @needs("bash")
    def test_bash(self):
        def replies(*parts):
            script = (f"source {SCRIPTS}/talus.bash; COMP_WORDS=(\"$@\"); "
                      "COMP_CWORD=$(($# - 1)); _talus talus; printf '%s\\n' \"${COMPREPLY[@]}\"")
            return output_of("bash", "-c", script, "bash", *parts).splitlines()
        self.assertEqual(replies("talus", "sta"), ["stats", "statistics"])
        self.assertEqual(replies("talus", "stats", "--js"), ["--json"])
        self.assertIn("GUARD_PAGES=", replies("talus", "run", "GUARD"))
        self.assertIn("hardened", replies("talus", "run", "MODE", "=", "ha"))
        self.assertIn("hardened", replies("talus", "run", "GUARD_PAGES", "=", "1", "MODE", "=", ""))
        self.assertIn("bash", replies("talus", "run", "MODE", "=", "hardened", "bas"))

    @needs("fish")
    def test_fish(self):
        def replies(line):
            answer = output_of("fish", "-c", f"source {SCRIPTS}/talus.fish; complete -C '{line}'")
            return [one.split("\t")[0] for one in answer.splitlines()]
        self.assertEqual(sorted(replies("talus sta")), ["statistics", "stats"])
        self.assertIn("MODE=hardened", replies("talus run MODE=ha"))
        self.assertIn("bash", replies("talus run MODE=hardened bas"))

    @needs("zsh")
    def test_zsh(self):
        with tempfile.TemporaryDirectory() as home:
            with open(f"{home}/.zshrc", "w", encoding="utf-8") as file:
                file.write(f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D\n"
                           "PS1='ready> '; zstyle ':completion:*' menu no; setopt no_beep\n")
            self.assertIn("--openmetrics", self.typed(home, "talus stats --op\t", "metrics"))
            self.assertIn("MODE=hardened", self.typed(home, "talus run MODE=ha\t", "hardened"))
            self.assertIn("statistics", self.typed(home, "talus sta\t\t", "statistics"))

    def typed(self, home, keys, wanted):
        """What an interactive zsh shows after these keys; waits for `wanted` at most 20 s."""
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("zsh", ["zsh", "-i"], {**ENVIRONMENT, "ZDOTDIR": home, "TERM": "vt100"})
        seen = self.read_until(terminal, "ready> ")
        os.write(terminal, keys.encode())
        seen = self.read_until(terminal, wanted or keys)
        os.write(terminal, b"\x03\nexit\n")
        os.close(terminal)
        os.waitpid(child, 0)
        return seen

    @staticmethod
    def read_until(terminal, wanted):
        text, end = "", time.monotonic() + 20
        while wanted not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 4096).decode(errors="replace")
        return text


class Pages(unittest.TestCase):
    def test_a_page_for_each_command(self):
        for command in asked(""):
            with self.subTest(command):
                page = output_of(COMMAND, "manual", command)
                for line in output_of(COMMAND, command, "--help").split():
                    if line.startswith("--") and len(line) > 3:
                        self.assertIn(line.split(",")[0].replace("-", "\\-"), page)

    @needs("man")
    def test_man_reads_them_without_a_complaint(self):
        for command in ["", *asked("")]:
            with self.subTest(command), tempfile.NamedTemporaryFile("w", suffix=".1") as file:
                file.write(output_of(COMMAND, "manual", *command.split()))
                file.flush()
                done = subprocess.run(["man", "--warnings=all", "-E", "UTF-8", "-l", file.name],
                                      env={**ENVIRONMENT, "MANPAGER": "cat", "MANWIDTH": "80"},
                                      capture_output=True, text=True, timeout=30, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("talus", done.stdout)


if __name__ == "__main__":
    unittest.main()
