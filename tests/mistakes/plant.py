#!/usr/bin/env python3
# What it owns: planting the mistakes of table.py in a copy of the tree, and running the tests that
# must notice them. All mistakes are in one build: each statement stands beside its wrong form, and
# a number in the environment chooses. So one build serves all. A mistake is caught when the check
# that the table names ends the program; any other failure does not count.
# SPDX-License-Identifier: MIT
"""Plants mistakes in the counting of the core, and tells which the audit builds notice."""

import argparse
import os
import re
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from table import MISTAKES  # noqa: E402

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "tests", "tools",
          "examples", "README.md", "LICENSE", "docs", "bench")
TIMEOUT_S = 300
# What the copy's lowest header gains: the number of the mistake that is made.
# The name does not begin with TALUS_, because Talus would report an option that it does not know.
CHOICE = """
#include <stdlib.h>
namespace talus::core {
inline bool is_planted(int number) noexcept {
  static const char* const chosen = getenv("PLANT_MISTAKE");
  return chosen != nullptr && atoi(chosen) == number;
}
}  // namespace talus::core
"""


def place_of(text, mistake):
    """Where the statement begins; None: it is not there, or it is there twice."""
    start = 0
    if mistake.near:
        if text.count(mistake.near) != 1:
            return None
        start = text.index(mistake.near) + len(mistake.near)
    elif text.count(mistake.old) != 1:
        return None
    at = text.find(mistake.old, start)
    return None if at < 0 else at


def is_statement(text, at, mistake):
    """True if what is replaced begins and ends a statement, so that it may stand behind an if."""
    before = re.sub(r"//[^\n]*", "", text[:at]).rstrip()
    return (mistake.old.endswith((";", "}")) and
            (before.endswith((";", "{", "}", ")", ":")) or re.search(r"\belse$", before)))


def problems():
    """What is wrong with the table: statements that the sources no longer have."""
    for number, mistake in enumerate(MISTAKES, 1):
        path = os.path.join(ROOT, "src", mistake.file)
        if not os.path.isfile(path):
            yield f"{number}: no such file: src/{mistake.file}"
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        at = place_of(text, mistake)
        if at is None:
            yield f"{number}: src/{mistake.file} does not have this once: {mistake.old}"
        elif not is_statement(text, at, mistake):
            yield f"{number}: this is a part of a statement in src/{mistake.file}: {mistake.old}"
        for test in mistake.tests:
            if not os.path.isfile(os.path.join(ROOT, "tests", "unit", test.split()[1])):
                yield f"{number}: no such test: {test}"


def planted(file, text):
    """The text of a source with all of its mistakes in it, from the last to the first."""
    places = [(place_of(text, mistake), number, mistake)
              for number, mistake in enumerate(MISTAKES, 1) if mistake.file == file]
    for at, number, mistake in sorted(places, reverse=True, key=lambda place: place[0]):
        both = f"if (is_planted({number})) {{ {mistake.new} }} else {{ {mistake.old} }}"
        text = text[:at] + both + text[at + len(mistake.old):]
    return text


def plant(copy):
    """Makes the copy of the tree, or brings it up to date; unchanged files keep their times."""
    kept = os.path.join(copy, "build")
    fresh = copy + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    for name in COPIED:
        source = os.path.join(ROOT, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(fresh, name), symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "results"))
        elif os.path.exists(source):
            shutil.copy2(source, fresh)
    for file in sorted({mistake.file for mistake in MISTAKES}):
        path = os.path.join(fresh, "src", file)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        with open(path, "w", encoding="utf-8") as target:
            target.write(planted(file, text))
    lowest = os.path.join(fresh, "src", "base", "attributes.hpp")
    with open(lowest, encoding="utf-8") as source:
        head, end = source.read().rsplit("#endif", 1)
    with open(lowest, "w", encoding="utf-8") as target:
        target.write(head + CHOICE + "#endif" + end)
    if os.path.isdir(kept):
        os.rename(kept, os.path.join(fresh, "build"))
    shutil.rmtree(copy, ignore_errors=True)
    os.rename(fresh, copy)


def build(copy, jobs):
    """Builds the unit programs that the table names. Returns where they lie."""
    programs = sorted({"unit_" + test.split()[0] for mistake in MISTAKES
                       for test in mistake.tests})
    folder = os.path.join(copy, "build")
    subprocess.run(["cmake", "-G", "Ninja", "-S", copy, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug",
                    "-DTALUS_AUDIT=ON", "-DTALUS_TOOLS=OFF", "-DTALUS_BENCH=OFF",
                    "-DTALUS_TEST_PARTS=unit"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j", str(jobs), "--target", *programs],
                   check=True)
    return os.path.join(folder, "tests", "unit")


def run(programs, test, number):
    """Runs one file of a unit program. Returns its exit status and what it wrote."""
    program, file = test.split()
    environment = dict(os.environ, PLANT_MISTAKE=str(number))
    try:
        done = subprocess.run([os.path.join(programs, "unit_" + program), file], text=True,
                              env=environment, timeout=TIMEOUT_S, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return 124, "timeout"
    return done.returncode, done.stdout


def verdict(programs, number, mistake):
    """The test that caught the mistake by its equation, and what else happened."""
    others = []
    for test in mistake.tests:
        status, output = run(programs, test, number)
        found = re.findall(r"internal error, please report: (.*)", output)
        if any(mistake.equation in message for message in found):
            return test, ""
        if status != 0:
            others.append(f"{test}: {found[0] if found else 'fails by itself'}")
    return None, "; ".join(others)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only look for the statements")
    parser.add_argument("--copy", default=os.path.join(ROOT, "build", "mistakes"),
                        help="folder for the copy of the tree")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("numbers", nargs="*", type=int, help="which mistakes; default: all")
    options = parser.parse_args(arguments)
    found = list(problems())
    for line in found:
        print(line)
    if found or options.check:
        print(f"{len(MISTAKES)} mistakes, {len(found)} that cannot be planted")
        return 1 if found else 0
    plant(options.copy)
    programs = build(options.copy, options.jobs)
    for test in sorted({test for mistake in MISTAKES for test in mistake.tests}):
        status, output = run(programs, test, 0)
        if status != 0:
            print(f"without a mistake, {test} fails:\n{output[-2000:]}")
            return 1
    missed = 0
    chosen = options.numbers or range(1, len(MISTAKES) + 1)
    for number in chosen:
        mistake = MISTAKES[number - 1]
        test, others = verdict(programs, number, mistake)
        missed += test is None
        print(f"{number:3} {'caught' if test else 'MISSED'}  {mistake.file}: {mistake.old}\n"
              f"            {mistake.equation}  {test or others}", flush=True)
    print(f"{len(chosen)} mistakes, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
