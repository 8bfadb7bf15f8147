#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks from outside at programs whose blocks are mapped ones.

Owns: what TALUS_MODE=mapped promises by way of every entry. A fault of the heap ends the program by
the signal that it would have had, with one line that names the block and the threads. A program
without faults runs unchanged; without the mode nothing is said. With --run the program is started
by `talus run`, with --preload the library is preloaded.

    mapped_test.py [--preload LIB] [--run COMMAND] PROGRAM
"""
import argparse
import csv
import io
import os
import re
import resource
import signal
import subprocess
import sys
import unittest

FAULT = re.compile(r"talus: fault at (0x[0-9a-f]+), (\d+) bytes (into|before|behind) the "
                   r"(live|freed) block of 100 bytes at (0x[0-9a-f]+), "
                   r"allocated by thread (\d+)(?:, freed by thread (\d+))?\n")
DOUBLE_FREE = re.compile(r"talus: double free of (0x[0-9a-f]+) \(a freed block of 100 bytes at "
                         r"\1, allocated by thread (\d+), freed by thread (\d+)\)\n")
WARNING = re.compile(r"talus: no more blocks, mappings or addresses for TALUS_MODE \((\d+) blocks, "
                     r"at most (\d+); \d+ mappings, at most \d+\): until some are free, blocks are "
                     r"ordinary ones\n")
options = None


def no_core_file():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(kind, before=None, **settings):
    """(exit status, what it said of the block, standard error)"""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TALUS_", "LD_PRELOAD"))}
    words = [options.program, kind]
    if options.run:
        words = [options.run, "run", "--lib", options.preload,
                 *(f"{name}={value}" for name, value in settings.items()), "--", *words]
    else:
        environment.update({"TALUS_" + name: value for name, value in settings.items()})
        if options.preload:
            environment["LD_PRELOAD"] = options.preload
    process = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=before or no_core_file, check=False)
    return process.returncode, process.stdout.split(), process.stderr


class Mapped(unittest.TestCase):
    def expect_fault(self, result, distance, where, state):
        status, block, said = result
        self.assertEqual(status, -signal.SIGSEGV, said)
        found = FAULT.fullmatch(said)
        self.assertTrue(found, said)
        self.assertEqual(found.group(2, 3, 4), (distance, where, state))
        self.assertEqual(found.group(5), block[0])
        threads = [thread for thread in found.group(6, 7) if thread is not None]
        self.assertEqual(threads, block[1:])

    def test_overrun(self):
        self.expect_fault(run("o", MODE="mapped"), "12", "behind", "live")

    def test_underrun(self):
        self.expect_fault(run("u", MODE="mapped-underrun"), "1", "before", "live")

    def test_use_after_free(self):
        for mode in ("mapped", "mapped-underrun"):
            self.expect_fault(run("f", MODE=mode), "5", "into", "freed")

    def test_double_free(self):
        status, block, said = run("d", MODE="mapped")
        self.assertEqual(status, -signal.SIGABRT)
        found = DOUBLE_FREE.fullmatch(said)
        self.assertTrue(found, said)
        self.assertEqual(list(found.group(1, 2)), block[:2])

    def test_in_the_child_of_a_fork(self):
        status, _, said = run("c", MODE="mapped")
        self.assertEqual(status, signal.SIGSEGV)
        self.assertTrue(FAULT.fullmatch(said), said)

    def test_without_a_fault_nothing_is_said(self):
        for mode in ("mapped", "mapped-underrun", "none"):
            status, block, said = run("n", MODE=mode)
            self.assertEqual((status, len(block), said), (0, 2, ""))

    def test_without_the_mode_an_overrun_is_not_seen(self):
        status, _, said = run("o")
        self.assertEqual((status, said), (0, ""))

    def test_few_blocks(self):
        status, _, said = run("n", MODE="mapped", MAPPED_BLOCKS="100")
        self.assertEqual(status, 0)
        found = WARNING.fullmatch(said)
        self.assertTrue(found and found.group(1, 2) == ("100", "100"), said)

    # For each bound of the kernel: one without guards has only its bound on mappings.
    def test_a_million_blocks_alive(self):
        for mode in ("mapped", "mapped-underrun"):
            status, block, said = run("m", MODE=mode, MAPPED_BLOCKS="30000")
            self.assertEqual((status, len(block)), (0, 2), said)
            self.assertTrue(WARNING.fullmatch(said), said)

    def test_few_addresses(self):
        def few_addresses():
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
        status, _, said = run("n", before=few_addresses, MODE="mapped")
        self.assertEqual(status, 0)
        self.assertLessEqual(said.count("\n"), 1)

    def test_without_a_quarantine(self):
        status, _, said = run("n", MODE="mapped", QUARANTINE_BYTES="0")
        self.assertEqual((status, said), (0, ""))

    def test_the_summary_counts_such_blocks(self):
        status, _, said = run("n", MODE="mapped", PRINT_STATS="stderr")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"large blocks +[1-9]")

    def test_calls_are_counted_as_without_the_mode(self):
        rows = []
        for mode in ("none", "mapped"):
            status, _, said = run("n", MODE=mode, PRINT_STATS="stderr", PRINT_STATS_FORMAT="csv")
            self.assertEqual(status, 0)
            rows.append(next(csv.DictReader(io.StringIO(said))))
        plain, mapped = rows
        for name in ("allocations", "frees", "requested_bytes", "up_to_1024", "larger"):
            self.assertEqual(plain["calls." + name], mapped["calls." + name], name)
        self.assertGreater(int(mapped["calls.allocations"]), 3000)
        self.assertEqual(mapped["calls.rounding_bytes"], "0")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preload")
    parser.add_argument("--run")
    parser.add_argument("program")
    options = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
