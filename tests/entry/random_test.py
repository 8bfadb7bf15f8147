#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts a program many times and looks at which bits of its first addresses vary.

Owns: what docs/misuse.md promises of random addresses. The kernel gives the bits from 21 on, Talus
those from 16 to 20. Without the kernel's randomness only those of Talus vary, and with a seed none.

    random_test.py [--preload LIB] PROGRAM
"""
import argparse
import os
import subprocess
import sys
import unittest

RUNS = 120
PLACE_BITS = range(16, 21)  # within the place of a huge page, in slices
HUGE_BITS = range(21, 36)
options = None


def runs(count, **environment):
    """Of each run, the addresses of a small, a medium, a large and a huge block."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("TALUS_", "LD_PRELOAD"))}
    clean |= {"TALUS_CONFIG": "none"} | environment
    if options.preload:
        clean["LD_PRELOAD"] = options.preload
    found = []
    for _ in range(count):
        said = subprocess.run([options.program], env=clean, stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        found.append([int(address, 16) for address in said.split()])
    return found


def varying_bits(addresses):
    """The bits that are set in some of the addresses and clear in others."""
    ones, zeros = 0, 0
    for address in addresses:
        ones |= address
        zeros |= ~address
    return {bit for bit in range(47) if ones >> bit & zeros >> bit & 1}


def places(addresses):
    return {address % (1 << 21) for address in addresses}


class Random(unittest.TestCase):
    def test_first_blocks_lie_anywhere(self):
        small, medium, large, huge = zip(*runs(RUNS))
        for addresses in (small, medium, large):
            self.assertLessEqual({*PLACE_BITS, *HUGE_BITS}, varying_bits(addresses))
            # Of 32 slices, 120 runs are expected to find 31.
            self.assertGreaterEqual(len(places(addresses)), 16)
        self.assertLessEqual(set(HUGE_BITS), varying_bits(huge), "it may begin an arena")

    def test_zero_and_a_seed_are_the_same_in_each_run(self):
        for value in ("0", "7", "123456789"):
            blocks = zip(*runs(10, TALUS_RANDOM=value))
            self.assertEqual({len(places(addresses)) for addresses in blocks}, {1})
        by_seed = runs(1, TALUS_RANDOM="7") + runs(1, TALUS_RANDOM="8") + runs(1, TALUS_RANDOM="9")
        self.assertGreater(len(places(addresses[0] for addresses in by_seed)), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preload", default="")
    parser.add_argument("program")
    options = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
