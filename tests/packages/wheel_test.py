#!/usr/bin/env python3
# Makes the wheel from the command and the library of the build, installs it in a new environment,
# and runs programs on it as its README says. Without venv or pip it is skipped (77). auditwheel
# checks the tag where it is installed.
# Arguments: the source folder, the command, the library.
# SPDX-License-Identifier: MIT
"""The wheel is installed and used in an environment of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, COMMAND, LIBRARY = (Path(word) for word in sys.argv[1:4])
sys.path.insert(0, str(SOURCE / "tools/dist"))

import dist  # noqa: E402
import wheel  # noqa: E402

OUTSIDE = """
import talus
assert not talus.active()
for call in (talus.stats, talus.release, talus.version):
    try:
        call()
    except talus.NotActive as error:
        assert "talus run" in str(error)
    else:
        raise AssertionError(call)
"""
# A program with threads, a subprocess, sqlite and large blocks.
INSIDE = """
import json, sqlite3, subprocess, sys, threading, zlib
import talus
assert talus.active() and talus.version() == talus.__version__, talus.version()
before = talus.stats()["heap"]["live_bytes"]
held = bytearray(100 << 20)
during = talus.stats()["heap"]["live_bytes"]
assert during >= before + len(held), (before, during)
base = sqlite3.connect(":memory:")
base.execute("create table t (a, b)")
base.executemany("insert into t values (?, ?)", ((i, str(i) * 10) for i in range(50000)))
assert base.execute("select sum(length(b)) from t").fetchone()[0] == 2388900 , "sqlite"
def work():
    texts = [json.dumps({"key": [n] * 50}) for n in range(2000)]
    assert zlib.decompress(zlib.compress("".join(texts).encode()))[:8] == b'{"key": '
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
maps = subprocess.run(["cat", "/proc/self/maps"], stdout=subprocess.PIPE, text=True).stdout
assert "libtalus.so" in maps, "a child is on Talus, too"
del held
talus.release()
after = talus.stats()["heap"]["live_bytes"]
assert after <= during - (90 << 20), (during, after)
print("done", sys.argv[1])
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="talus-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.wheel = wheel.write(cls.folder, SOURCE, COMMAND, LIBRARY, dist.version(), 10**9)
        made = subprocess.run([sys.executable, "-m", "venv", cls.folder / "venv"],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            print(f"skipped: no venv here: {made.stdout}{made.stderr}")
            sys.exit(77)
        cls.bin = cls.folder / "venv/bin"
        cls.call(cls.bin / "pip", "install", "-q", "--no-index", "--disable-pip-version-check",
                 cls.wheel)

    @classmethod
    def call(cls, *words):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("LD_PRELOAD", "PYTHONPATH", "PYTHONMALLOC")}
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=environment, check=False,
                              cwd=cls.folder)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}")
        return done.stdout

    def test_outside_nothing_changes(self):
        self.call(self.bin / "python", "-c", OUTSIDE)

    def test_a_program_runs_on_it(self):
        (self.folder / "app.py").write_text(INSIDE)
        python = self.bin / "python"
        for start in ([self.bin / "talus"], [python, "-m", "talus"]):
            said = self.call(*start, "run", python, "app.py", "argument")
            self.assertEqual(said, "done argument\n")
        self.assertIn("active: yes", self.call(self.bin / "talus", "check", "--", python))

    def test_the_same_bytes_again(self):
        other = self.folder / "again"
        other.mkdir()
        again = wheel.write(other, SOURCE, COMMAND, LIBRARY, dist.version(), 10**9)
        self.assertEqual(again.name, self.wheel.name)
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())

    def test_the_tag_is_auditwheels(self):
        tried = subprocess.run([sys.executable, "-m", "auditwheel", "show", self.wheel],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
        if "No module named" in tried.stdout:
            self.skipTest("auditwheel is not installed")
        tag = self.wheel.name.split("-")[-1][:-len(".whl")]
        said = " ".join(tried.stdout.split())
        self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)

    def test_uninstalling_leaves_nothing(self):
        environment = self.folder / "other"
        self.call(sys.executable, "-m", "venv", environment)
        before = sorted(environment.rglob("*"))
        pip = environment / "bin/pip"
        self.call(pip, "install", "-q", "--no-index", "--disable-pip-version-check", self.wheel)
        self.assertTrue((environment / "bin/talus").is_file())
        self.call(pip, "uninstall", "-q", "-y", "talus")
        after = sorted(path for path in environment.rglob("*") if "__pycache__" not in path.parts)
        self.assertEqual(after, [path for path in before if "__pycache__" not in path.parts])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
