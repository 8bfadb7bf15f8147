# Real programs as workloads: the set "programs".
#
# Owns: the work of each installed program, its inputs, and the check of its output. redis.py has
# redis, which needs a client; program_inputs.py has the programs' sources.
# Invariant: a run's output (standard output and its file) must equal that of the same command
# without any preload, byte for byte. The reference runs once for each row and scale.
# A missing program skips the row and is no failure. A script in place of a program does the same:
# the witness would report the shell.
# The time is the whole process's, from outside.
#
# SPDX-License-Identifier: MIT

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import program_inputs

PROGRAMS = "programs"
REFERENCE_TIMEOUT_S = 300
ELF_MAGIC = b"\x7fELF"


class WrongOutput(Exception):
    """The program ended without an error but its output is wrong."""


class Missing(Exception):
    """The program is not installed."""


@dataclass(frozen=True)
class Program:
    """A row of an installed program, with the interface of workloads.Workload."""
    name: str
    find: Callable[[], str]                      # its path, or Missing
    prepare: Callable[[str, Path, float], list[str]]  # path, folder, scale: the command
    written: str | None = None                   # file that is part of the output
    prints: bool = True                          # False: standard output tells times or memory
    environment: tuple[tuple[str, str], ...] = ()
    threads: int | None = 1
    group: str = PROGRAMS
    client: Callable | None = None               # drives a server, see redis.py

    @property
    def base(self) -> str:
        return self.name

    def missing(self) -> str | None:
        try:
            self.find()
        except Missing as reason:
            return str(reason)
        return None

    def command_in(self, folder: Path, scale: float) -> list[str]:
        return self.prepare(self.find(), folder, scale)

    def result(self, output: str, folder: Path, scale: float) -> dict:
        """Checks the output of a run. Raises WrongOutput."""
        found = fingerprint(self, output, folder)
        expected = reference(self, scale)
        if found != expected:
            raise WrongOutput(f"output {found[:16]} differs from {expected[:16]}, that without "
                              f"preload; it ends with {output.strip()[-100:]!r}")
        return {"output_sha256": found}


def fingerprint(program: Program, output: str, folder: Path) -> str:
    digest = hashlib.sha256(output.encode() if program.prints else b"")
    if program.written is not None:
        path = folder / program.written
        digest.update(path.read_bytes() if path.is_file() else b"missing")
    return digest.hexdigest()


@functools.cache
def reference(program: Program, scale: float) -> str:
    """The program's output without any preload."""
    with tempfile.TemporaryDirectory(prefix="talus-bench-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(program.command_in(Path(folder), scale), cwd=folder,
                              env={**environment, **dict(program.environment)},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False, timeout=REFERENCE_TIMEOUT_S)
        if done.returncode != 0:
            raise WrongOutput(f"fails without preload too: {done.stderr.strip()[-200:]}")
        return fingerprint(program, done.stdout, Path(folder))


def is_binary(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(ELF_MAGIC)) == ELF_MAGIC
    except OSError:
        return False


def installed(*names: str, may_be_script: bool = False) -> Callable[[], str]:
    """The first of these programs in the PATH. Raises Missing if it is absent or not a binary."""
    def find() -> str:
        refused = ""
        for name in names:
            if path := shutil.which(name):
                if may_be_script or is_binary(path):
                    return path
                refused += f"; {path} is not a binary, so the witness could not see its program"
        raise Missing(f"not installed: {' or '.join(names)}{refused}")
    return find


def interpreter() -> str:
    """The running Python itself, not a shell script named python3."""
    return os.path.realpath(sys.executable)


@functools.cache
def compiler_words(source: str, target: str) -> tuple[str, ...]:
    """The compiler proper with its arguments, as the driver g++ would start it.

    The driver forks. Under the driver, the compiler would be a child of the measured process.
    """
    driver = installed("g++", may_be_script=True)()
    shown = subprocess.run([driver, "-###", "-O1", "-S", "-xc++", source, "-o", target],
                           capture_output=True, text=True, check=False,
                           env={**os.environ, "LC_ALL": "C"}).stderr
    for line in shown.splitlines():
        words = shlex.split(line) if "cc1plus" in line else []
        if words and words[0].endswith("cc1plus"):
            return (words[0] if os.path.isabs(words[0]) else shutil.which(words[0]) or words[0],
                    *words[1:])
    raise Missing("g++ does not name its compiler cc1plus")


def find_compiler() -> str:
    return compiler_words("input.cpp", "output.s")[0]


def prepare_compiler(path: str, folder: Path, scale: float) -> list[str]:
    (folder / "input.cpp").write_text(program_inputs.cpp_source(scale))
    return [path, *compiler_words("input.cpp", "output.s")[1:]]


def script(file_name: str, text: str, before: tuple[str, ...] = (),
           count: int = 1) -> Callable[[str, Path, float], list[str]]:
    """A command that runs `text` with the amount of work as its argument."""
    def prepare(path: str, folder: Path, scale: float) -> list[str]:
        (folder / file_name).write_text(text)
        return [path, *before, file_name, str(max(1, round(count * scale)))]
    return prepare


def prepare_sqlite(path: str, folder: Path, scale: float) -> list[str]:
    (folder / "input.sql").write_text(program_inputs.sql_script(scale))
    return [path, "-batch", "-init", os.devnull, ":memory:", ".read input.sql"]


ROWS = (
    Program("P/lua", installed("lua5.4", "lua5.3", "lua"),
            script("input.lua", program_inputs.LUA, count=200)),
    Program("P/python", interpreter, script("input.py", program_inputs.PYTHON, ("-SE",), 90),
            environment=(("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0"))),
    Program("P/sqlite", installed("sqlite3"), prepare_sqlite),
    Program("P/g++", find_compiler, prepare_compiler, written="output.s"),
    Program("P/node", installed("node", "nodejs"),
            script("input.js", program_inputs.NODE, count=150), threads=None),
)
