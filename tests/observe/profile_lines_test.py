# SPDX-License-Identifier: MIT
"""Owns: lines of source and inlined functions in profiles, also from separate debug files."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import pprof_form
from process import Preloaded, program, talus

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inlined.cpp")
STRIP, OBJCOPY = os.environ["TALUS_TEST_STRIP"], os.environ["TALUS_TEST_OBJCOPY"]


def marks():
    with open(SOURCE, encoding="utf-8") as file:
        return {mark: number for number, line in enumerate(file, 1)
                for mark in re.findall(r"// mark: (\w+)", line)}


@unittest.skipUnless(os.environ["TALUS_TEST_HAS_LIBDW"] == "1", "the command has no libdw")
class ProfileLines(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def stack_of(self, pid, *words):
        """The stack with most live bytes, innermost first, up to main."""
        done = talus("profile", *words, "-o", self.path("one.pb.gz"), pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = pprof_form.read(self.path("one.pb.gz"))
        stack, _ = max(profile.samples, key=lambda sample: sample[1][3])
        return [line for line in stack if line.function.startswith("shop::")]

    def assert_inlined(self, stack):
        at = marks()
        self.assertEqual([line.function for line in stack],
                         ["shop::fill_box(int)", "shop::Store<long>::open(int)",
                          "shop::trade(shop::Store<long>&)"])
        self.assertEqual([line.line for line in stack],
                         [at["innermost"], at["middle"], at["outer"]])
        self.assertEqual({os.path.basename(line.file) for line in stack}, {"inlined.cpp"})
        self.assertEqual([line.first_line < line.line for line in stack], [True] * 3)
        self.assertTrue(stack[0].symbol.startswith("_ZN4shop8fill_box"))

    def test_inlined_functions_are_frames(self):
        with Preloaded(program("inlined"), TALUS_PROFILE="16KiB") as process:
            self.assert_inlined(self.stack_of(process.pid))
            table = talus("profile", process.pid).stdout
            self.assertIn("shop::fill_box(int) < shop::Store<long>::open(int) < shop::trade",
                          table)
            lines = talus("profile", "--lines", "--collapsed", process.pid).stdout
            self.assertIn(f";shop::fill_box(int) inlined.cpp:{marks()['innermost']} ", lines)

    def test_debug_files_by_build_id(self):
        shutil.copy(program("inlined"), self.path("bare"))
        notes = subprocess.run(["readelf", "-n", self.path("bare")], capture_output=True, text=True,
                               check=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        debug = self.path("debug", ".build-id", build_id[:2], build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(debug))
        subprocess.run([OBJCOPY, "--only-keep-debug", self.path("bare"), debug], check=True)
        subprocess.run([STRIP, self.path("bare")], check=True)
        with Preloaded(self.path("bare"), TALUS_PROFILE="16KiB") as process:
            self.assertEqual(self.stack_of(process.pid), [], "nothing is known without it")
            self.assertIn("bare+0x", talus("profile", process.pid).stdout)
            self.assert_inlined(self.stack_of(process.pid, "--debug-files", self.path("debug")))

    def test_another_build_of_the_file_gives_no_lines(self):
        """A program that was installed anew while it ran: its new lines are not those that run."""
        shutil.copy(program("inlined"), self.path("program"))
        with Preloaded(self.path("program"), TALUS_PROFILE="16KiB") as process:
            os.rename(self.path("program"), self.path("old"))
            shutil.copy(program("inlined"), self.path("new"))
            subprocess.run([OBJCOPY, "--update-section", ".note.gnu.build-id=" + self.other_id(),
                            self.path("new")], check=True)
            self.assert_inlined(self.stack_of(process.pid))
            os.rename(self.path("new"), self.path("old"))
            stack = self.stack_of(process.pid)
        self.assertEqual([line.line for line in stack if line.line], [])

    def other_id(self):
        """A file with a note of another build id."""
        subprocess.run([OBJCOPY, "-O", "binary", "--only-section", ".note.gnu.build-id",
                        program("inlined"), self.path("note")], check=True)
        with open(self.path("note"), "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"abcd")
        return self.path("note")


if __name__ == "__main__":
    unittest.main()
