#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at a process with a helper thread through other programs, and runs others under Talus.

Owns: what debuggers, emulators and sandboxes see of a thread that libc does not know. gdb must list
it, end its backtrace in it, and let the process go on; programs under valgrind and in bubblewrap
must run as they do alone. What is not installed is told and left out; exit 77 if nothing was there.

    helper_tools_test.py --group debugger|valgrind|sandbox --talus LIB --program FILE
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
SECONDS_MAX = 60
HELPER_NAME = "talus"


def environment(library: str) -> dict:
    return {**os.environ, "LD_PRELOAD": library, "TALUS_DECAY_MS": "2000"}


def names_of_threads(process: int) -> list:
    names = []
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            pass  # it has just ended
    return names


def wait_for_helper(process: subprocess.Popen) -> bool:
    for _ in range(SECONDS_MAX * 100):
        if process.poll() is not None:
            return False
        if any(HELPER_NAME in name for name in names_of_threads(process.pid)):
            return True
        time.sleep(0.01)
    return False


def run(command: list, library: str = None) -> subprocess.CompletedProcess:
    # The library is for the program, not for the tool: env sets it.
    if library:
        preload = ["env", f"LD_PRELOAD={library}", "TALUS_DECAY_MS=200"]
        command = [preload if part == "PRELOADED" else [part] for part in command]
        command = [part for parts in command for part in parts]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX,
                          check=False)


def debugger(arguments) -> list:
    if shutil.which("gdb") is None:
        return None
    problems = []
    with subprocess.Popen([arguments.program, "3000"],
                          env=environment(arguments.talus)) as process:
        if not wait_for_helper(process):
            return ["no helper to look at"]
        seen = run(["gdb", "-batch", "-nx", "-p", str(process.pid), "-ex", "info threads",
                    "-ex", "thread apply all backtrace", "-ex", "detach"])
        if "ptrace: Operation not permitted" in seen.stderr:
            process.wait()
            return None
        for text in ('"talus"', "helper_enters", "main ("):
            if text not in seen.stdout:
                problems.append(f"gdb does not show {text}")
        for text in ("Cannot find", "corrupt", "Backtrace stopped"):
            if text in seen.stdout + seen.stderr:
                problems.append(f"gdb says: {text}")
        if problems:
            print(seen.stdout, seen.stderr)
        if process.wait(SECONDS_MAX) != 0:
            problems.append(f"the program ended with {process.returncode} after gdb was there")
    return problems


def valgrind(arguments) -> list:
    if shutil.which("valgrind") is None:
        return None
    problems = []
    for tool in (["--tool=none"], ["--tool=memcheck", "--error-exitcode=9",
                                   "--soname-synonyms=somalloc=nouserintercepts"]):
        result = run(["valgrind", "-q", "--trace-children=yes", *tool, "PRELOADED",
                      arguments.program, "1500"], arguments.talus)
        if result.returncode != 0 or result.stderr:
            problems.append(f"{tool[0]}: status {result.returncode}: {result.stderr[:2000]}")
    return problems


def sandbox(arguments) -> list:
    """Programs that make sandboxes; they free little, but their checks are strict."""
    candidates = (
        ["unshare", "-Ur", "PRELOADED", arguments.program, "500"],
        ["PRELOADED", "unshare", "-Ur", arguments.program, "500"],
        ["PRELOADED", "unshare", "-Ur", "true"],
        ["PRELOADED", "bwrap", "--dev-bind", "/", "/", "--unshare-user", arguments.program, "500"],
        ["PRELOADED", "setpriv", "--no-new-privs", arguments.program, "500"],
    )
    problems, tried = [], 0
    for command in candidates:
        tool = next(part for part in command if part != "PRELOADED")
        if shutil.which(tool) is None or run([part for part in command
                                              if part != "PRELOADED"]).returncode != 0:
            continue  # neither does it work without Talus
        tried += 1
        result = run(command, arguments.talus)
        if result.returncode != 0 or result.stderr:
            problems.append(f"{' '.join(command)}: status {result.returncode}: {result.stderr}")
    return problems if tried else None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--group", choices=("debugger", "valgrind", "sandbox"), required=True)
    parser.add_argument("--talus", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    problems = globals()[arguments.group](arguments)
    if problems is None:
        print("not installed, or not permitted here")
        return SKIPPED
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
