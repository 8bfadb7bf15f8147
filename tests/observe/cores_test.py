# SPDX-License-Identifier: MIT
"""Owns: looks into core files, of a stopped process by gcore, and of a crashed one by the kernel.
They have the numbers of the process at that moment, to the byte, but for pages and clocks.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from process import REAL, Process, look, program, talus

ROOMS = ("heap", "space", "purge", "calls", "class", "thread", "instance")


def numbers_of(seen):
    return {group: seen[group] for group in ROOMS}


def kernel_writes_here():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    return "/" not in pattern and not pattern.startswith("|")


class Cores(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def look_at(self, path):
        done = talus("stats", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def gcore_of(self, process):
        name = os.path.join(self.folder.name, "core")
        subprocess.run(["gcore", "-o", name, str(process.pid)], check=True, capture_output=True,
                       timeout=120)
        return f"{name}.{process.pid}"

    @unittest.skipUnless(shutil.which("gcore"), "needs gcore")
    def test_gcore_of_a_stopped_process(self):
        for kind, options in (("shared", {}), ("static", {}), ("plain", {"LD_PRELOAD": REAL}),
                              ("header", {})):
            with self.subTest(kind), Process(kind, **options) as process:
                os.kill(process.pid, signal.SIGSTOP)
                live = look(process.pid)
                path = self.gcore_of(process)
                os.kill(process.pid, signal.SIGCONT)
                seen = self.look_at(path)
                self.assertTrue(seen["consistent"], seen["why_not"])
                self.assertEqual(numbers_of(seen), numbers_of(live))
                self.assertEqual(seen["process"]["id"], process.pid)
                self.assertEqual(set(seen["resident"].values()), {None})

    @unittest.skipUnless(kernel_writes_here(), "core_pattern leads elsewhere")
    def test_core_of_a_crash(self):
        def may_dump():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
            os.chdir(self.folder.name)

        for kind in ("shared", "static", "header"):
            with self.subTest(kind), Process(kind, before=may_dump) as process:
                own = process.own_numbers()
                os.kill(process.pid, signal.SIGABRT)
                process.child.wait()
                process.kill()
                files = [name for name in os.listdir(self.folder.name) if name.startswith("core")]
                self.assertEqual(len(files), 1)
                path = os.path.join(self.folder.name, files[0])
                seen = self.look_at(path)
                os.unlink(path)
                self.assertTrue(seen["consistent"])
                self.assertEqual(numbers_of(seen), numbers_of(own))

    @unittest.skipUnless(shutil.which("gcore"), "needs gcore")
    def test_damaged_files(self):
        with Process("shared") as process:
            path = self.gcore_of(process)
        whole = os.path.getsize(path)
        for length in (whole // 2, whole // 8, 5000, 2000, 64, 10, 0):
            os.truncate(path, length)
            done = talus("stats", path)
            self.assertIn(done.returncode, (0, 1, 2, 4), f"{length} of {whole}")
            self.assertEqual(done.returncode != 0, done.stderr != "", f"{length} of {whole}")
        self.assertEqual(done.returncode, 2)

    def test_no_core_file(self):
        for path in (program("shared"), "/nowhere", self.folder.name, "/dev/null"):
            done = talus("stats", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), path)
        done = talus("stats", "--watch", program("shared"))
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
