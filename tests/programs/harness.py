# What it owns: running one case without and with the preloaded library, each time in a fresh folder
# of the same name. It judges the case: same result, no timeout, and the library really loaded.
# The dynamic linker itself is asked which libraries it started (LD_DEBUG=files, written beside
# the case), so a case can never pass because the program ran on the C library's allocator.
# It must not know any program; the cases_*.py files do.
# SPDX-License-Identifier: MIT
"""The frame in which each case of tests/programs runs."""

import difflib
import os
import shutil
import signal
import subprocess
import time

CASES = []
OUTPUT_SHOWN_MAX = 3000


class CaseFailed(Exception):
    """The program misbehaved; the text says how."""


class CaseSkipped(Exception):
    """The case cannot run here; the text says why."""


def case(name, sets, needs=(), timeout=60):
    """Registers a function as a case: it takes a Stage and returns what must be the same."""
    def register(function):
        CASES.append(Case(name, sets, needs, timeout, function))
        return function
    return register


class Case:
    def __init__(self, name, sets, needs, timeout, function):
        self.name = name
        self.sets = sets
        self.needs = needs
        self.timeout = timeout
        self.function = function

    def missing(self):
        return [program for program in self.needs if shutil.which(program) is None]


class Stage:
    """Where one run of a case happens: its folder, its environment, its time and its children."""

    def __init__(self, base, library, timeout):
        self.base = base
        self.folder = os.path.join(base, "work")
        self.logs = os.path.join(base, "logs")
        for path in (self.folder, self.logs):
            shutil.rmtree(path, ignore_errors=True)
            os.makedirs(path)
            os.chmod(path, 0o1777)
        self.library = library
        self.deadline = time.monotonic() + timeout
        self.children = []

    def environment(self, **extra):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith("LD_") and key not in ("MALLOC_CONF", "MALLOC_ARENA_MAX")}
        env.update(LC_ALL="C.UTF-8", TZ="UTC", TMPDIR=self.folder)
        if self.library:
            preload = os.environ.get("LD_PRELOAD")
            env["LD_PRELOAD"] = self.library + (":" + preload if preload else "")
            env["LD_DEBUG"] = "files"
            env["LD_DEBUG_OUTPUT"] = os.path.join(self.logs, "linker")
        env.update(extra)
        return env

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read_bytes(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def left(self):
        return max(0.01, self.deadline - time.monotonic())

    def start(self, argv, user=None, log=None, **extra):
        """Starts a program that runs beside others; it is killed when the case ends."""
        stdout = open(self.path(log), "wb") if log else subprocess.PIPE
        identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        child = subprocess.Popen(
            argv, cwd=self.folder, env=self.environment(**extra), stdin=subprocess.PIPE,
            stdout=stdout, stderr=subprocess.STDOUT if log else subprocess.PIPE,
            start_new_session=True, **identity)
        if log:
            stdout.close()
        self.children.append(child)
        return child

    def run(self, argv, stdin=None, expect=0, user=None, both_streams=False, **extra):
        """Runs a program to its end and returns its output; any other exit code fails the case.

        With expect=None the program may end with any exit code, but not by a signal.
        """
        child = self.start(argv, user=user, **extra)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        try:
            stdout, stderr = child.communicate(data, timeout=self.left())
        except subprocess.TimeoutExpired:
            raise CaseFailed(f"timed out: {' '.join(argv)[:120]}") from None
        if child.returncode < 0 or expect is not None and child.returncode != expect:
            raise CaseFailed(f"{how_it_ended(child.returncode)}: {' '.join(argv)[:120]}\n"
                             + tail(stdout) + tail(stderr))
        output = stdout + stderr if both_streams else stdout
        return output.decode("utf-8", "replace")

    def shell(self, script, **extra):
        """Runs a pipeline in which no member may fail."""
        return self.run(["bash", "-euo", "pipefail", "-c", script], **extra)

    def wait_for(self, what, ready, child):
        """Polls until ready() is true; the child must not end before."""
        while not ready():
            if child.poll() is not None:
                raise CaseFailed(f"{what}: ended early, {how_it_ended(child.returncode)}")
            if self.left() <= 0.01:
                raise CaseFailed(f"timed out: {what} was not ready")
            time.sleep(0.02)

    def finish(self, child, what, expect=0):
        """Waits for a started program to end by itself."""
        try:
            child.wait(self.left())
        except subprocess.TimeoutExpired:
            raise CaseFailed(f"timed out: {what} did not end") from None
        if child.returncode != expect:
            raise CaseFailed(f"{what}: {how_it_ended(child.returncode)}")

    def kill_all(self):
        """Ends what is left of the sessions that this stage started."""
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe:
                    pipe.close()

    def processes(self):
        """(processes that the dynamic linker started, how many of them got the library)."""
        wanted = f"calling init: {self.library}".encode()
        started = loaded = 0
        for name in os.listdir(self.logs):
            with open(os.path.join(self.logs, name), "rb") as file:
                text = file.read()
            if b"initialize program:" in text:
                started += 1
                loaded += wanted in text
        return started, loaded


def how_it_ended(code):
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def tail(output):
    text = output.decode("utf-8", "replace")
    return text[-OUTPUT_SHOWN_MAX:] if text else ""


def play(one, base, library):
    """Runs a case once; returns (result, seconds, processes). Raises CaseFailed, CaseSkipped."""
    stage = Stage(base, library, one.timeout)
    begin = time.monotonic()
    try:
        result = one.function(stage)
    finally:
        stage.kill_all()
    seconds = time.monotonic() - begin
    started, loaded = stage.processes() if library else (0, 0)
    if library and (not loaded or loaded < started):
        raise CaseFailed(f"{loaded} of {started} processes loaded {os.path.basename(library)}")
    return result, seconds, loaded


def difference(plain, preloaded):
    """The first lines in which two results differ, or an empty text."""
    if plain == preloaded:
        return ""
    if isinstance(plain, bytes):
        return f"bytes differ: {len(plain)} without, {len(preloaded)} with"
    lines = list(difflib.unified_diff(plain.split("\n"), preloaded.split("\n"),
                                      "without", "with", lineterm="", n=1))
    return "\n".join(lines[:30])


def judge(one, base, library):
    """Runs a case both ways. Returns (verdict, note): passed, failed or skipped."""
    missing = one.missing()
    if missing:
        return "skipped", f"not installed: {' '.join(missing)}"
    try:
        plain, plain_seconds, _ = play(one, base, None)
    except CaseSkipped as reason:
        return "skipped", str(reason)
    except CaseFailed as failure:
        return "failed", f"already without the library: {failure}"
    try:
        preloaded, seconds, loaded = play(one, base, library)
    except (CaseFailed, CaseSkipped) as failure:
        return "failed", str(failure)
    differing = difference(plain, preloaded)
    if differing:
        return "failed", "the output differs\n" + differing
    return "passed", f"{plain_seconds:.1f} s without, {seconds:.1f} s with, {loaded} processes"
