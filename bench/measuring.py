# One run of one workload under one allocator.
#
# Owns: the start of the program through `measure`, its time limit, and the verdict on the result.
# Invariant: run_once always returns a sample and raises nothing that the measured program causes.
# Crash, hang, wrong output, wrong library and a failed warm_memory are outcomes.
# Environment variables that tune an allocator are removed, so that a run depends on its record
# only. Variables of the subject stay and are recorded. Variables that a peer's authors recommend
# come from peers.json. witness.c reports in each process which file malloc comes from.
#
# SPDX-License-Identifier: MIT

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import machine, pace
from .allocators import Allocator
from .programs import Program, WrongOutput
from .redis import ClientFailed

TUNING_PREFIXES = ("LD_PRELOAD", "MALLOC_", "MIMALLOC_", "GLIBC_TUNABLES", "JE_MALLOC",
                   "TCMALLOC_", "SCUDO_", "TBB_MALLOC_", "HEAP_", "BENCH_WITNESS")
SUBJECT_PREFIX = "TALUS_"
EXIT_WRONG_DATA = 70  # the workload programs' exit status for overlapping blocks
C_LIBRARY = "libc.so.6"
END_TIMEOUT_S = 5     # for a server after its client has failed


@dataclass(frozen=True)
class Limits:
    timeout_s: float
    foreign_cores_max: float   # a run beside more work of other programs is noisy
    warm_mib: int = 0          # memory to make ready before each run (warm_memory.c)


@dataclass
class Run:
    """The output of one started process."""
    output: str = ""
    errors: str = ""
    is_late: bool = False
    failure: Exception | None = None           # of a client or of the output check
    client_result: dict = field(default_factory=dict)


def environment_for(allocator: Allocator, row=None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(TUNING_PREFIXES)}
    kept.update(allocator.environment)
    if isinstance(row, Program):
        kept.update(row.environment)
        if allocator.library is None:
            # A program may be linked to an allocator of its own (Debian's redis is). The C library
            # comes before it only if it is preloaded.
            kept["LD_PRELOAD"] = C_LIBRARY
    if allocator.library is not None:
        kept["LD_PRELOAD"] = str(allocator.library.resolve())
    return kept


def with_witness(environment: dict, witness: Path, record: Path) -> dict[str, str]:
    preloads = [str(witness), environment.get("LD_PRELOAD", "")]
    return {**environment, "BENCH_WITNESS": str(record),
            "LD_PRELOAD": ":".join(one for one in preloads if one)}


def subject_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(SUBJECT_PREFIX)}


def run_limited(command: list[str], environment: dict, timeout_s: float,
                folder: str | None = None, client: Callable | None = None) -> Run:
    """Runs a command in its own process group, so that a hanging program ends with its children.

    client(is_running, deadline) drives a server meanwhile. After a failure of the client the
    server gets END_TIMEOUT_S to end by itself, so that a crash is reported as one. `timeout_s` is
    in seconds; a timeout is no exception but Run.is_late.
    """
    run = Run()
    deadline = time.monotonic() + timeout_s
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               errors="replace", start_new_session=True, cwd=folder)
    try:
        if client is not None:
            try:
                run.client_result = client(lambda: process.poll() is None, deadline)
            except (ClientFailed, WrongOutput) as failure:
                run.failure = failure
                run.is_late = time.monotonic() >= deadline
                deadline = time.monotonic() + END_TIMEOUT_S
        run.output, run.errors = process.communicate(
            timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        run.output, run.errors = process.communicate()
        run.is_late = run.is_late or run.failure is None
    except BaseException:  # the runner is stopped: leave no process behind
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return run


def last_json_line(output: str) -> dict | None:
    lines = output.strip().splitlines()
    if not lines:
        return None
    try:
        result = json.loads(lines[-1])
    except ValueError:
        return None
    return result if isinstance(result, dict) and "elapsed_s" in result else None


def result_of(row, run: Run, measured: dict | None, folder: Path, scale: float) -> dict | None:
    """The program's figures. A real program has none: its output is checked and it is timed."""
    if not isinstance(row, Program):
        return last_json_line(run.output)
    if measured is None or measured["exit_status"] != 0 or run.failure is not None or run.is_late:
        return None
    common = {"benchmark": row.name, "threads": row.threads, "figure": measured["wall_s"],
              "unit": "s", "higher_is_better": False, "ops": 1, "elapsed_s": measured["wall_s"]}
    try:
        found = run.client_result if row.client else row.result(run.output, folder, scale)
    except (WrongOutput, OSError, subprocess.SubprocessError) as failure:
        run.failure = failure
        return None
    return {**common, **found}


def read_witness(record: Path) -> dict[str, str]:
    """The file that each function comes from, by the kernel's mappings; empty without a record."""
    if not record.is_file():
        return {}
    pairs = (line.partition(" ") for line in record.read_text().splitlines())
    return {name: path for name, _, path in pairs}


def wrong_library(result: dict, served_by: dict, allocator: Allocator) -> str | None:
    """The reason why the run does not count as this allocator's; None: all names agree."""
    for name in ("malloc", "free"):
        if not allocator.serves(served_by.get(name, "")):
            return f"{name} came from {served_by.get(name, 'an unknown library')!r}"
    if "malloc_from" in result and not allocator.serves(result["malloc_from"]):
        return f"malloc came from {result['malloc_from']!r}"
    return None


def verdict(measured: dict | None, result: dict | None, run: Run, allocator: Allocator,
            served_by: dict) -> tuple[str, str]:
    """The outcome as one word, and its reason."""
    last_words = run.errors.strip()[-300:]
    if run.is_late:
        return "timeout", "ran past its time limit and was killed"
    if measured is not None and measured["signal"] != 0:
        try:
            name = signal.Signals(measured["signal"]).name
        except ValueError:
            name = f"signal {measured['signal']}"
        return "crash", f"{name}: {last_words}".rstrip(": ")
    if measured is not None and measured["exit_status"] == EXIT_WRONG_DATA:
        return "wrong_data", last_words
    if measured is not None and measured["exit_status"] != 0:
        return "failed", f"exit status {measured['exit_status']}: {last_words}"
    if run.failure is not None:
        is_data = isinstance(run.failure, WrongOutput)
        return "wrong_data" if is_data else "failed", str(run.failure)
    if measured is None:
        return "not_measured", last_words or "the measuring program left no result"
    if result is None:
        return "no_result", "the program's last line is not a result"
    wrong = wrong_library(result, served_by, allocator)
    return ("wrong_library", wrong) if wrong else ("ok", "")


def warm_up(programs: Path, limits: Limits) -> str | None:
    """Makes memory ready. Returns the reason of a failure, which would slow the next run."""
    if limits.warm_mib <= 0:
        return None
    try:
        subprocess.run([programs / "warm_memory", str(limits.warm_mib)], check=True,
                       stdin=subprocess.DEVNULL, timeout=limits.timeout_s)
    except (OSError, subprocess.SubprocessError) as failure:
        return f"warm_memory: {failure}"
    return None


def own_cpu_s() -> float:
    """CPU seconds of the runner and of all children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def require(programs: Path, name: str) -> None:
    """Raises ValueError if a workload's program is missing."""
    if not (programs / name).is_file():
        raise ValueError(f"not built: {programs / name}")


def run_once(programs: Path, workload, allocator: Allocator, threads: int, scale: float,
             limits: Limits) -> dict:
    load_before = machine.load_average()
    measured = None
    programs = programs.resolve()  # runs start in folders of their own
    with tempfile.TemporaryDirectory(prefix="talus-bench-") as name:
        folder = Path(name)
        record, witness_record = folder / "measured.json", folder / "witness"
        client = None
        if isinstance(workload, Program):
            command = workload.command_in(folder, scale)
            started = list(command)
            command[0] = Path(command[0]).name  # the installation folder is not part of the record
            if workload.client:
                def client(is_running, deadline):
                    return workload.client(folder, scale, is_running, deadline)
        else:
            command = workload.command(threads, scale)
            started = [str(programs / command[0]), *command[1:]]
        environment = with_witness(environment_for(allocator, workload),
                                   programs / "witness.so", witness_record)
        cold = warm_up(programs, limits)
        before_s = pace.yardstick_s()
        busy_before_s, own_before_s = machine.busy_cpu_s(), own_cpu_s()
        start_s = time.monotonic()
        run = Run(errors=cold) if cold else run_limited(
            [str(programs / "measure"), str(record), "--", *started], environment,
            limits.timeout_s, name, client)
        wall_s = time.monotonic() - start_s
        own_s = own_cpu_s() - own_before_s
        busy_after_s = machine.busy_cpu_s()
        after_s = pace.yardstick_s()
        if record.is_file():
            measured = json.loads(record.read_text())
        result = result_of(workload, run, measured, folder, scale)
        served_by = read_witness(witness_record)
    outcome, reason = verdict(measured, result, run, allocator, served_by)

    foreign_cores = None
    if measured and busy_before_s is not None and busy_after_s is not None:
        foreign_cores = max(0.0, busy_after_s - busy_before_s - own_s) / wall_s
    sample = {
        "workload": workload.name, "base": workload.base,
        "threads": threads if workload.threads is None else workload.threads,
        "allocator": allocator.name, "outcome": outcome,
        "command": [part.replace(name, "FOLDER") for part in command],
        "load_average_before": load_before,
        "foreign_cores": None if foreign_cores is None else round(foreign_cores, 3),
        "is_noisy": foreign_cores is not None and foreign_cores > limits.foreign_cores_max,
        "yardstick_s": round((before_s + after_s) / 2, 6),
        "measured": measured, "result": result, "served_by": served_by,
    }
    if reason:
        sample["reason"] = reason
    if outcome == "ok":
        # Programs with a fixed duration give relative_time. All others are compared by their own
        # time.
        sample["time"] = result.get("relative_time", result["elapsed_s"])
        sample["rss_kib"] = measured["max_rss_kib"]
    return sample
