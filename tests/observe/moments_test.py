# SPDX-License-Identifier: MIT
"""Owns: looks at stopped processes, damaged heaps, and how long a look takes."""

import json
import os
import resource
import signal
import struct
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
        """Processor time, because other programs run meanwhile. On an idle machine it is 4 to 6 ms,
        and 28 ms; they slow each other down."""
        with Process("shared") as process:
            small = self.time_of_a_look(process.pid)
            process.ask("l")
            large = self.time_of_a_look(process.pid)
        print(f"{small * 1000:.1f} ms, {large * 1000:.1f} ms for a GiB")
        self.assertLess(small, 0.020)
        self.assertLess(large, 0.100)

    def time_of_a_look(self, pid):
        times = []
        for _ in range(8):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            look(pid)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

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

    def test_a_list_that_leads_back_ends(self):
        carrier = os.path.basename(os.path.realpath(REAL))
        with Process("shared") as process:
            where = address_of(process.pid, carrier, "counting.all")
            write(process.pid, where, struct.pack("<Q", where))
            done = talus("stats", "--json", process.pid)
            write(process.pid, where, struct.pack("<Q", 0))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("without an end", done.stderr)


if __name__ == "__main__":
    unittest.main()
