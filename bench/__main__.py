# python3 -m bench: runs the benchmark set and prints a comparison of the allocators.
#
# Owns: the command line and the run that it requests. rounds.py has the order of runs, record.py
# the output file.
#
# SPDX-License-Identifier: MIT

import argparse
import signal
import sys
from pathlib import Path

from . import (allocators, command_line, instructions, machine, measuring, record, rounds,
               self_check, summary, table, workloads)
from .command_line import ROOT

ROUNDS = 3
WARM_MIB = 1024  # resident memory of the largest workloads at scale 1
QUICK_SCALE = 0.2
QUICK_ROUNDS = 5
QUICK_BUDGET_S = 240
SELF_ROUNDS = 7
THREADS_MAX = 16


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench", description="Compare memory allocators on the benchmark set.")
    parser.add_argument("--quick", action="store_true",
                        help=f"the first set at scale {QUICK_SCALE}, {QUICK_ROUNDS} rounds, less "
                        "than five minutes")
    parser.add_argument("--full", action="store_true",
                        help="all sets, all allocators, instruction counts, --after-free: hours")
    parser.add_argument("--self", action="store_true", dest="is_self",
                        help="one allocator against itself: every ratio must be 1")
    parser.add_argument("--instructions", action="store_true",
                        help="only count the instructions of a malloc and free pair (valgrind)")
    parser.add_argument("--after-free", action="store_true",
                        help="one more round, which measures resident memory after the last free")
    parser.add_argument("--set", choices=workloads.SETS, help="which workloads (default first)")
    command_line.add(parser, "--only")
    parser.add_argument("--alloc", help="comma list of allocators; name=library for others")
    command_line.add(parser, "--repeat", help=f"number of rounds (default {ROUNDS}, with --quick "
                     f"{QUICK_ROUNDS}, with --self {SELF_ROUNDS})")
    command_line.add(parser, "--threads",
                     help="T of the workloads (default: all cores); a list gives a row for "
                     "each to " + ", ".join(workloads.CURVES))
    command_line.add(parser, "--scale")
    command_line.add(parser, "--out", help="JSON file (default BUILD/bench/result.json)")
    for name in ("--talus", "--build", "--peers", "--timeout", "--max-foreign"):
        command_line.add(parser, name)
    command_line.add(parser, "--warm", default=WARM_MIB)
    parser.add_argument("--retries", type=int,
                        help="repetitions of a noisy run (default 2, with --quick 1)")
    parser.add_argument("--list", action="store_true", help="list workloads and allocators")
    return parser


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    known = parser()
    arguments = known.parse_args(given)
    for name in ("repeat", "scale", "timeout"):
        value = getattr(arguments, name)
        if value is not None and value <= 0:
            known.error(f"--{name} must be above zero")
    if arguments.quick and arguments.full:
        known.error("--quick or --full, not both")
    if arguments.full:
        arguments.set = arguments.set or workloads.FULL
        arguments.alloc = arguments.alloc or allocators.EVERYTHING
        arguments.after_free = True
    arguments.set = arguments.set or workloads.FIRST
    arguments.budget_s = QUICK_BUDGET_S if arguments.quick and arguments.repeat is None else None
    if arguments.repeat is None:
        arguments.repeat = (SELF_ROUNDS if arguments.is_self else
                            QUICK_ROUNDS if arguments.quick else ROUNDS)
    if arguments.scale is None:
        arguments.scale = QUICK_SCALE if arguments.quick else 1.0
    if arguments.retries is None:
        arguments.retries = 1 if arguments.quick else 2
    given_threads = arguments.threads or [min(machine.usable_cores(), THREADS_MAX)]
    arguments.thread_list = given_threads if len(given_threads) > 1 else None
    arguments.threads = (min(machine.usable_cores(), THREADS_MAX) if arguments.thread_list
                         else given_threads[0])
    return arguments


def find_talus(arguments: argparse.Namespace) -> Path | None:
    """The library to measure. An explicit path must exist (from_path checks it); the default one
    may be missing."""
    if arguments.talus is not None:
        return arguments.talus
    default = arguments.build / "libtalus.so"
    return default if default.is_file() else None


def check_programs(programs: Path, rows: list) -> None:
    ours = [row.program for row in rows if isinstance(row, workloads.Workload)]
    missing = [name for name in ["measure", "warm_memory", "witness.so", "pair_loop", *ours]
               if not (programs / name).is_file()]
    if missing:
        raise ValueError(f"not built in {programs}: {', '.join(sorted(set(missing)))}")


def chosen_rows(arguments: argparse.Namespace) -> tuple[list, list[dict]]:
    """The rows to run, and those that cannot run here with their reasons."""
    rows = workloads.select(arguments.only, arguments.set)
    if arguments.thread_list:
        rows = workloads.spread(rows, arguments.thread_list)
    skipped = [{"workload": row.name, "reason": reason}
               for row in rows if (reason := row.missing())]
    missing = {one["workload"] for one in skipped}
    return [row for row in rows if row.name not in missing], skipped


def chosen_allocators(
        arguments: argparse.Namespace) -> tuple[list[allocators.Allocator], list[dict]]:
    """The allocators to measure, and those that cannot be measured here with their reasons.

    Raises ValueError if a requested allocator is not available.
    """
    known = allocators.available(arguments.peers, find_talus(arguments))
    absent = allocators.missing(arguments.peers, known)
    if not arguments.is_self:
        return (allocators.select(arguments.alloc, known, absent),
                allocators.skipped(arguments.alloc, absent))
    requests = arguments.alloc or allocators.SUBJECT
    return self_check.twins(allocators.select(requests, known, absent)), []


def settings(arguments: argparse.Namespace, rounds_run: int) -> dict:
    return {"repeat": rounds_run, "threads": arguments.threads,
            "thread_list": arguments.thread_list, "scale": arguments.scale,
            "timeout_s": arguments.timeout, "foreign_cores_max": arguments.max_foreign,
            "noisy_retries": arguments.retries, "warm_mib": arguments.warm, "set": arguments.set,
            "only": arguments.only}


def run(arguments: argparse.Namespace, rows: list, skipped: list[dict],
        chosen: list[allocators.Allocator], absent: list[dict] | None = None) -> int:
    fields = record.begin(ROOT)
    programs = arguments.build / "bench"
    names = [allocator.name for allocator in chosen]
    subject = allocators.SUBJECT if allocators.SUBJECT in names else names[0]
    samples, rounds_run, status = [], 0, 0
    if arguments.instructions:
        rows = rows if arguments.full else []
    if rows:
        plan = rounds.Plan(programs, rows, chosen, arguments.repeat, arguments.threads,
                           arguments.scale,
                           measuring.Limits(arguments.timeout, arguments.max_foreign,
                                            arguments.warm),
                           arguments.retries, arguments.budget_s)
        samples, rounds_run = rounds.run_all(plan)
    about = {row.name: {"base": row.base, "group": row.group,
                        "threads": row.threads or arguments.threads} for row in rows}
    figures = summary.summarize(samples, [row.name for row in rows], names, subject, about)
    fields |= {"settings": settings(arguments, rounds_run), "skipped": skipped,
               "skipped_allocators": absent or [],
               "allocators": [allocator.describe() for allocator in chosen],
               "summary": figures, "samples": samples}
    print(f"{fields['machine']['processor']}, {fields['machine']['cores']} cores, kernel "
          f"{fields['machine']['kernel']}, load {fields['load_average_at_start'][0]}, "
          f"T={arguments.threads}, {rounds_run} round(s), scale {arguments.scale:g}")
    if rows:
        table.print_report(figures, samples, names)
        status = 0 if all(sample["outcome"] == "ok" for sample in samples) else 1
        if arguments.is_self and not self_check.print_verdict(figures):
            status = 1
    table.print_skipped(skipped)
    if arguments.after_free and rows:
        fields["after_free"] = rounds.run_after_free(plan)
        table.print_after_free(fields["after_free"], names)
    if arguments.instructions or arguments.full:
        fields["instructions"] = instructions.measure(programs, chosen)
        table.print_instructions(fields["instructions"], names)
    out = arguments.out or arguments.build / "bench/result.json"
    record.write(out, fields, ROOT)
    print(f"\nall samples: {out}")
    return status


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    try:
        rows, skipped = chosen_rows(arguments)
        chosen, absent = chosen_allocators(arguments)
        if arguments.list:
            print("workloads:", ", ".join(row.name for row in rows))
            print("allocators:", ", ".join(f"{one.name} {one.version}" for one in chosen))
            table.print_skipped(skipped + absent)
            return 0
        check_programs(arguments.build / "bench", rows)
    except ValueError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    # SIGTERM becomes an exception, so that the running program is ended too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    table.print_skipped(absent)  # before hours of work without them
    return run(arguments, rows, skipped, chosen, absent)


if __name__ == "__main__":
    sys.exit(main())
