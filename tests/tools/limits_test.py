# SPDX-License-Identifier: MIT
"""Owns: the tests that a starting process finds the limits of its control groups and says so in its
verbose line. Groups are made where this machine lets us: version 1 below its mounts, version 2
where the controllers are handed down already. Nothing of the machine's own groups is changed.
"""

import os
import re
import time
import unittest

from command import REAL, environment, talus

MIB = 1 << 20
GROUPS = "/sys/fs/cgroup"
SHOWN = re.compile(r"; memory limit (\S+), processors (\d+), soft limit (\S+), hard limit (\S+)$")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def mounts_of_version_2():
    """Where groups of version 2 can be given both limits."""
    for mount in (GROUPS, f"{GROUPS}/unified"):
        try:
            with open(f"{mount}/cgroup.subtree_control", encoding="ascii") as file:
                if {"memory", "cpu"} <= set(file.read().split()):
                    yield mount
        except OSError:
            continue


class Groups:
    """A group with a memory limit and a quota of half a processor, and one group in it."""

    def __init__(self):
        self.folders = []
        self.inner = []

    def make(self, mount, files):
        outer = f"{mount}/talus-test-{os.getpid()}"
        os.mkdir(outer)
        self.folders.append(outer)
        for name, text in files.items():
            write(f"{outer}/{name}", text)
        os.mkdir(f"{outer}/inner")
        self.folders.append(f"{outer}/inner")
        self.inner.append(f"{outer}/inner")

    def __enter__(self):
        try:
            for mount in mounts_of_version_2():
                self.make(mount, {"memory.max": str(64 * MIB), "cpu.max": "50000 100000"})
                return self
            self.make(f"{GROUPS}/memory", {"memory.limit_in_bytes": str(64 * MIB)})
            self.make(f"{GROUPS}/cpu", {"cpu.cfs_quota_us": "50000"})
        except OSError as error:
            self.__exit__()
            raise unittest.SkipTest(f"no groups can be made: {error}") from error
        return self

    def __exit__(self, *_):
        for folder in reversed(self.folders):
            for _ in range(100):  # a process that has ended may still be in its group
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.02)

    def enter(self):
        for folder in self.inner:
            write(f"{folder}/cgroup.procs", "0")


@unittest.skipUnless(REAL, "the library is not part of this build")
class Limits(unittest.TestCase):
    def lines(self, *settings, **more):
        result = talus("run", "verbose=1", *settings, "/bin/true", env=environment(), **more)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        return result.stderr.splitlines()

    def shown(self, *settings, **more):
        lines = self.lines(*settings, **more)
        self.assertEqual(len(lines), 1, lines)
        found = SHOWN.search(lines[0])
        self.assertTrue(found, lines)
        return found.groups()

    def test_given_limits_are_in_effect(self):
        self.assertEqual(self.shown("limit_soft=10M", "limit_hard=1G")[2:], ("10MiB", "1GiB"))
        self.assertEqual(self.shown("limit_soft=10M", "limit_hard=5M")[2:], ("5MiB", "5MiB"))
        self.assertEqual(self.shown("limit_soft=0")[2:], ("none", "none"))

    def test_no_processor_too_many(self):
        self.assertTrue(1 <= int(self.shown()[1]) <= len(os.sched_getaffinity(0)))

    def test_the_group_around_the_group_counts(self):
        with Groups() as groups:
            def within(*settings):
                return self.shown(*settings, preexec_fn=groups.enter)
            self.assertEqual(within(), ("64MiB", "1", "56MiB", "none"))
            self.assertEqual(within("limit_soft=50%"), ("64MiB", "1", "32MiB", "none"))
            self.assertEqual(within("limit_soft="), ("64MiB", "1", "56MiB", "none"))
            self.assertEqual(within("limit_soft=0"), ("64MiB", "1", "none", "none"))
            self.assertEqual(within("limit_hard=75%"), ("64MiB", "1", "48MiB", "48MiB"))

    def test_a_percentage_of_no_limit_is_told_once(self):
        if self.shown()[0] != "none":
            self.skipTest("this process has a memory limit")
        lines = self.lines("limit_soft=50%", "limit_hard=50%")
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("soft limit none, hard limit none", lines[0])
        self.assertIn("percentage", lines[1])
        silent = talus("run", "limit_soft=50%", "/bin/true", env=environment())
        self.assertEqual((silent.returncode, silent.stderr), (0, ""))

    def test_no_file_stays_open(self):
        words = ("/bin/ls", "/proc/self/fd")
        result = talus("run", *words, env=environment(), close_fds=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        # The three of every process, and the folder that ls reads.
        self.assertEqual(result.stdout.split(), ["0", "1", "2", "3"])


if __name__ == "__main__":
    unittest.main()
