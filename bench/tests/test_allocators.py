# Tests of the choice of allocators, with files that are no libraries.
#
# SPDX-License-Identifier: MIT

import tempfile
import unittest
from pathlib import Path

from bench import allocators


class Choice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.library = self.folder / "lib.so"
        self.library.touch()
        self.known = allocators.available(Path("none"), self.library)

    def test_names_and_libraries_in_the_order_given(self):
        chosen = allocators.select(f"talus, x={self.library},glibc", self.known)
        self.assertEqual(["talus", "x", "glibc"], [one.name for one in chosen])
        for wrong in ("none", f"x={self.folder}/none.so"):
            with self.assertRaises(ValueError):
                allocators.select(wrong, self.known)

    def test_a_name_that_comes_twice_is_refused(self):
        for wishes in ("glibc,talus,glibc", f"talus,talus={self.library}",
                       f"x={self.library},x={self.library}"):
            with self.assertRaisesRegex(ValueError, "named more than once: (glibc|talus|x)$"):
                allocators.select(wishes, self.known)


if __name__ == "__main__":
    unittest.main()
