# What it owns: a command of a test of packages, which must succeed.
# SPDX-License-Identifier: MIT
"""Runs a command, and says what it printed if it failed."""

import subprocess


def call(*words, **more):
    """What the command printed. Words may be paths; `more` goes to subprocess.run."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout
