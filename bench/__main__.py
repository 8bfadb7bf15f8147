# python3 -m bench: runs the benchmark set and prints how the allocators compare.
#
# Owns: the command line and the order of runs. Rounds are the outer loop and the order of
# allocators turns from round to round, so that slow drift of the machine and the state that one
# allocator leaves behind fall on all of them alike.
#
# SPDX-License-Identifier: MIT

import argparse
import datetime
import json
import signal
import sys
from pathlib import Path

from . import allocators, machine, measuring, summary, table, workloads

ROOT = Path(__file__).resolve().parent.parent
QUICK_SCALE = 0.2


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench", description="Compare memory allocators on the benchmark set.")
    parser.add_argument("--quick", action="store_true",
                        help=f"one round at scale {QUICK_SCALE}: shows that all works")
    parser.add_argument("--set", choices=workloads.SETS, default=workloads.FIRST,
                        help="which workloads (default first)")
    parser.add_argument("--only", help="comma list of workloads, as B1 or B1/500; of any set")
    parser.add_argument("--alloc", help="comma list of allocators, or name=library for others")
    parser.add_argument("--repeat", type=int, help="rounds (default 3, with --quick 1)")
    parser.add_argument("--threads", type=int, help="T of the workloads (default: all cores)")
    parser.add_argument("--scale", type=float, help="multiplies the work of each program")
    parser.add_argument("--out", type=Path, help="JSON file (default BUILD/bench/result.json)")
    parser.add_argument("--talus", type=Path, help="libtalus.so (default BUILD/libtalus.so)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release",
                        help="build folder (default build/release)")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/peers/peers.json",
                        help="what build_peers.py wrote (default build/peers/peers.json)")
    parser.add_argument("--timeout", type=float, default=90, help="seconds per run (default 90)")
    parser.add_argument("--max-foreign", type=float, default=0.15, metavar="CORES",
                        help="a run beside more foreign work is noisy and repeated")
    parser.add_argument("--retries", type=int, default=2,
                        help="how often a noisy run is repeated (default 2)")
    parser.add_argument("--list", action="store_true", help="list workloads and allocators")
    arguments = parser.parse_args(given)
    for name in ("repeat", "threads", "scale", "timeout"):
        value = getattr(arguments, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} must be above zero")
    if arguments.repeat is None:
        arguments.repeat = 1 if arguments.quick else 3
    if arguments.scale is None:
        arguments.scale = QUICK_SCALE if arguments.quick else 1.0
    if arguments.threads is None:
        arguments.threads = min(machine.usable_cores(), 16)
    return arguments


def find_talus(arguments: argparse.Namespace) -> Path | None:
    """An explicit path must exist (from_path says so); the default one may be missing."""
    if arguments.talus is not None:
        return arguments.talus
    default = arguments.build / "libtalus.so"
    return default if default.is_file() else None


def check_programs(programs: Path, rows: list[workloads.Workload]) -> None:
    missing = [name for name in ["measure", *(row.program for row in rows)]
               if not (programs / name).is_file()]
    if missing:
        raise ValueError(f"not built in {programs}: {', '.join(sorted(set(missing)))}")


def run_one(arguments: argparse.Namespace, row: workloads.Workload,
            allocator: allocators.Allocator, round_number: int) -> list[dict]:
    """One counted run; a noisy one is tried again, and all tries are kept."""
    limits = measuring.Limits(arguments.timeout, arguments.max_foreign)
    tries = []
    while True:
        sample = measuring.run_once(arguments.build / "bench", row, allocator, arguments.threads,
                                    arguments.scale, limits)
        sample["round"] = round_number
        tries.append(sample)
        time = f"{sample['time']:.3f}" if "time" in sample else sample["outcome"]
        rss = f"{sample['rss_kib'] / 1024:.1f} MiB" if "rss_kib" in sample else ""
        noise = f" noisy: {sample['foreign_cores']} foreign cores" if sample["is_noisy"] else ""
        print(f"  round {round_number} {row.name:12} {allocator.name:10} {time:>8} {rss:>12}"
              f"{noise}", file=sys.stderr, flush=True)
        if not sample["is_noisy"] or sample["outcome"] != "ok" or len(tries) > arguments.retries:
            return tries


def run_all(arguments: argparse.Namespace, rows: list[workloads.Workload],
            chosen: list[allocators.Allocator]) -> list[dict]:
    samples = []
    for round_number in range(1, arguments.repeat + 1):
        turn = (round_number - 1) % len(chosen)
        for row in rows:
            for allocator in chosen[turn:] + chosen[:turn]:
                samples += run_one(arguments, row, allocator, round_number)
    return samples


def write_record(path: Path, arguments: argparse.Namespace, chosen: list[allocators.Allocator],
                 samples: list[dict], figures: dict, started: dict) -> None:
    record = {
        "format": 1,
        **started,
        "finished": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": ["python3", "-m", "bench", *sys.argv[1:]],
        "settings": {"repeat": arguments.repeat, "threads": arguments.threads,
                     "scale": arguments.scale, "timeout_s": arguments.timeout,
                     "foreign_cores_max": arguments.max_foreign,
                     "noisy_retries": arguments.retries},
        "subject_environment": measuring.subject_environment(),
        "allocators": [allocator.describe() for allocator in chosen],
        "summary": figures,
        "samples": samples,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    try:
        rows = workloads.select(arguments.only, arguments.set)
        known = allocators.available(arguments.peers, find_talus(arguments))
        chosen = allocators.select(arguments.alloc, known)
        if arguments.list:
            print("workloads:", ", ".join(row.name for row in rows))
            print("allocators:", ", ".join(f"{one.name} {one.version}" for one in chosen))
            return 0
        check_programs(arguments.build / "bench", rows)
    except ValueError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    started = {
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine.describe(),
        "load_average_at_start": machine.load_average(),
    }
    # A polite kill becomes an exception, so that the running program is taken along.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    samples = run_all(arguments, rows, chosen)
    names = [allocator.name for allocator in chosen]
    subject = allocators.SUBJECT if allocators.SUBJECT in names else names[0]
    figures = summary.summarize(samples, [row.name for row in rows], names, subject)
    print(f"{started['machine']['processor']}, {started['machine']['cores']} cores, kernel "
          f"{started['machine']['kernel']}, load {started['load_average_at_start'][0]}, "
          f"T={arguments.threads}, {arguments.repeat} round(s), scale {arguments.scale:g}")
    table.print_report(figures, samples, names)
    out = arguments.out or arguments.build / "bench/result.json"
    write_record(out, arguments, chosen, samples, figures, started)
    print(f"\nall samples: {out}")
    return 0 if all(sample["outcome"] == "ok" for sample in samples) else 1


if __name__ == "__main__":
    sys.exit(main())
