#!/usr/bin/env python3
# `make demo`: one real program on the C library's allocator and on Talus, in turn.
#
# Owns: the quiet build of the library and the command, the program, and the final table. The
# program is python3 without its own small-object allocator, so every object goes through malloc.
# The kernel reports processor time, peak memory and page faults (wait4).
# It needs nothing but python3 and the tools of the build.
# SPDX-License-Identifier: MIT
"""Builds Talus, runs a real program with and without it, and shows the difference."""

import argparse
import os
import re
import statistics
import subprocess
import sys

ROUNDS = 3
SHOWN_OF_LOG = 40
TARGETS = ("talus_shared", "talus")
PROGRAM = """
import json, sys, threading
together = threading.Barrier(4)
def work(seed):
    rows = [{"id": i, "name": "row %d" % i, "tags": [i, str(i * seed)]} for i in range(40000)]
    copy = json.loads(json.dumps(rows))
    together.wait()  # all have both: the peak is the same in each run
    assert copy == rows
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
has_talus = any("libtalus.so" in line for line in open("/proc/self/maps"))
sys.exit(0 if has_talus == (sys.argv[1] == "talus") else "the wrong allocator is active")
"""


class Progress:
    """One line of progress: rewritten on a terminal, else printed once."""

    def __init__(self, text):
        self.text = text
        self.is_rewritten = sys.stdout.isatty()
        if not self.is_rewritten:
            print(f"talus: {text}", flush=True)

    def show(self, detail):
        if self.is_rewritten:
            print(f"\r\033[Ktalus: {self.text}: {detail}", end="", flush=True)

    def end(self):
        if self.is_rewritten:
            print("\r\033[K", end="", flush=True)


def run_step(command, log, progress):
    """Runs one step of the build with output to the log, and shows ninja's count of steps."""
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment, text=True,
                          errors="replace") as step:
        for line in step.stdout:
            log.write(line)
            count = re.match(r"\[(\d+/\d+)\] ", line)
            if count:
                progress.show(count[1])
    return step.returncode


def build(folder, jobs):
    """Builds the library and the command. On failure, prints the end of the log and exits."""
    os.makedirs(folder, exist_ok=True)
    log_path = f"{folder}/demo.log"
    progress = Progress("building")
    steps = (
        ["cmake", "--preset", "release", "-DTALUS_TESTS=OFF", "-DTALUS_BENCH=OFF"],
        ["cmake", "--build", folder, "-j", str(jobs), "--target", *TARGETS])
    with open(log_path, "w+", encoding="utf-8") as log:
        for step in steps:
            try:
                status = run_step(step, log, progress)
            except FileNotFoundError:
                progress.end()
                sys.exit(f"talus: there is no {step[0]} here; please install it")
            if status != 0:
                progress.end()
                log.seek(0)
                sys.stdout.writelines(log.readlines()[-SHOWN_OF_LOG:])
                sys.exit(f"talus: the build failed; its output is in {log_path}")
    progress.end()


def measure(prefix, word):
    """Processor time in seconds, peak memory in bytes and page faults of one run."""
    environment = {name: value for name, value in os.environ.items()
                   if name != "LD_PRELOAD" and not name.startswith(("PYTHON", "TALUS_"))}
    environment["PYTHONMALLOC"] = "malloc"
    command = [*prefix, sys.executable, "-c", PROGRAM, word]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"talus: python3 ended with status {child.returncode}")
    return (usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
            usage.ru_minflt + usage.ru_majflt)


def compare(folder):
    """The medians of both sides, which run in turn."""
    sides = {"C library": [], "Talus": []}
    progress = Progress(f"running python3 (4 threads, JSON), {ROUNDS} rounds of each allocator")
    for number in range(ROUNDS):
        for side, runs in sides.items():
            progress.show(f"round {number + 1}, {side}")
            is_talus = side == "Talus"
            prefix = [f"{folder}/talus", "run", "--"] if is_talus else []
            runs.append(measure(prefix, "talus" if is_talus else "libc"))
    progress.end()
    return {side: [statistics.median(column) for column in zip(*runs)]
            for side, runs in sides.items()}


def show(results, folder):
    """Prints the table and a sentence with the next command to type."""
    print(f"\n{'median of ' + str(ROUNDS) + ' runs':18}{'time':>10}{'peak memory':>15}"
          f"{'page faults':>15}")
    for side, (seconds, size, faults) in results.items():
        print(f"{side:18}{seconds:8.2f} s{size / 2**20:11.0f} MiB{faults:15,.0f}")
    ratios = [talus / max(libc, 1e-9) for talus, libc in zip(results["Talus"],
                                                             results["C library"])]
    print(f"{'Talus / C library':18}{ratios[0]:10.2f}{ratios[1]:15.2f}{ratios[2]:15.2f}")
    print(f"\nNext: {folder}/talus compare -- PROGRAM ARGUMENTS... compares every allocator found "
          "here on your own program.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="the folder of the build")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int,
                        help="number of compilers that run at once")
    arguments = parser.parse_args()
    build(arguments.build, arguments.jobs)
    show(compare(arguments.build), arguments.build)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
