# SPDX-License-Identifier: MIT
"""Owns: the peak, the lives of blocks and the threads of a program that has known ones
(moments.cpp)."""

import re
import unittest

import pprof_form
from one_program import OneProgram
from process import talus

MEGABYTE = 1000000
AT_PEAK = {"hold_always": 30, "hold_at_peak": 80}
LIVE = {"hold_always": 30, "hold_at_peak": 8, "hold_later": 20, "work": 10, "work_and_end": 5}


class Views(OneProgram):
    PROGRAM = "moments"
    OPTIONS = {"TALUS_PROFILE": "8KiB"}

    def read(self, view):
        self.profile("--view", view, "-o", self.path("a.pb.gz"))
        return pprof_form.read(self.path("a.pb.gz"))

    def assert_held(self, sums, truth):
        for name, megabytes in truth.items():
            self.assertLess(abs(sums[name] - megabytes * MEGABYTE), megabytes * MEGABYTE / 7, sums)

    def test_what_was_held_at_the_peak(self):
        profile = self.read("peak")
        self.assertEqual(profile.types, pprof_form.TYPES)
        self.assertEqual(profile.shown, "peak_space")
        sums = pprof_form.by_function(profile)
        self.assert_held({name: row[5] for name, row in sums.items()}, AT_PEAK)
        self.assert_held({name: row[3] for name, row in sums.items()}, LIVE)
        self.assertEqual(sums["hold_later"][4:], [0, 0])
        text = self.profile("--view", "peak")
        self.assertRegex(
            text, r"(?m)^peak: 1\d\d\.\d MiB in \d+ blocks \(estimate\), [\d.]+ (ms|s|min) ago$")
        rows = re.findall(r"(?m)^ +([\d.]+) MiB +\d+ .*  (hold_\w+)", text)
        self.assertEqual([name for _, name in rows][:2], ["hold_at_peak", "hold_always"])
        stacks = self.profile("--view", "peak", "--collapsed")
        line = re.search(r"(?m)^.*hold_at_peak (\d+)$", stacks)
        self.assert_held({"hold_at_peak": int(line[1])}, {"hold_at_peak": 80})

    def test_how_long_blocks_lived(self):
        profile = self.read("lifetimes")
        self.assertEqual([name for name, _ in profile.types],
                         ["allocated_objects", "allocated_space", "deallocated_objects",
                          "deallocated_space", "censored_allocated_objects",
                          "censored_allocated_space"])
        sums = pprof_form.by_function(profile)
        self.assert_held({name: row[5] for name, row in sums.items()}, LIVE)
        self.assert_held({name: row[3] for name, row in sums.items()},
                         {"use_shortly": 80, "use_longer": 35, "hold_at_peak": 72})
        self.assertEqual(sums["use_shortly"][:2], sums["use_shortly"][2:4])
        lives = {}
        for (stack, values), labels in zip(profile.samples, profile.labels):
            if stack and values[2]:
                lives.setdefault(stack[0].function, []).append((labels["avg_lifetime"], values[2]))
        # A busy machine may stop the program between two calls, but not between most of them.
        short = sum(blocks for life, blocks in lives["use_shortly"] if life < 1000000)
        self.assertGreater(short, 0.9 * sums["use_shortly"][2])
        self.assertGreaterEqual(min(life for life, _ in lives["use_longer"]), 30000000)
        text = self.profile("--view", "lifetimes")
        mean, = re.findall(r"(?m)^.* (\S+ m?s|\S+ min) +0% +0% +0% .*  use_longer < ", text)
        self.assertNotEqual(mean, "0.0 ms")

    def test_by_thread(self):
        profile = self.read("threads")
        self.assertEqual(profile.types, [("inuse_objects", "count"), ("inuse_space", "bytes")])
        sums = {}
        for (_, values), labels in zip(profile.samples, profile.labels):
            sums[labels["thread"]] = sums.get(labels["thread"], 0) + values[1]
        main = f"thread {self.child.pid} observe_moments"[:len(f"thread {self.child.pid} ") + 15]
        ended, = [name for name in sums if re.fullmatch(r"thread \d+ \(ended\)", name)]
        worker, = [name for name in sums if re.fullmatch(r"thread \d+ a worker", name)]
        self.assert_held(sums, {main: 58, worker: 10, ended: 5})
        text = self.profile("--view", "threads")
        self.assertRegex(text, rf"(?m)^{worker}: (9|10)\.\d MiB in \d+ blocks\n.*  work < ")
        self.assertRegex(self.profile("--view", "threads", "--collapsed"),
                         rf"(?m)^{worker};.*;work \d+$")

    def test_words_that_do_not_fit(self):
        self.read("peak")
        for words, text in ((("--view", "peaks"), "peaks"),
                            (("--view", "threads", self.path("a.pb.gz")), "needs a process"),
                            (("--view", "lifetimes", "--diff", self.path("a.pb.gz")),
                             "has no difference")):
            more = [] if words[-1].endswith("gz") and "--diff" not in words else [self.child.pid]
            done = talus("profile", *words, *more)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
