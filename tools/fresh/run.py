#!/usr/bin/env python3
# What it owns: `make test-fresh`, which follows README on systems that were never used. It makes a
# clean clone of the last commit, as root and as a user with sudo, on each of SYSTEMS. It needs
# root, debootstrap, git and the network. Without them it says so and ends with status 77.
# It works in a folder of its own, in namespaces of mounts and processes. All of it is gone at the
# end, even after an interrupt.
# SPDX-License-Identifier: MIT
"""Tries Talus on fresh systems: the demo, the packages of the tests and one test."""

import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
import mirrors  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
System = collections.namedtuple("System", "distribution suite")
# From the oldest C library to the newest, as in docs/platforms.md.
SYSTEMS = {"bookworm": System("debian", "bookworm"), "noble": System("ubuntu", "noble"),
           "trixie": System("debian", "trixie")}
SKIPPED = 77
DEMO_LINES_MAX = 15
CARRIED = ("build/release/talus", "build/release/libtalus.so")
# The program that the carried command starts tests whether Talus is in it.
CARRIED_SCRIPT = """
cd /carried
./talus run -- grep -q /carried/libtalus.so /proc/self/maps
./talus check -- /bin/sh
./talus run PRINT_STATS=stdout -- git --version | grep -q 'git version'
"""
TEST_SCRIPT = """
cd talus
make test-packages
cmake --preset release
cmake --build build/release --target options_env_test
ctest --test-dir build/release -R '^(tools.options_env|asm.symbols)$' --no-tests=error \\
  --output-on-failure
"""


class Skip(Exception):
    """The reason why nothing can be tried here."""


def bundle(folder):
    """The last commit alone, in a file that git can clone. Only reads the repository."""
    def git(*words, at=SOURCE):
        return machine.checked(["git", "-c", "safe.directory=*", "-C", at, *words]).strip()
    try:
        objects = os.path.join(SOURCE, git("rev-parse", "--git-common-dir"), "objects")
        tree = git("rev-parse", "HEAD^{tree}")
    except machine.Failure as failure:
        raise Skip("this is no clone of git's") from failure
    bare = f"{folder}/talus.git"
    git("init", "-q", "--bare", bare)
    with open(f"{bare}/objects/info/alternates", "w", encoding="utf-8") as file:
        file.write(f"{os.path.abspath(objects)}\n")
    name = ["-c", "user.name=fresh", "-c", "user.email=fresh@localhost"]
    commit = git(*name, "commit-tree", "-m", "a clean clone", tree, at=bare)
    git("update-ref", "refs/heads/main", commit, at=bare)
    git("symbolic-ref", "HEAD", "refs/heads/main", at=bare)
    git("bundle", "create", f"{folder}/talus.bundle", "HEAD", "main", at=bare)
    return f"{folder}/talus.bundle"


def check_demo(output, log):
    """The demo is short, ends with its table and one sentence, and the build has no warnings."""
    lines = [line for line in output.splitlines() if line.strip()]
    tail = "\n".join(lines[-5:])
    shape = (r"median of \d+ runs +time +peak memory +page faults\n"
             r"C library +[\d.]+ s +[\d.]+ MiB +[\d,]+\nTalus +[\d.]+ s +[\d.]+ MiB +[\d,]+\n"
             r"Talus / C library( +\d+\.\d\d){3}\nNext: build/release/talus .*")
    if not re.fullmatch(shape, tail):
        raise machine.Failure(f"the demo ends with:\n{tail}")
    if len(lines) > DEMO_LINES_MAX:
        raise machine.Failure(f"the demo printed {len(lines)} lines:\n{output}")
    warnings = [line for line in log.splitlines() if re.search(r"\bwarning\b", line, re.I)]
    if warnings:
        raise machine.Failure("the build warns:\n" + "\n".join(warnings[:10]))


class Trial:
    """All trials and their results."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.counts = collections.Counter()
        self.trees = arguments.trees or f"{folder}/trees"
        self.carried = f"{folder}/carried"
        os.makedirs(self.trees, exist_ok=True)

    def step(self, name, action):
        """Runs one step and prints one line. Returns whether it passed."""
        begin = time.monotonic()
        try:
            action()
        except Skip as skip:
            result, reason = "skipped", f": {skip}"
        except (machine.Failure, OSError, ValueError) as failure:
            result, reason = "failed", f"\n{failure}"
        else:
            result, reason = "passed", ""
        self.counts[result] += 1
        print(f"fresh: {name}: {result} ({time.monotonic() - begin:.0f} s){reason}", flush=True)
        return result == "passed"

    def tree(self, name):
        """The tree of a system; makes it if it does not exist."""
        path = f"{self.trees}/{name}"
        if not os.path.isdir(path):
            system = SYSTEMS[name]
            mirror = mirrors.own_mirror(system.distribution, mirrors.own_entries(),
                                        mirrors.own_release())
            mirror = mirror or mirrors.default_mirror(system.distribution,
                                                      machine.own_architecture())
            try:
                mirrors.read(f"{mirror}/dists/{system.suite}/Release")
            except OSError as error:
                raise Skip(f"the mirror does not answer: {error}") from error
            machine.make_tree(system, path, self.folder)
        return path

    def try_user(self, name, user):
        """One user on one system."""
        place = machine.Machine(f"{self.trees}/{name}", f"{self.folder}/{name}-{user}",
                                user == "root")
        home = f"{place.root}{place.home}"
        shutil.copy(self.bundle, f"{place.root}/talus.bundle")
        try:
            if os.path.isdir(self.carried) and name == self.arguments.systems[-1]:
                shutil.copytree(self.carried, f"{place.root}/carried")
                self.step(f"{name} {user}: the command and library of "
                          f"{self.arguments.systems[0]}", lambda: place.run(CARRIED_SCRIPT))

            if name not in self.arguments.systems[:self.arguments.demos]:
                return

            def demo():
                place.run("git clone -q /talus.bundle talus")
                said = place.run("cd talus\nmake demo")
                with open(f"{home}/talus/build/release/demo.log", encoding="utf-8") as file:
                    check_demo(said, file.read())
            if not self.step(f"{name} {user}: make demo", demo):
                return
            if name == self.arguments.systems[0] and not os.path.isdir(self.carried):
                os.makedirs(self.carried)
                for path in CARRIED:
                    shutil.copy(f"{home}/talus/{path}", self.carried)
            if self.arguments.only_demo:
                return
            if self.arguments.whole:
                self.step(f"{name} {user}: make test", lambda: print(
                    place.run("cd talus\nmake test").splitlines()[-1]))
            else:
                self.step(f"{name} {user}: packages of the tests, and one test",
                          lambda: place.run(TEST_SCRIPT))
        finally:
            place.close()

    def run(self):
        self.bundle = bundle(self.folder)
        for number, name in enumerate(self.arguments.systems):
            if not self.step(f"{name}: a fresh system", lambda: self.tree(name)):
                continue
            users = self.arguments.users
            if self.arguments.only_demo:
                users = [users[number % len(users)]]
            for user in users:
                self.try_user(name, user)
            if not self.arguments.trees:
                shutil.rmtree(f"{self.trees}/{name}")
        print(f"{self.counts['passed']} passed, {self.counts['failed']} failed, "
              f"{self.counts['skipped']} skipped")
        return 1 if self.counts["failed"] else 0


def namespaces():
    """The command that gives its program its own mounts and processes."""
    if os.getuid() != 0:
        raise Skip("it needs root")
    for name in ("debootstrap", "unshare", "git", "dpkg-deb"):
        if not shutil.which(name):
            raise Skip(f"there is no {name} here")
    command = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
               "--kill-child=SIGKILL", "--mount-proc"]
    tried = subprocess.run([*command, "true"], stderr=subprocess.PIPE, text=True, check=False)
    if tried.returncode != 0:
        raise Skip(f"no namespaces here: {tried.stderr.strip()}")
    return command


def outside():
    """Makes the folder, runs this program again inside namespaces, and removes the folder."""
    command = namespaces()
    folder = tempfile.mkdtemp(prefix="talus-fresh-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(folder, 0o755)

    def end(number, _):
        sys.exit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    child = None
    try:
        child = subprocess.Popen([*command, sys.executable, "-B", os.path.abspath(__file__),
                                  *sys.argv[1:], "--inside", folder])
        return child.wait()
    finally:
        if child is not None and child.poll() is None:
            child.kill()
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--users", nargs="+", default=["root", "user"], choices=["root", "user"])
    parser.add_argument("--only-demo", action="store_true",
                        help="only make demo, as root and as a user in turn")
    parser.add_argument("--demos", type=int, default=len(SYSTEMS), metavar="N",
                        help="make demo on the first N systems only; the last system always runs "
                             "what the first one built")
    parser.add_argument("--whole", action="store_true", help="all of make test on each")
    parser.add_argument("--trees", help="a folder where the fresh systems are kept for the next "
                                        "time; it must not be on a mount with nosuid or nodev")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.trees = arguments.trees and os.path.abspath(arguments.trees)
    arguments.systems.sort(key=list(SYSTEMS).index)
    try:
        if arguments.inside is None:
            return outside()
        return Trial(arguments, arguments.inside).run()
    except Skip as skip:
        print(f"fresh: skipped: {skip}\n0 passed, 0 failed, 1 skipped")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
