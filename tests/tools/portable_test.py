#!/usr/bin/env python3
# The command on other systems than the one that built it: it asks the loader for the C library
# alone. fmt's library has another name with each release of the distributions, and a command that
# needs it ends before it begins on the next one.
# SPDX-License-Identifier: MIT
"""What the talus command needs from the system that runs it."""

import os
import re
import subprocess
import unittest

COMMAND = os.environ["TALUS_TEST_COMMAND"]
C_LIBRARY = ("libc.so.", "libm.so.", "ld-linux")
# Where the compiler has no archives of these, the command is linked to them.
CXX_RUNTIME = ("libstdc++.so.", "libgcc_s.so.")


def needed_libraries(path):
    """The names of the libraries that the file asks the loader for."""
    listing = subprocess.run(["readelf", "-dW", path], check=True, stdout=subprocess.PIPE,
                             env={**os.environ, "LC_ALL": "C"}, text=True).stdout
    return re.findall(r"\(NEEDED\).*?\[(.*?)\]", listing)


class NeededLibraries(unittest.TestCase):
    def test_c_library_alone(self):
        allowed = C_LIBRARY
        if os.environ["TALUS_TEST_STATIC_RUNTIME"] != "1":
            allowed += CXX_RUNTIME
        needed = needed_libraries(COMMAND)
        self.assertTrue(any(name.startswith("libc.so.") for name in needed), needed)
        self.assertEqual([name for name in needed if not name.startswith(allowed)], [])


if __name__ == "__main__":
    unittest.main()
