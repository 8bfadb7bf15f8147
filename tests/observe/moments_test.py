# SPDX-License-Identifier: MIT
"""Owns: looks at stopped processes, damaged heaps, and how long a look takes."""

import json
import os
import resource
import signal
import struct
import tempfile
import time
import unittest

from process import REAL, Process, address_of, look, talus, write, wrong_sums

class Moments(unittest.TestCase):
    def test_stopped_in_the_middle_of_work(self):
        states = set()
        with Process("shared") as process:
            process.ask("b")
            for _ in range(40):
                os.kill(process.pid, signal.SIGSTOP)
                seen = look(process.pid)
                again = look(process.pid)
                os.kill(process.pid, signal.SIGCONT)
                self.assertEqual(wrong_sums(seen), [], seen)
                states.add(seen["consistent"])
                if seen["consistent"] and again["consistent"]:
                    self.assertEqual(seen["heap"], again["heap"])
        self.assertIn(True, states)

    def test_how_long_it_takes(self):
        """The bars are 5 ms and 50 ms for a GiB, from the command's start to its end. Other
        programs run meanwhile, so processor time is held, at twice and more; both are printed."""
        with Process("shared") as process:
            small = self.time_of_a_look(process.pid)
            process.ask("l")
            large = self.time_of_a_look(process.pid)
        for what, (used, passed) in (("small", small), ("a GiB", large)):
            print(f"{what}: {used * 1000:.1f} ms of a processor, {passed * 1000:.1f} ms passed")
        self.assertLess(small[0], 0.020)
        self.assertLess(large[0], 0.100)

    def time_of_a_look(self, pid):
        """(processor time, wall time), the least of some looks"""
        used, passed = [], []
        for _ in range(12):
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = talus("stats", "--json", pid)
            passed.append(time.perf_counter() - begin)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            self.assertEqual(done.returncode, 0, done.stderr)
        return min(used), min(passed)

    def test_damaged(self):
        carrier = os.path.basename(os.path.realpath(REAL))
        for field, value in (("registry.caches", 0x1234567890), ("registry.heap_count", 0xffffff),
                             ("space.arenas", 0x10), ("registry.caches", 8)):
            with self.subTest(field, value=value), Process("shared") as process:
                where = address_of(process.pid, carrier, field)
                before = look(process.pid)
                width = "<I" if field.endswith("count") else "<Q"
                write(process.pid, where, struct.pack(width, value))
                done = talus("stats", "--json", process.pid)
                process.kill()
                self.assertTrue(before["consistent"])
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("the heap is damaged", done.stderr)
                self.assertFalse(json.loads(done.stdout)["consistent"])

    def counted(self, pid, look_ms=0):
        """(the command's end, its looks, its reads); each look takes at least this long"""
        with tempfile.NamedTemporaryFile("r") as counts:
            done = talus("stats", "--json", pid, env={
                **os.environ, "LD_PRELOAD": os.environ["TALUS_TEST_SLOW_LOOKS"],
                "TALUS_TEST_LOOK_MS": str(look_ms), "TALUS_TEST_COUNTS": counts.name})
            return done, *map(int, counts.read().split())

    def test_damage_is_told_soon_where_looks_take_long(self):
        """Else by four looks. One look alone never tells it."""
        carrier = os.path.basename(os.path.realpath(REAL))
        with Process("shared") as process:
            write(process.pid, address_of(process.pid, carrier, "registry.caches"),
                  struct.pack("<Q", 8))
            quick, quick_looks, _ = self.counted(process.pid)
            slow, slow_looks, _ = self.counted(process.pid, look_ms=600)
            slowest, slowest_looks, _ = self.counted(process.pid, look_ms=1100)
            process.kill()
        for done in (quick, slow, slowest):
            self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(quick_looks, (2, 3, 4))
        self.assertEqual((slow_looks, slowest_looks), (2, 2))

    def test_a_list_that_leads_back_ends(self):
        """Soon: the longest list has a million counters, and four looks may read it."""
        carrier = os.path.basename(os.path.realpath(REAL))
        with Process("shared") as process:
            where = address_of(process.pid, carrier, "counting.all")
            is_on = address_of(process.pid, carrier, "counting.is_on")
            write(process.pid, is_on, struct.pack("<I", 1))
            write(process.pid, where, struct.pack("<Q", where))
            done, looks, reads = self.counted(process.pid)
            write(process.pid, where, struct.pack("<Q", 0))
            write(process.pid, is_on, struct.pack("<I", 0))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("without an end", done.stderr)
            self.assertLess(reads, looks * 20000)


if __name__ == "__main__":
    unittest.main()
