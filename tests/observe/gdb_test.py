# SPDX-License-Identifier: MIT
"""Owns: `source talus-gdb.py`: what it says of a live process and of a core file."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from process import PROGRAMS, REAL, Process, look, program

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(SOURCE, "tools", "gdb", "talus-gdb.py")


def gdb(*words, commands, **more):
    asked = [word for command in commands for word in ("-ex", command)]
    return subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", f"source {SCRIPT}", *asked,
                           *[str(word) for word in words]],
                          capture_output=True, text=True, check=False, timeout=120, **more)


def classes_of(text):
    return {int(words[0]): [int(word) for word in words[1:]]
            for words in (line.split() for line in text.split("\n"))
            if len(words) == 6 and words[0].isdigit()}


def classes_told(numbers):
    fields = ("slabs", "live_blocks", "listed_blocks", "remote_blocks", "free_blocks")
    return {int(size): [row[field] for field in fields] for size, row in numbers["class"].items()}


@unittest.skipUnless(shutil.which("gdb"), "needs gdb")
class Gdb(unittest.TestCase):
    def test_a_live_process(self):
        for kind, options in (("plain", {"LD_PRELOAD": REAL}), ("static", {})):
            with Process(kind, **options) as process:
                numbers = look(process.pid)
                done = gdb("-p", process.pid, commands=("talus heap", "talus classes"))
                self.assertEqual(look(process.pid)["heap"], numbers["heap"])
            self.assertEqual(done.returncode, 0, done.stderr)
            if kind == "plain":  # the other one has instances, which gdb leaves out
                self.assertEqual(classes_of(done.stdout), classes_told(numbers))
            live = numbers["heap"]["live_large_bytes"] / (1 << 20)
            told = re.search(r"live, large +([\d.]+) MiB", done.stdout)
            self.assertAlmostEqual(float(told[1]), live, places=2)
            self.assertNotIn("Traceback", done.stderr)

    def test_blocks(self):
        with Process("plain", LD_PRELOAD=REAL) as process:
            # The test program keeps its blocks there; some places are null.
            done = gdb("-p", process.pid, commands=(
                "python import gdb",
                "python rows = [int(gdb.parse_and_eval(f'((void**)&blocks)[{i}]')) "
                "for i in range(60)]",
                "python for one in [row for row in rows if row][:12]: "
                "gdb.execute(f'talus block {one + 3}')",
                "talus block &blocks", "talus block 0", "talus block 1 +", "talus block"))
        self.assertEqual(done.stdout.count("it is in use"), 12, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("3 bytes into the "), 12, done.stdout)
        self.assertEqual(done.stdout.count("not memory of Talus"), 2, done.stdout)
        self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(shutil.which("gcore"), "needs gcore")
    def test_a_core_file(self):
        with tempfile.TemporaryDirectory() as folder, \
                Process("plain", LD_PRELOAD=REAL) as process:
            numbers = look(process.pid)
            subprocess.run(["gcore", "-o", os.path.join(folder, "core"), str(process.pid)],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            core = os.path.join(folder, f"core.{process.pid}")
            done = gdb(program("plain"), core, commands=("talus classes", "talus heap"))
        self.assertEqual(classes_of(done.stdout), classes_told(numbers), done.stderr)

    def test_no_talus(self):
        with subprocess.Popen([shutil.which("sleep"), "60"]) as child:
            done = gdb("-p", child.pid, commands=("talus heap",))
            child.kill()
        self.assertIn("there is no Talus in this process", done.stderr)

    def test_help(self):
        done = gdb(commands=("help talus",))
        for word in ("talus block PTR", "talus heap", "talus classes"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
