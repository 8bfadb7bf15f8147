#!/usr/bin/env python3
# What it owns: the proof that each rule on tracked files fires on a small bad tree and is silent on
# a good one, with git and without it.
# It must not know the project's own tree.
# SPDX-License-Identifier: MIT
"""Tests of tracked.py."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_tidy import Tree  # noqa: E402


class Tracked(Tree):
    """The files that git tracks. The same rules apply to a whole tree without git."""

    def write_bytes(self, path, content):
        self.write(path, "")
        with open(os.path.join(self.folder.name, path), "wb") as file:
            file.write(content)

    def git(self, *words):
        if not shutil.which("git"):
            self.skipTest("no git")
        subprocess.run(["git", "-C", self.folder.name, *words], check=True, capture_output=True,
                       env=dict(os.environ, HOME=self.folder.name))

    def test_programs_libraries_and_archives(self):
        self.write_bytes("pm", b"\x7fELF\x02\x01\x01\x00")
        self.write_bytes("docs/short", b"\x7fELF")
        self.write_bytes("docs/thin", b"!<thin>\nno zero in it\n")
        self.write_bytes("libpm.so", b"GROUP ( libpm.so.1 )\n")
        self.expect(("docs/short", 1, "binary"), ("docs/thin", 1, "binary"),
                    ("libpm.so", 1, "build-output"), ("pm", 1, "binary"))

    def test_a_nul_byte_is_found_wherever_it_is(self):
        self.write_bytes("docs/trace.txt", b"a line\n" * 30000 + b"\0\n")
        self.write_bytes("docs/utf8.txt", "größer als 0\n".encode())
        self.expect(("docs/trace.txt", 30001, "binary"))

    def test_output_of_builds(self):
        names = ("a.o", "b.so.1.2", "core", "core.77", "callgrind.out.1", "compile_commands.json",
                 "e.pyc", "f.gcda", "CMakeFiles/x.txt")
        for name in names:
            self.write("bench/" + name, "text\n")
        for name in ("core.md", "some.sock", "a.office", "callgrind.md"):
            self.write("docs/" + name, "text\n")
        self.git("init", "-q")
        self.write("build-gcc/made.txt", "text\n")
        self.git("add", "-f", ".")
        self.expect(*[(f"bench/{name}", 1, "build-output") for name in sorted(names)],
                    ("build-gcc/made.txt", 1, "build-output"))

    def test_size(self):
        self.write("docs/fits.json", "x" * 256 * 1024)
        self.write("docs/large.json", "x" * (256 * 1024 + 1))
        self.expect(("docs/large.json", 1, "file-size"))

    def test_only_what_git_tracks(self):
        self.write_bytes("mine", b"\0")
        self.write_bytes("staged", b"\0")
        self.write_bytes("deleted", b"\0")
        os.symlink("mine", os.path.join(self.folder.name, "link"))
        self.git("init", "-q")
        self.git("add", "staged", "deleted", "link")
        os.remove(os.path.join(self.folder.name, "deleted"))
        self.expect(("staged", 1, "binary"))

    def test_exception(self):
        self.except_for("| binary | docs/photo.png | the reason |")
        self.write_bytes("docs/photo.png", b"\0")
        self.expect()


if __name__ == "__main__":
    unittest.main()
