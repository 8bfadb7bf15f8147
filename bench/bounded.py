# python3 -m bench.bounded: B16 and B17 on a bounded instance beside the heap, over threads.
#
# Owns: the rows (workload, memory, threads), run in rounds with rotating order of memories. Also
# the verdict on the curve: with a second core, two threads must reach at least the rate of one.
# measuring.py makes the samples, so a wrong library or wrong data is an outcome. "heap" is malloc
# of the preloaded library. "bounded" finds the thread's cache by the instance, and "cache" keeps a
# pointer to it. Pools and caches have the published sizes.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import statistics
import sys

from . import allocators, command_line, machine, measuring, workloads

MEMORIES = ("heap", "bounded", "cache")
PROGRAMS = {"B16": "bench_b16_smmalloc_perf01", "B17": "bench_b17_smmalloc_perf02"}


def rate(sample: dict) -> float:
    """Operations per second of all threads, without the end of the threads."""
    result = sample["result"]
    if "thread_ops_per_s_mean" in result:
        return result["thread_ops_per_s_mean"] * sample["threads"]
    return 2e9 / result["figure"] * sample["threads"]  # ns for a pair, in each thread


def run_all(arguments: argparse.Namespace, talus: allocators.Allocator) -> list[dict]:
    limits = measuring.Limits(arguments.timeout, arguments.max_foreign)
    samples = []
    for round_number in range(arguments.repeat):
        turn = round_number % len(MEMORIES)
        for name, program in PROGRAMS.items():
            for threads in arguments.threads:
                for memory in MEMORIES[turn:] + MEMORIES[:turn]:
                    row = workloads.Workload(f"{name}/{memory}@{threads}", program,
                                             ("--memory", memory), threads)
                    sample = measuring.run_once(arguments.build / "bench", row, talus, threads,
                                                arguments.scale, limits)
                    samples.append({**sample, "bench": name, "memory": memory,
                                    "round": round_number})
                    if sample["outcome"] != "ok":
                        print(f"{row.name}: {sample['outcome']}: {sample.get('reason', '')}",
                              file=sys.stderr)
    return samples


def median_rates(samples: list[dict]) -> dict:
    """{(bench, threads, memory): median operations a second} of clean runs, else of all."""
    groups = {}
    for sample in samples:
        if sample["outcome"] == "ok":
            groups.setdefault((sample["bench"], sample["threads"], sample["memory"]),
                              []).append(sample)
    rates = {}
    for key, group in groups.items():
        clean = [sample for sample in group if not sample["is_noisy"]] or group
        rates[key] = statistics.median(rate(sample) for sample in clean)
    return rates


def falling(rates: dict, cores: int) -> list[str]:
    """One sentence for each curve that falls from one thread to two, if two can run."""
    return [f"{name}/{memory} falls from {rates[name, 1, memory]:.3g} operations a second with "
            f"one thread to {rates[name, 2, memory]:.3g} with two"
            for name in PROGRAMS for memory in MEMORIES
            if cores >= 2 and {(name, 1, memory), (name, 2, memory)} <= rates.keys()
            and rates[name, 2, memory] < rates[name, 1, memory]]


def print_rates(rates: dict, threads: list[int]) -> None:
    print(f"{'':8}{'threads':>8}" + "".join(f"{memory:>12}" for memory in MEMORIES)
          + f"{'bounded/heap':>14}{'cache/heap':>12}   million operations a second, median")
    for name in PROGRAMS:
        for count in threads:
            found = [rates.get((name, count, memory)) for memory in MEMORIES]
            cells = "".join(f"{'-' if one is None else format(one / 1e6, '.1f'):>12}"
                            for one in found)
            ratios = [f"{one / found[0]:.2f}" if one and found[0] else "-" for one in found[1:]]
            print(f"{name:8}{count:8}{cells}{ratios[0]:>14}{ratios[1]:>12}")


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m bench.bounded",
                                     description="B16 and B17 on bounded instances.")
    command_line.add(parser, "--threads", default=[1, 2, 3, 4, 5])
    command_line.add(parser, "--repeat", default=5, help="number of rounds (default 5)")
    command_line.add(parser, "--scale", default=1.0)
    for name in ("--build", "--talus", "--out", "--timeout", "--max-foreign"):
        command_line.add(parser, name)
    arguments = parser.parse_args(given)
    try:
        talus = allocators.from_path(allocators.SUBJECT,
                                     arguments.talus or arguments.build / "libtalus.so")
    except ValueError as error:
        print(f"bench.bounded: {error}", file=sys.stderr)
        return 2
    samples = run_all(arguments, talus)
    rates = median_rates(samples)
    print_rates(rates, arguments.threads)
    found = falling(rates, machine.usable_cores())
    print("\n".join(found))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"samples": samples}, indent=1) + "\n")
    return 1 if found or any(sample["outcome"] != "ok" for sample in samples) else 0


if __name__ == "__main__":
    sys.exit(main())
