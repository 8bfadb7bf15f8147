#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Builds the needs of one test and runs it: `make test-one TEST=NAME`.
#
# Owns: the step from a test's name to targets of the build. CTest's files list the programs that a
# test runs. If a test gets a folder of the build, it needs all targets of that folder.
# It must not know any test by name.
"""Runs tests by name, after building what they need."""

import argparse
import os
import re
import subprocess
import sys

TEST = re.compile(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", re.M)
PROPERTIES = re.compile(r"^set_tests_properties\(\[=\[(.*?)\]=\] PROPERTIES (.*)\)$", re.M)
SUBDIRECTORY = re.compile(r'^subdirs\("(.*)"\)$', re.M)
NEAR_MAX = 12


def tests_of(folder):
    """All words of the command and the properties of each test, of a folder and those below."""
    with open(os.path.join(folder, "CTestTestfile.cmake"), encoding="utf-8") as file:
        text = file.read()
    found = {name: words for name, words in TEST.findall(text)}
    for name, words in PROPERTIES.findall(text):
        if name in found:
            # The place of the declaration is not a need of the test.
            found[name] += " " + re.sub(r'_BACKTRACE_TRIPLES ".*?"', "", words)
    for below in SUBDIRECTORY.findall(text):
        found.update(tests_of(os.path.join(folder, below)))
    return found


def chosen(tests, request):
    """The test with this name, or all that match the regular expression."""
    if request in tests:
        return [request]
    return [name for name in tests if re.search(request, name)]


def targets_of(words, build, outputs):
    """The targets that the words of a test name; ["all"] for the whole build folder."""
    found = set()
    for path in re.findall(re.escape(build) + r'(?:/[^"\s;=]*)?', words):
        inside = os.path.relpath(path, build)
        if inside in outputs:
            found.add(inside)
        elif inside + "/all" in outputs:
            found.add(inside + "/all")
        elif inside == ".":
            return ["all"]
    return sorted(found)


def near(tests, request):
    """Names that share a word with the request, for the message."""
    words = [word for word in re.split(r"\W+", request.lower()) if len(word) > 2]
    return [name for name in tests if any(word in name.lower() for word in words)][:NEAR_MAX]


def main(given):
    parser = argparse.ArgumentParser(prog="make test-one", description=__doc__)
    parser.add_argument("test", help="name of a test, or a regular expression; ctest -N lists them")
    parser.add_argument("--build", default="build/release", help="configured build folder")
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("--filter", help="which cases of GoogleTest: Suite.Case")
    options = parser.parse_args(given)
    build = os.path.realpath(options.build)
    tests = tests_of(build)
    names = chosen(tests, options.test)
    if not names:
        print(f"test-one: no test is named {options.test!r}", file=sys.stderr)
        for name in near(tests, options.test):
            print(f"  {name}", file=sys.stderr)
        return 2
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True,
                            capture_output=True, text=True).stdout
    outputs = {line.rsplit(": ", 1)[0] for line in listed.splitlines()}
    targets = sorted({target for name in names
                      for target in targets_of(tests[name], build, outputs)})
    if "all" in targets:
        targets = ["all"]
    if targets:
        print(f"test-one: builds {', '.join(targets)}", flush=True)
        if subprocess.run(["ninja", "-C", build, "-j", options.jobs, "--quiet", *targets],
                          check=False).returncode:
            return 1
    environment = dict(os.environ)
    if options.filter:
        environment["GTEST_FILTER"] = options.filter
    pattern = "^(" + "|".join(map(re.escape, names)) + ")$"
    return subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "-R", pattern],
                          check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
