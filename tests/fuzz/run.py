#!/usr/bin/env python3
"""Runs fuzz_calls with one seed after the other and prints how to repeat what failed.

Each seed stands for a kind of run, options of Talus and settings of the program (kinds.py). A
failure's output is kept in a file, its first lines and its command are printed. Threads are not
decided by a seed: a failure with threads may need several tries; one of kind `alone` mostly comes
again. The exit status is 1 if anything failed.
SPDX-License-Identifier: MIT
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import kinds

SKIPPED = 77
# Beyond its seconds; its own watchdog needs less, so only what is quite stuck meets this.
GRACE_SECONDS = 150
SHORT_SECONDS = 1
SHORT_SEED = 28  # under which every kind gets what its name says
LINES_PRINTED = 5

# What could tune or replace an allocator from outside would make two runs differ.
UNWANTED_PREFIXES = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_", "TALUS_")


def clean_environment(options):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(UNWANTED_PREFIXES)}
    return environment | options


def show_threads(process, output):
    """Where a process that does not end is, as far as there is a debugger."""
    if shutil.which("gdb"):
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(process.pid), "-ex", "set width 0",
                        "-ex", "thread apply all bt 24"], stdout=output, stderr=output, check=False)


def run_once(program, options, settings, output_path):
    """The exit status; the output goes to the file, below the command."""
    words = [str(program)] + [f"{name}={value}" for name, value in settings.items()]
    command = " ".join([f"{name}={shlex.quote(value)}" for name, value in options.items()] + words)
    with open(output_path, "w", encoding="utf-8") as output:
        output.write(command + "\n")
        output.flush()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   env=clean_environment(options))
        try:
            return command, process.wait(settings["seconds"] + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            output.write("FAILED: it does not end\n")
            output.flush()
            show_threads(process, output)
            process.kill()
            process.wait()
            return command, "none"


def telling_lines(output_path):
    """What the program and the library say, without journals and backtraces."""
    text = output_path.read_text(encoding="utf-8", errors="replace")
    return [line for line in text.splitlines()[1:]
            if line.startswith(("FAILED", "ok:", "talus:", "skipped:"))]


class Runs:
    """Counts the results of the seeds, and keeps the output of failed ones."""

    def __init__(self, program, directory, keep):
        self.program = program
        self.directory = directory
        self.keep = keep
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        keep.mkdir(parents=True, exist_ok=True)

    def run(self, seed, kind, seconds, makes_all_calls=False):
        options, settings = kinds.run_of(seed, kind, seconds, self.directory, makes_all_calls)
        settings["backtraces"] = int(shutil.which("gdb") is not None)
        output_path = self.keep / f"{kind}.{seed}.txt"
        start = time.monotonic()
        command, status = run_once(self.program, options, settings, output_path)
        lines = telling_lines(output_path)
        outcome = {0: "passed", SKIPPED: "skipped"}.get(status, "failed")
        self.counts[outcome] += 1
        word = {"passed": "PASS", "skipped": "SKIP", "failed": "FAIL"}[outcome]
        last = lines[-1] if lines and outcome != "failed" else ""
        print(f"{word} {kind:<12} {time.monotonic() - start:6.1f} s  {last}", flush=True)
        if outcome != "failed":
            output_path.unlink()
            return
        for line in [f"status {status}, kept in {output_path}"] + lines[:LINES_PRINTED]:
            print(f"     {line}")
        print(f"     again: {command}", flush=True)

    def summary(self):
        return ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items()
                         if count or outcome != "skipped")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path, help="fuzz_calls, as it was built")
    parser.add_argument("--short", action="store_true",
                        help=f"each kind once, {SHORT_SECONDS} s long, with seed {SHORT_SEED}")
    parser.add_argument("--seed", type=int, help="the first seed; by default the time is")
    parser.add_argument("--seconds", type=float, default=600, help="for all runs together (600)")
    parser.add_argument("--each", type=int, default=20, help="seconds for each run (20)")
    parser.add_argument("--kind", choices=sorted(kinds.KINDS), help="only this kind")
    parser.add_argument("--directory", default="/dev/shm",
                        help="for files of heaps (/dev/shm); a small file system finds more")
    parser.add_argument("--keep", type=Path, help="folder for the output of what failed "
                        "(fuzz_failures beside the program)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    program = arguments.program.absolute()
    if not os.access(program, os.X_OK):
        sys.exit(f"run.py: no program at {program}")
    keep = arguments.keep or program.parent / "fuzz_failures"
    runs = Runs(program, arguments.directory, keep)
    chosen = [arguments.kind] if arguments.kind else list(kinds.KINDS)
    if arguments.short:
        for kind in chosen:
            seed = SHORT_SEED if arguments.seed is None else arguments.seed
            runs.run(seed, kind, SHORT_SECONDS, makes_all_calls=True)
    else:
        seed = int(time.time()) if arguments.seed is None else arguments.seed
        print(f"seeds from {seed} on, for {arguments.seconds:.0f} s", flush=True)
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            runs.run(seed, arguments.kind or kinds.kind_of(seed), arguments.each)
            seed += 1
    print(runs.summary())
    return 1 if runs.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
