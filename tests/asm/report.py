# What it owns: how a check of this folder tells its findings, and its exit status.
# It must not know what was checked.
# SPDX-License-Identifier: MIT
"""The end of each check of a library."""

import os


def report(library, findings):
    """Prints the findings and their number; returns the exit status."""
    found = list(findings)
    for finding in found:
        print(f"FAIL {os.path.basename(library)}: {finding}")
    print(f"{len(found)} findings in {library}")
    return 1 if found else 0
