# SPDX-License-Identifier: MIT
"""Owns: the same look into every way in which a program may have Talus. The numbers are those that
the process says of itself, to the byte.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from process import PROGRAMS, REAL, Process, look, program, talus

# The kernel's clocks and page counts go on between two looks.
MOVING = ("uptime_ms", "user_ms", "system_ms", "minor_faults", "major_faults", "resident_bytes",
          "resident_peak_bytes", "not_ours_bytes")


def at_rest(numbers):
    """What must be equal in two looks at a process that rests."""
    return {group: {name: value for name, value in fields.items() if name not in MOVING}
            for group, fields in numbers.items() if isinstance(fields, dict)}


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


class Entries(unittest.TestCase):
    maxDiff = None

    def assert_agrees(self, process, pid=None):
        own = process.own_numbers()
        seen = look(pid or process.pid)
        self.assertTrue(seen["consistent"], seen["why_not"])
        self.assertEqual(at_rest(seen), at_rest(own))
        self.assertGreater(seen["heap"]["live_bytes"], 1 << 20)
        self.assertGreater(len(seen["class"]), 10)
        self.assertEqual(seen["version"], own["version"])
        return seen

    def test_shared(self):
        with Process("shared") as process:
            seen = self.assert_agrees(process)
            self.assertEqual(os.path.realpath(seen["object"]), os.path.realpath(REAL))
            self.assertEqual(seen["instance"]["0"]["name"], 'a "name"\n')

    def test_preloaded(self):
        with Process("plain", LD_PRELOAD=REAL) as process:
            self.assert_agrees(process)

    def test_static(self):
        with Process("static") as process:
            self.assertEqual(self.assert_agrees(process)["object"], program("static"))

    def test_single_object(self):
        with Process("object") as process:
            self.assert_agrees(process)

    def test_header_only(self):
        with Process("header") as process:
            self.assert_agrees(process)

    def test_counted_calls(self):
        with Process("shared", TALUS_PRINT_STATS="/dev/null", TALUS_PRINT_STATS_TRIGGER="1") as one:
            self.assertGreater(self.assert_agrees(one)["calls"]["allocations"], 1000)

    def test_modes_with_contexts_of_their_own(self):
        for mode in ("checked", "mapped"):
            with self.subTest(mode), Process("shared", TALUS_MODE=mode) as process:
                self.assert_agrees(process)

    def test_stripped_and_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stripped")
            subprocess.run([os.environ["TALUS_TEST_STRIP"], "-s", "-o", path, program("static")],
                           check=True)
            with Process("static", path=path) as process:
                os.unlink(path)
                self.assert_agrees(process)

    def test_each_linker(self):
        """They differ in where notes lie."""
        source = os.path.dirname(os.path.abspath(__file__))
        build = os.path.dirname(os.path.realpath(REAL))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "linked")
            for linker in ("bfd", "gold", "lld", "mold"):
                if not shutil.which(f"ld.{linker}") and not shutil.which(f"{linker}"):
                    continue
                with self.subTest(linker):
                    subprocess.run(
                        ["cc", "-O1", "-fno-builtin", f"-fuse-ld={linker}", "-o", path,
                         f"-I{source}/../../include", f"{source}/work.c", "-Wl,-u,malloc",
                         f"{build}/libtalus.a", "-lpthread"], check=True, capture_output=True)
                    with Process("static", path=path) as process:
                        self.assert_agrees(process)

    def test_stopped(self):
        with Process("shared") as process:
            own = process.own_numbers()
            os.kill(process.pid, signal.SIGSTOP)
            while not is_stopped(process.pid):
                pass
            seen = look(process.pid)
            os.kill(process.pid, signal.SIGCONT)
            self.assertTrue(seen["consistent"])
            self.assertEqual(at_rest(seen), at_rest(own))

    def test_child_of_a_fork(self):
        with Process("shared") as process:
            child = int(process.ask("f"))
            seen = self.assert_agrees(process, child)
            self.assertEqual(seen["process"]["id"], child)

    def test_several_copies(self):
        with Process("header", LD_PRELOAD=REAL) as process:
            done = talus("stats", "--json", process.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            objects = [line.split('"object":"')[1].split('"')[0]
                       for line in done.stdout.splitlines()]
            self.assertEqual({os.path.basename(name) for name in objects},
                             {"observe_header", os.path.basename(os.path.realpath(REAL))})

    def test_a_library_that_is_mapped_as_data_is_no_talus(self):
        script = ("import mmap,sys; f = open(sys.argv[1], 'rb');"
                  "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); print('ready', flush=1);"
                  "input()")
        with subprocess.Popen([shutil.which("python3"), "-c", script, REAL], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            done = talus("stats", child.pid)
            child.communicate("\n")
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    assert PROGRAMS
    unittest.main()
