#!/usr/bin/env python3
"""Shows that the probes can fail: each planted fault must be noticed by the probes named for it.

Preloads plugins/faulty_allocator.so, which is glibc's malloc with one fault chosen by a variable.
Without a fault the named probes must pass on it, so that what they notice is the fault and not the
wrapper. Ends with `N passed, N failed`. Needs glibc. Only the standard library is used.
SPDX-License-Identifier: MIT
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import run  # noqa: E402

# fault, and the probes that must fail on it
EXPECTATIONS = (
    ("ignores_alignment", ("api_alignment", "cxx_operators")),
    ("dirty_calloc", ("api_calloc_zeroed",)),
    ("spoils_errno", ("api_errno_kept", "limits_kernel_refusals")),
    ("null_for_nothing", ("api_zero_size",)),
    ("lies_about_size", ("api_usable_size",)),
    ("loses_contents", ("api_realloc_contents", "api_plain_c")),
    ("dies_after_exit", ("exit_static_destructors",)),
    ("holds_lock_at_fork", ("fork_allocating_threads",)),
    ("never_frees", ("exit_unloaded_library", "memory_pure_free_thread", "threads_churn",
                     "threads_tls_destructors", "threads_first_call",
                     "api_page_aligned", "limits_exhaustion", "limits_room_for_another_thread",
                     "memory_release_call")),
    ("slow_fork", ("fork_latency",)),
    ("leaves_descriptor", ("start_closed_descriptors",)),
    ("reserves_much", ("start_address_space", "limits_address_limit")),
    ("splits_mappings", ("limits_map_count",)),
    ("cancellation_point", ("threads_cancellation",)),
    ("needs_proc", ("start_bare_root",)),
    ("counts_processors", ("start_last_processor",)),
    ("stalls", ("threads_stopped_at_random",)),
    ("spins", ("threads_realtime_priorities",)),
    ("hands_out_twice", ("threads_signal_storm", "threads_fibers")),
    ("wrong_answers", ("api_mallopt", "api_alignment_errors")),
    ("deep_stack", ("threads_small_stack",)),
)
TIMEOUT_SECONDS = 30


def outcome_of(programs, probe, library, fault):
    # Some faults have a build of their own, for probes that empty the environment.
    own_build = library.with_name(f"faulty_{fault}.so")
    library = own_build if own_build.is_file() else library
    environment = run.clean_environment(library, {"CONFORMANCE_FAULT": fault})
    return run.run_probe(programs / probe, environment, TIMEOUT_SECONDS)


def judge(programs, library, fault, probe):
    """Whether the probe passes without the fault and fails with it, and the line that says so."""
    sound = outcome_of(programs, probe, library, "none")
    faulty = outcome_of(programs, probe, library, fault)
    is_good = sound["outcome"] == "passed" and faulty["outcome"] == "failed"
    reason = (faulty["reasons"] or sound["reasons"] or ["not noticed"])[0]
    return is_good, (f"{'PASS' if is_good else 'FAIL'} {fault} {probe}: {sound['outcome']} "
                     f"without, {faulty['outcome']} with: {reason[:90]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of the built probes")
    parser.add_argument("--only", help="part of a fault's name")
    parser.add_argument("--jobs", type=int, default=1, help="probes at a time (1)")
    arguments = parser.parse_args()
    programs = Path(arguments.programs).absolute()
    library = programs / "plugins" / "faulty_allocator.so"
    if not library.is_file():
        sys.exit(f"self_test.py: no {library.name} beside the programs")
    pairs = [(fault, probe) for fault, probes in EXPECTATIONS for probe in probes
             if not arguments.only or arguments.only in fault]
    passed = failed = 0
    # Most probes wait most of the time.
    with ThreadPoolExecutor(arguments.jobs) as jobs:
        for is_good, line in jobs.map(lambda pair: judge(programs, library, *pair), pairs):
            passed, failed = passed + is_good, failed + (not is_good)
            print(line, flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
