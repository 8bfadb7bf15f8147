#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Preloads Talus where a library is opened with RTLD_DEEPBIND, so that it has libc's malloc.

Owns: what happens when blocks cross the border. What stays on its side, and what the C library
allocates for its callers, is no matter. A block of the library that the program frees is a foreign
one: a message and abort, or nothing with TALUS_ON_FOREIGN_FREE=ignore. A block of Talus that the
library gives to its own free() is out of Talus's sight; the C library ends the process.

    deepbind_test.py --talus LIB --program FILE --plugin LIB
"""
import argparse
import os
import signal
import subprocess
import sys

SILENT = (0, "")
ABORTED_BY_FREE = (-signal.SIGABRT, "talus: invalid pointer 0x")
ABORTED_BY_REALLOC = (-signal.SIGABRT, "passed to realloc()")
ABORTED_BY_LIBC = (-signal.SIGABRT, "invalid")

# case, outcome by default, outcome with TALUS_ON_FOREIGN_FREE=ignore
CASES = (
    ("nothing_crosses", SILENT, SILENT),
    ("texts_to_program", SILENT, SILENT),
    ("small_to_program", ABORTED_BY_FREE, SILENT),
    ("large_to_program", ABORTED_BY_FREE, SILENT),
    # Neither allocator can tell how many bytes there are to copy.
    ("resized_by_program", ABORTED_BY_REALLOC, ABORTED_BY_REALLOC),
    ("small_to_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
    ("large_to_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
    ("resized_by_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
    ("text_to_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
    ("line_to_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
    ("path_to_library", ABORTED_BY_LIBC, ABORTED_BY_LIBC),
)


def run(arguments, case: str, policy: str):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LD_", "TALUS_"))}
    environment["LD_PRELOAD"] = arguments.talus
    if policy:
        environment["TALUS_ON_FOREIGN_FREE"] = policy
    done = subprocess.run([arguments.program, arguments.plugin, case], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                          check=False)
    return done.returncode, done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("talus", "program", "plugin"):
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    failed = 0
    for case, by_default, when_ignored in CASES:
        for policy, expected in (("", by_default), ("abort", by_default), ("ignore", when_ignored)):
            status, said = run(arguments, case, policy)
            is_right = status == expected[0] and expected[1] in said and bool(said) == bool(
                expected[1])
            failed += not is_right
            if not is_right:
                print(f"{case}, {policy or 'default'}: status {status}, said {said!r}, "
                      f"expected {expected}")
    print(f"{len(CASES) * 3 - failed} of {len(CASES) * 3} outcomes as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
