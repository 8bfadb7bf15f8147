# SPDX-License-Identifier: MIT
"""Owns: how the tests of the command start it. Names of files come from the build, by environment.

Invariant: the command starts with an environment the test knows: no TALUS_* and no LD_PRELOAD but
the ones the test gives. Must not know: what is tested.
"""

import os
import subprocess

COMMAND = os.environ["TALUS_TEST_COMMAND"]
STAND_IN = os.environ["TALUS_TEST_STAND_IN"]
PROGRAMS = os.environ["TALUS_TEST_PROGRAMS"]
SOURCE = os.environ["TALUS_TEST_SOURCE"]
REAL = os.environ.get("TALUS_TEST_REAL")
STAND_IN_VERSION = "7.8.9-test"
LOADED = "[stand-in loaded]\n"


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("TALUS_") and name != "LD_PRELOAD"}
    kept.update(more)
    return kept


def talus(*words, command=COMMAND, env=None, **more):
    """Runs the command to its end; stdout, stderr and returncode are in the result."""
    return subprocess.run([command, *words], env=env if env is not None else environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          text=True, errors="replace", **more)


def run(*words, **more):
    """`talus run` with the stand-in library."""
    return talus("run", "--lib", STAND_IN, *words, **more)


def program(name):
    return os.path.join(PROGRAMS, name)


# EM_*, ELFCLASS*, and how the command names the machine.
FOREIGN = {"riscv": (243, 2, "RISC-V"), "i386": (3, 1, "32-bit x86"), "power": (21, 2, "POWER"),
           "unknown": (7777, 2, "the ELF machine 7777")}


def foreign_program(folder, machine, word_size):
    """The path of a copy of a program that claims to be built for another machine."""
    path = os.path.join(folder, f"foreign-{machine}")
    with open(program("program_plain"), "rb") as file:
        image = bytearray(file.read())
    image[4] = word_size
    image[18:20] = machine.to_bytes(2, "little")
    with open(path, "wb") as file:
        file.write(image)
    os.chmod(path, 0o755)
    return path
