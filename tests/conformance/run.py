#!/usr/bin/env python3
"""Runs the conformance probes on one allocator and says which promises it keeps.

Each program of the folder is run by itself under a time limit, with LD_PRELOAD set for that program
alone. Exit status 0 is a pass, 77 a skip, anything else, a signal or a time-out a failure, whose
reasons (the program's stderr) are printed below its line. The last line is the count. Only the
standard library is used; table.py imports `run_suite` from here.
SPDX-License-Identifier: MIT
"""

import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77
TIMEOUT_SECONDS = 60
SOAK_TIMEOUT_SECONDS = 1500
REASONS_PRINTED = 6

# What could tune or replace an allocator from outside would make two runs differ.
UNWANTED_PREFIXES = ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_")


def clean_environment(preload, extra):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(UNWANTED_PREFIXES)
    }
    environment["LC_ALL"] = "C"
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    environment.update(extra)
    return environment


def find_programs(folder, pattern):
    """The executables of the folder, by name; `pattern` is a glob or a part of the name, or several
    apart by commas."""
    programs = [
        entry
        for entry in sorted(Path(folder).iterdir())
        if entry.is_file() and os.access(entry, os.X_OK)
    ]
    if pattern:
        programs = [
            program
            for program in programs
            if any(fnmatch.fnmatch(program.name, part) or part in program.name
                   for part in pattern.split(","))
        ]
    return programs


def describe_status(status):
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def parse_figures(text):
    """The `figure: name = value unit` lines as (name, value with unit) pairs."""
    figures = []
    for line in text.splitlines():
        if line.startswith("figure: ") and " = " in line:
            name, value = line[len("figure: "):].split(" = ", 1)
            figures.append([name, value.strip()])
    return figures


def end_group(process):
    """Ends the probe and whatever it started: it leads its own session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_probe(program, environment, timeout):
    """One probe, as a dictionary ready for JSON."""
    start = time.monotonic()
    timed_out = False
    # Files, not pipes: a grandchild that outlives the probe must not keep us reading.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [str(program)], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            status = -signal.SIGKILL
        end_group(process)
        out.seek(0)
        err.seek(0)
        stdout = out.read().decode("utf-8", "replace")
        stderr = err.read().decode("utf-8", "replace")
    reasons = [line for line in stderr.splitlines() if line.strip()]
    ignored_preload = "cannot be preloaded" in stderr
    if timed_out:
        reasons.append(f"still running after {timeout} s")
    elif status not in (0, SKIPPED):
        reasons.append(describe_status(status))
    if ignored_preload:
        outcome = "failed"
    elif timed_out or status not in (0, SKIPPED):
        outcome = "failed"
    else:
        outcome = "passed" if status == 0 else "skipped"
    return {
        "probe": program.name,
        "outcome": outcome,
        "seconds": round(time.monotonic() - start, 3),
        "figures": parse_figures(stdout),
        "reasons": reasons if outcome != "passed" else [],
    }


def print_result(result):
    word = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP"}[result["outcome"]]
    figures = "; ".join(f"{name} {value}" for name, value in result["figures"])
    line = f"{word} {result['probe']:<28} {result['seconds']:6.2f} s  {figures}"
    print(line.rstrip(), flush=True)
    for reason in result["reasons"][:REASONS_PRINTED]:
        print(f"       {reason}", flush=True)
    left = len(result["reasons"]) - REASONS_PRINTED
    if left > 0:
        print(f"       ... and {left} more lines", flush=True)


def run_suite(programs, preload, timeout=TIMEOUT_SECONDS, extra=None, show=print_result):
    environment = clean_environment(preload, extra or {})
    results = []
    for program in programs:
        results.append(run_probe(program, environment, timeout))
        show(results[-1])
    return results


def count_line(results):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for result in results:
        counts[result["outcome"]] += 1
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        line += f", {counts['skipped']} skipped"
    return line


def form_environment(is_soak):
    return {"CONFORMANCE_SOAK": "1"} if is_soak else {}


def form_timeout(is_soak):
    return SOAK_TIMEOUT_SECONDS if is_soak else TIMEOUT_SECONDS


def resolve_preload(path):
    """An absolute path, since probes change folder and root."""
    if path is None:
        return None
    library = Path(path).absolute()
    if not library.is_file():
        sys.exit(f"run.py: no library at {library}")
    return library


def unexpected_names(results, failing=(), free=()):
    """Probes that failed and should not, or the other way round; not those that are free to."""
    return [result["probe"] for result in results if result["outcome"] != "skipped"
            and result["probe"] not in free
            and (result["outcome"] == "failed") != (result["probe"] in failing)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of the built probes")
    parser.add_argument("--preload", help="the allocator's shared library; none is the libc's own")
    parser.add_argument("--name", help="what to call the allocator in the output")
    parser.add_argument("--only", help="glob or part of the names of the probes to run")
    parser.add_argument("--fails", default="", metavar="NAME[,NAME...]",
                        help="probes that must fail, as the allocator's documentation says")
    parser.add_argument("--may-fail", default="", metavar="NAME[,NAME...]",
                        help="probes that may fail: bars that the allocator does not promise")
    parser.add_argument("--json", help="file to write the results to")
    parser.add_argument("--timeout", type=float,
                        help=f"seconds each probe may take ({TIMEOUT_SECONDS}, in a soak "
                             f"{SOAK_TIMEOUT_SECONDS})")
    parser.add_argument("--soak", action="store_true", help="the full forms: half an hour and more")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="a variable for the probes; may be repeated")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    preload = resolve_preload(arguments.preload)
    name = arguments.name or (preload.name if preload else "libc")
    programs = find_programs(arguments.programs, arguments.only)
    if not programs:
        sys.exit(f"run.py: no programs in {arguments.programs} match")
    extra = form_environment(arguments.soak)
    timeout = arguments.timeout or form_timeout(arguments.soak)
    extra |= dict(pair.split("=", 1) for pair in arguments.env if "=" in pair)
    print(f"conformance of {name}: {len(programs)} probes", flush=True)
    start = time.monotonic()
    results = run_suite(programs, preload, timeout, extra)
    if arguments.json:
        report = {"name": name, "seconds": round(time.monotonic() - start, 1), "probes": results}
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    print(f"{time.monotonic() - start:.1f} s in all")
    print(count_line(results))
    unexpected = unexpected_names(results, arguments.fails.split(","),
                                  arguments.may_fail.split(","))
    if unexpected and (arguments.fails or arguments.may_fail):
        print("not as promised: " + " ".join(unexpected))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
