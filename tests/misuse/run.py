#!/usr/bin/env python3
"""Makes mistakes in the use of a heap, each in a process of its own, on any allocator.

    run.py --program PROGRAM [--allocator NAME=LIBRARY[,VARIABLE=VALUE...]]... [--json FILE]
    run.py --program PROGRAM --allocator talus=LIBRARY --expect default

Without --allocator it tries glibc; `NAME=` with no library is the C library's malloc. Prints how
often each row had which verdict. With --expect each verdict and line must be the one that
expected.csv promises of that mode of Talus; exit status 1 otherwise. Only the standard library is
used; page.py makes docs/hardening.md of a JSON file.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import cases  # noqa: E402
import expected  # noqa: E402

TIMEOUT_SECONDS = 20
ADDRESS_RUNS = 4
LOW_BITS = (1 << 21) - 1
# What could tune or replace an allocator from outside would make two runs differ.
UNWANTED_PREFIXES = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_", "TALUS_", "MIMALLOC_")
SAID_BYTES_MAX = 400
MISMATCHES_SHOWN = 40


@dataclass(frozen=True)
class Allocator:
    name: str
    library: Path | None
    variables: dict = field(default_factory=dict)

    def environment(self):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(UNWANTED_PREFIXES)}
        environment["LC_ALL"] = "C"
        if self.library:
            environment["LD_PRELOAD"] = str(self.library)
        return environment | self.variables

    def describe(self):
        facts = {"name": self.name, "variables": self.variables}
        if self.library:
            facts["library"] = self.library.name
            facts["sha256"] = hashlib.sha256(self.library.read_bytes()).hexdigest()[:12]
        return facts


def parse_allocator(text):
    """NAME=LIBRARY[,VARIABLE=VALUE...]; a value may have commas."""
    name, has_library, rest = text.partition("=")
    library, *words = re.split(r",(?=[A-Z_]+=)", rest)
    if not name or not has_library:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=LIBRARY")
    if library and not Path(library).is_file():
        raise argparse.ArgumentTypeError(f"{name}: no such library: {library}")
    return Allocator(name, Path(library).resolve() if library else None,
                     dict(word.split("=", 1) for word in words))


@dataclass
class Ended:
    """How a process ended, and what it said."""
    status: int
    is_timed_out: bool
    out: str
    said: str


@dataclass
class Result:
    verdict: str
    stage: str = ""    # where it ended: wrong, free, reuse, later
    pointer: str = ""  # that the wrong call got
    said: str = ""     # standard error
    detail: str = ""
    seconds: float = 0.0

    @property
    def key(self):
        """The verdict as expected.csv writes it."""
        is_later_look = self.verdict in ("stopped", "crash") and self.stage not in ("wrong", "")
        return f"{self.verdict}@{self.stage}" if is_later_look else self.verdict


def run_process(command, environment, timeout):
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                          start_new_session=True) as process:
        try:
            out, said = process.communicate(timeout=timeout)
            return Ended(process.returncode, False, out, said)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the child of a fork, too
            out, said = process.communicate()
            return Ended(process.returncode, True, out, said)


def judge_end(ended, stage, is_access):
    """The verdict on a process that did not come to its own."""
    if ended.is_timed_out or ended.status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hang"
    if ended.status in (0, 2) or stage in ("", "setup"):
        return "error"
    if stage == "later":
        return "late"
    is_fault = ended.status in (-signal.SIGSEGV, -signal.SIGBUS)
    is_at_access = is_access and stage == "wrong"
    return "crash" if is_fault and not ended.said and not is_at_access else "stopped"


def judge(ended, is_access):
    """What became of a case."""
    stages = re.findall(r"^stage (\w+) (0x[0-9a-f]+)$", ended.out, re.MULTILINE)
    stage = stages[-1][0] if stages else ""
    pointers = [pointer for name, pointer in stages if name == "wrong"]
    own = re.search(r"^verdict (\w+) ?(.*)$", ended.out, re.MULTILINE)
    result = Result("", stage, pointers[-1] if pointers else "", ended.said[:SAID_BYTES_MAX])
    if "cannot be preloaded" in ended.said:
        result.verdict = "error"
    elif own and ended.status == 0:
        result.verdict, result.detail = own[1], own[2]
        if result.verdict in ("silent", "harmless") and ended.said:
            result.verdict = "reported"
    else:
        result.verdict = judge_end(ended, stage, is_access)
        result.detail = f"status {ended.status}"
    return result


def compare_addresses(results):
    """Of processes that tell an address: is its low part the same in all?"""
    if any(result.verdict != "address" for result in results):
        return next(result for result in results if result.verdict != "address")
    low = [int(result.detail, 16) & LOW_BITS for result in results]
    found = results[0]
    found.verdict = "foreseen" if len(set(low)) == 1 else "varied"
    found.detail = " ".join(f"{value:x}" for value in low)
    return found


def run_case(program, allocator, case, timeout=TIMEOUT_SECONDS):
    start = time.monotonic()
    environment = allocator.environment()
    is_access = cases.BY_NAME[case.row].is_access
    count = ADDRESS_RUNS if case.row == "address_base" else 1
    results = [judge(run_process([program, *case.arguments], environment, timeout), is_access)
               for _ in range(count)]
    result = compare_addresses(results) if count > 1 else results[0]
    result.seconds = round(time.monotonic() - start, 3)
    return result


def run_allocator(program, allocator, chosen, jobs, timeout=TIMEOUT_SECONDS):
    """{case: result}, in the order of the cases."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda case: run_case(program, allocator, case, timeout), chosen)
        return dict(zip(chosen, results))


def count_verdicts(results):
    counts = collections.Counter(result.verdict for result in results)
    return ", ".join(f"{word} {count}" for word, count in counts.most_common())


def print_table(suites):
    for row in cases.ROWS:
        lines = []
        for name, suite in suites.items():
            of_row = [result for case, result in suite.items() if case.row == row.name]
            if of_row:
                lines.append(f"  {name:<16} {count_verdicts(of_row)}")
        if lines:
            print(row.name, *lines, sep="\n")


def as_json(suites, allocators):
    described = {allocator.name: allocator.describe() for allocator in allocators}
    return {"allocators": [described[name] for name in suites],
            "results": {name: {case.name: asdict(result) for case, result in suite.items()}
                        for name, suite in suites.items()}}


def check(mode, suite, is_whole):
    """Prints each case that is not as promised. Returns how many."""
    faults = expected.faults_of(mode, suite, is_whole)
    for fault in faults[:MISMATCHES_SHOWN]:
        print(fault)
    if len(faults) > MISMATCHES_SHOWN:
        print(f"... and {len(faults) - MISMATCHES_SHOWN} more")
    print(f"{len(suite)} cases in mode {mode}, {len(faults)} not as expected.csv promises")
    return len(faults)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the built program")
    parser.add_argument("--allocator", action="append", type=parse_allocator,
                        metavar="NAME=LIBRARY[,VARIABLE=VALUE...]",
                        help="an allocator to preload; may be repeated")
    parser.add_argument("--only", default="", help="a part of case names: 'double_free 64'")
    parser.add_argument("--expect", metavar="MODE", help="a mode of expected.csv")
    parser.add_argument("--json", type=Path, help="all results, for page.py")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--verbose", action="store_true", help="each case")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    chosen = cases.all_cases(arguments.only)
    if not chosen:
        sys.exit("run.py: no such case")
    allocators = arguments.allocator or [Allocator("glibc", None)]
    suites = {allocator.name: run_allocator(arguments.program, allocator, chosen, arguments.jobs)
              for allocator in allocators}
    if arguments.verbose:
        for name, suite in suites.items():
            for case, result in suite.items():
                print(f"{name} {case.name}: {result.key}: {result.detail} {result.said.strip()}")
    if not arguments.expect:
        print_table(suites)
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(suites, allocators), indent=1) + "\n")
    faults = 0
    for suite in suites.values():
        faults += check(arguments.expect, suite, not arguments.only) if arguments.expect else 0
        faults += sum(result.verdict == "error" for result in suite.values())
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
