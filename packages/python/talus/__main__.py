# What it owns: `python -m talus`, which becomes the command of this package. pip makes a script
# `talus` that calls it, too. It must not know the commands.
# SPDX-License-Identifier: MIT
"""`python -m talus`: the command talus of this package."""

import os
import sys

from talus import command


def main():
    """Runs the command with the arguments of this one."""
    path = command()
    try:
        os.execv(path, ["talus", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"talus: {path}: {error.strerror}")


if __name__ == "__main__":
    main()
