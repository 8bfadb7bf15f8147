# SPDX-License-Identifier: MIT
"""Owns: what a heap profile adds to the memory of a program whose heap lies in huge pages."""

import unittest

from process import Preloaded, program

KEYS = ("Rss", "AnonHugePages")


def resident(letter, **environment):
    """Bytes that are resident once the heap is full, and those of them in huge pages."""
    with Preloaded(program("filling"), TALUS_THP="always", **environment) as filling:
        assert filling.ask(letter) == "done\n"
        with open(f"/proc/{filling.pid}/smaps_rollup", encoding="utf-8") as rows:
            sizes = {words[0].rstrip(":"): 1024 * int(words[1])
                     for words in map(str.split, rows) if words[0].rstrip(":") in KEYS}
    return tuple(sizes[key] for key in KEYS)


class ProfileMemory(unittest.TestCase):
    # 384 samples. A slice for each would be an eighth more with small blocks.
    def compare(self, letter):
        off, off_huge = resident(letter)
        on, on_huge = resident(letter, TALUS_PROFILE="512KiB")
        if off_huge < 0.9 * off or on_huge < 0.9 * on:
            self.skipTest("the kernel has no huge pages to give")
        self.assertLess(on, 1.03 * off)

    def test_small_blocks(self):
        self.compare("s")

    def test_medium_blocks(self):
        self.compare("m")


if __name__ == "__main__":
    unittest.main()
