#!/usr/bin/env python3
"""Runs fuzz_misuse: right calls at random, and one planned mistake, a process each.

    misuse.py --program FILE --mode checked --seconds 600

Each process must stop at the mistake, by SIGABRT and with the line that misuse_answers.py has for
it. One process in six makes no mistake and must not stop. Prints how often each act had which
answer, and for each other end a line `FAIL` and the command that repeats it. Exit status 1 then.
SPDX-License-Identifier: MIT
"""

import argparse
import collections
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import kinds  # noqa: E402
import misuse_answers as answers  # noqa: E402
import run as fuzz_run  # noqa: E402

SHORT_RUNS = 100
SHORT_SEED = 1
TIMEOUT_SECONDS = 90
FAILURES_SHOWN = 20
VOID_SHARE_MAX = 0.2  # a blind act would be one that is always void
MISTAKE = re.compile(r"^mistake (0x[0-9a-f]+|\(nil\)) (\d+) (\w+)$", re.MULTILINE)
VERDICT = re.compile(r"^verdict ([\w ]+) \S+$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    act: str
    seed: int
    environment: dict
    program: Path

    @property
    def command(self):
        words = [f"{name}={value}" for name, value in sorted(self.environment.items())]
        return " ".join([*words, str(self.program), self.act, str(self.seed)])


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    said: str


def draw_case(mode, seed, program, act=None):
    """The act, and options of Talus that must not matter."""
    drawn = random.Random(f"{seed} {mode}")
    if act is None:
        act = "none" if drawn.random() < 1 / 6 else drawn.choice(sorted(answers.ANSWERS[mode]))
    environment = {"TALUS_CONFIG": "none", "TALUS_MODE": mode, **answers.OPTIONS.get(act, {})}
    for name, (chance, values) in kinds.HARMLESS_OPTIONS.items():
        if drawn.random() < chance / 2:
            environment[name] = drawn.choice(values)
    if drawn.random() < 0.15:
        environment["TALUS_PRINT_STATS"] = "/dev/null"  # a second mode
    return Case(act, seed, environment, program)


def run_case(case):
    try:
        done = subprocess.run([case.program, case.act, str(case.seed)], stdin=subprocess.DEVNULL,
                              env=fuzz_run.clean_environment(case.environment), text=True,
                              capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        return Ended(done.returncode, done.stdout, done.stderr)
    except subprocess.TimeoutExpired:
        return Ended(-signal.SIGALRM, "", "it does not end\n")


def judge(mode, act, ended):
    """(what happened, whether it may). `void`: the block was given out again, or nothing was."""
    verdicts = VERDICT.findall(ended.out)
    verdict = verdicts[-1] if verdicts and ended.status == 0 else ""
    if act == "none":
        return (verdict, True) if (verdict, ended.said) == ("silent", "") else ("false stop", False)
    before_return = "\n" + ended.out.partition("\nreturned")[0]
    if verdict in ("skip", "no memory") or "\nagain " in before_return:
        return "void", True
    made = MISTAKE.search(ended.out)
    if made is None:
        return "ended before the mistake", False
    pointer, usable = made[1], int(made[2])
    allowed = answers.answers_to(mode, act, usable, made[3])
    if allowed is None:
        return "not promised", True
    if verdict:
        what = verdict if not ended.said else f"{verdict} with a line"
        return what, what in allowed
    late = "late " if "\nreturned" in ended.out else ""
    if ended.status != -signal.SIGABRT:
        return f"{late}status {ended.status}", False
    name = answers.name_of_line(mode, ended.said, pointer, usable, allowed)
    return (late + name, late + name in allowed) if name else (f"{late}another line", False)


class Tally:
    """What happened to each act, and the failures."""

    def __init__(self, mode):
        self.mode = mode
        self.counts = collections.defaultdict(collections.Counter)
        self.failures = 0

    def add(self, case, ended):
        what, may_happen = judge(self.mode, case.act, ended)
        self.counts[case.act][what] += 1
        if may_happen:
            return
        self.failures += 1
        if self.failures <= FAILURES_SHOWN:
            print(f"FAIL {case.act}: {what}\n     again: {case.command}")
            for line in (ended.out + ended.said).splitlines()[-4:]:
                print(f"     | {line}")
            sys.stdout.flush()

    def blind_acts(self):
        return [act for act, counts in self.counts.items()
                if counts.total() >= 10 and counts["void"] > VOID_SHARE_MAX * counts.total()]

    def show(self):
        for act in sorted(self.counts):
            counts = self.counts[act].most_common()
            print(f"{act:<20} " + ", ".join(f"{what} {count}" for what, count in counts))
        total = sum(counts.total() for counts in self.counts.values())
        for act in self.blind_acts():
            print(f"FAIL {act}: the block is given out again too often")
        print(f"{total} processes in mode {self.mode}, {self.failures} not as promised")


def run_all(arguments, tally):
    """Runs cases until the number of runs or the seconds are over."""
    seed = arguments.seed
    end = time.monotonic() + arguments.seconds
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {}
        while running or (arguments.runs > 0 and time.monotonic() < end):
            while len(running) < arguments.jobs and arguments.runs > 0 and time.monotonic() < end:
                case = draw_case(arguments.mode, seed, arguments.program, arguments.act)
                running[pool.submit(run_case, case)] = case
                seed, arguments.runs = seed + 1, arguments.runs - 1
            done, _ = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                tally.add(running.pop(future), future.result())


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path, help="fuzz_misuse, as it was built")
    parser.add_argument("--mode", choices=sorted(answers.ANSWERS), default="checked")
    parser.add_argument("--act", help="only this one, or none")
    parser.add_argument("--short", action="store_true",
                        help=f"{SHORT_RUNS} processes, from seed {SHORT_SEED} on")
    parser.add_argument("--seconds", type=float, default=600, help="for all together (600)")
    parser.add_argument("--runs", type=int, default=1 << 40, help="at most as many processes")
    parser.add_argument("--seed", type=int, help="the first one; by default the time is")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--expect-of", choices=sorted(answers.ANSWERS), metavar="MODE",
                        help="the answers of this mode instead: shows that misses are found")
    arguments = parser.parse_args()
    arguments.program = arguments.program.absolute()
    if arguments.short:
        arguments.runs = min(arguments.runs, SHORT_RUNS)
        arguments.seed = SHORT_SEED if arguments.seed is None else arguments.seed
    elif arguments.seed is None:
        arguments.seed = int(time.time())
    return arguments


def main():
    arguments = parse_arguments()
    tally = Tally(arguments.expect_of or arguments.mode)
    run_all(arguments, tally)
    tally.show()
    return 1 if tally.failures or tally.blind_acts() else 0


if __name__ == "__main__":
    sys.exit(main())
