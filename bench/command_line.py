# The options that several commands of the benchmarks have.
#
# Owns: one declaration for each: its type, its default and its help.
# Invariant: an option means the same in each command. Only its default and its help may differ.
# It must not know what a command does with the values.
#
# SPDX-License-Identifier: MIT

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THREADS_MAX = 256


def thread_list(text: str) -> list[int]:
    """Thread counts from a comma list, each once. Raises ArgumentTypeError for other text."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or max(numbers) > THREADS_MAX:
        raise argparse.ArgumentTypeError(
            f"a number from 1 to {THREADS_MAX}, or a comma list of these")
    return list(dict.fromkeys(numbers))


OPTIONS = {
    "--build": {"type": Path, "default": ROOT / "build/release",
                "help": "build folder (default build/release)"},
    "--talus": {"type": Path, "help": "libtalus.so (default BUILD/libtalus.so)"},
    "--peers": {"type": Path, "default": ROOT / "build/peers/peers.json",
                "help": "record of build_peers.py (default build/peers/peers.json)"},
    "--only": {"help": "comma list of workloads of any set, as B1 or B1/500"},
    "--repeat": {"type": int, "help": "number of rounds"},
    "--threads": {"type": thread_list, "metavar": "N[,N...]",
                  "help": "number of threads, or a comma list of numbers"},
    "--scale": {"type": float, "help": "factor for the work of each program"},
    "--timeout": {"type": float, "default": 90.0, "help": "seconds for one run (default 90)"},
    "--max-foreign": {"type": float, "default": 0.15, "metavar": "CORES",
                      "help": "a run beside more work of other programs is noisy "
                      "(default 0.15)"},
    "--warm": {"type": int, "metavar": "MIB",
               "help": "memory made ready before each run (default %(default)s, 0: none)"},
    "--out": {"type": Path, "help": "JSON file to write"},
}


def add(parser: argparse.ArgumentParser, name: str, **changes) -> None:
    """Adds a shared option. `changes` replace parts of its declaration, as default or help."""
    parser.add_argument(name, **{**OPTIONS[name], **changes})
