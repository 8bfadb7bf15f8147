# One run of one workload under one allocator.
#
# Owns: starting the program through `measure`, its time limit, and the verdict about what came
# back. Invariant: run_once always returns a sample and never raises for anything that the
# measured program does: crash, hang, wrong output and wrong library are outcomes.
# Environment variables that tune an allocator are taken out, so that a run depends on its
# record only; those of the subject stay and are recorded.
#
# SPDX-License-Identifier: MIT

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .allocators import Allocator
from .workloads import Workload

TUNING_PREFIXES = ("LD_PRELOAD", "MALLOC_", "MIMALLOC_", "GLIBC_TUNABLES", "JE_MALLOC")
SUBJECT_PREFIX = "TALUS_"
EXIT_WRONG_DATA = 70  # what the workload programs leave with when blocks overlap


@dataclass(frozen=True)
class Limits:
    timeout_s: float
    foreign_cores_max: float   # a run beside more foreign work than this is noisy


def environment_for(allocator: Allocator) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(TUNING_PREFIXES)}
    if allocator.library is not None:
        kept["LD_PRELOAD"] = str(allocator.library)
    return kept


def subject_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(SUBJECT_PREFIX)}


def run_limited(command: list[str], environment: dict, timeout_s: float) -> tuple[str, str, bool]:
    """Runs in an own process group, so that a hanging program dies with its children."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout_s)
        return output, errors, False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        return output, errors, True
    except BaseException:  # the runner itself is told to stop: leave nothing running behind
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def last_json_line(output: str) -> dict | None:
    lines = output.strip().splitlines()
    if not lines:
        return None
    try:
        result = json.loads(lines[-1])
    except ValueError:
        return None
    return result if isinstance(result, dict) and "elapsed_s" in result else None


def verdict(measured: dict | None, result: dict | None, is_late: bool, allocator: Allocator,
            errors: str) -> tuple[str, str]:
    """The outcome in one word, and its reason."""
    last_words = errors.strip()[-300:]
    if is_late:
        return "timeout", "ran past its time limit and was killed"
    if measured is None:
        return "not_measured", last_words or "the measuring program left no result"
    if measured["signal"] != 0:
        try:
            name = signal.Signals(measured["signal"]).name
        except ValueError:
            name = f"signal {measured['signal']}"
        return "crash", f"{name}: {last_words}".rstrip(": ")
    if measured["exit_status"] == EXIT_WRONG_DATA:
        return "wrong_data", last_words
    if measured["exit_status"] != 0:
        return "failed", f"exit status {measured['exit_status']}: {last_words}"
    if result is None:
        return "no_result", "the program's last line is no result"
    if not allocator.serves(result.get("malloc_from", "")):
        return "wrong_library", f"malloc came from {result.get('malloc_from')!r}"
    return "ok", ""


def run_once(programs: Path, workload: Workload, allocator: Allocator, threads: int, scale: float,
             limits: Limits) -> dict:
    command = workload.command(threads, scale)
    load_before = machine.load_average()
    busy_before_s = machine.busy_cpu_s()
    measured = None
    with tempfile.TemporaryDirectory(prefix="talus-bench-") as folder:
        record = Path(folder) / "measured.json"
        output, errors, is_late = run_limited(
            [str(programs / "measure"), str(record), "--", str(programs / command[0]),
             *command[1:]], environment_for(allocator), limits.timeout_s)
        if record.is_file():
            measured = json.loads(record.read_text())
    busy_after_s = machine.busy_cpu_s()
    result = last_json_line(output)
    outcome, reason = verdict(measured, result, is_late, allocator, errors)

    foreign_cores = None
    if measured and busy_before_s is not None and busy_after_s is not None:
        own_s = measured["user_s"] + measured["sys_s"]
        foreign_cores = max(0.0, busy_after_s - busy_before_s - own_s) / measured["wall_s"]
    sample = {
        "workload": workload.name, "allocator": allocator.name, "outcome": outcome,
        "command": command, "load_average_before": load_before,
        "foreign_cores": None if foreign_cores is None else round(foreign_cores, 3),
        "is_noisy": foreign_cores is not None and foreign_cores > limits.foreign_cores_max,
        "measured": measured, "result": result,
    }
    if reason:
        sample["reason"] = reason
    if outcome == "ok":
        # Fixed-time programs give relative_time; all others are compared by what they timed.
        sample["time"] = result.get("relative_time", result["elapsed_s"])
        sample["rss_kib"] = measured["max_rss_kib"]
    return sample
