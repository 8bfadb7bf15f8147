# Tests of the rows of installed programs: they run, and a broken allocator is noticed.
#
# Needs TALUS_BENCH_PROGRAMS, as test_programs.py does. Missing programs are skipped by name.
#
# SPDX-License-Identifier: MIT

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from bench import allocators, measuring, program_rows, programs, redis, workloads

SCALE = 0.01
LIMITS = measuring.Limits(timeout_s=200, foreign_cores_max=1e9)
SHORT = measuring.Limits(timeout_s=2, foreign_cores_max=1e9)
ROWS = redis.ROWS + program_rows.ROWS


def folder() -> Path:
    found = os.environ.get("TALUS_BENCH_PROGRAMS")
    if not found:
        raise unittest.SkipTest("TALUS_BENCH_PROGRAMS is not set")
    return Path(found)


class Rows(unittest.TestCase):
    def setUp(self):
        self.glibc = allocators.available(Path("none"), None)["glibc"]
        self.broken = allocators.from_path("broken", folder() / "broken_malloc.so")

    def run_row(self, row, allocator, fault="", limits=LIMITS) -> dict:
        if reason := row.missing():
            self.skipTest(reason)
        with mock.patch.dict(os.environ, {"BROKEN_MALLOC": fault} if fault else {}):
            return measuring.run_once(folder(), row, allocator, 2, SCALE, limits)

    def test_every_program_runs_under_glibc_and_under_a_preload(self):
        for row in ROWS:
            for allocator in (self.glibc, self.broken):
                with self.subTest(row.name, allocator=allocator.name):
                    sample = self.run_row(row, allocator)
                    self.assertEqual("ok", sample["outcome"], sample.get("reason"))
                    self.assertGreater(sample["time"], 0)
                    self.assertGreater(sample["rss_kib"], 1000)
                    for name in ("malloc", "free"):
                        self.assertTrue(allocator.serves(sample["served_by"][name]),
                                        sample["served_by"])

    def test_every_program_notices_blocks_with_two_owners(self):
        for row in ROWS:
            with self.subTest(row.name):
                sample = self.run_row(row, self.broken, "overlap_any", SHORT)
                self.assertIn(sample["outcome"], ("crash", "wrong_data", "failed", "timeout"))

    def test_a_preload_without_effect_is_noticed(self):
        ignored = allocators.from_path("ignored", folder() / "measure")
        sample = self.run_row(programs.ROWS[1], ignored)
        self.assertEqual("wrong_library", sample["outcome"])

    def test_other_output_is_wrong_data(self):
        row = programs.ROWS[1]
        with mock.patch.object(programs, "reference", return_value="0" * 64):
            sample = self.run_row(row, self.glibc)
        self.assertEqual("wrong_data", sample["outcome"])
        self.assertIn("differs from", sample["reason"])

    def test_a_missing_program_is_a_reason_and_no_failure(self):
        row = programs.Program("P/none", programs.installed("no-such-program"),
                               programs.prepare_sqlite)
        self.assertEqual("not installed: no-such-program", row.missing())

    def test_a_script_in_the_place_of_a_program_is_refused(self):
        # A script may remove the preload; the witness would report the shell, which has it.
        with tempfile.TemporaryDirectory() as name:
            wrapper = Path(name) / "lua5.4"
            wrapper.write_text('#!/bin/sh\nunset LD_PRELOAD\nexec /bin/cat "$@"\n')
            wrapper.chmod(0o755)
            (Path(name) / "lua").symlink_to("/bin/cat")
            with mock.patch.dict(os.environ, {"PATH": name}):
                row = programs.Program("P/lua", programs.installed("lua5.4"),
                                       programs.prepare_sqlite)
                self.assertIn(f"{wrapper} is not a binary", row.missing())
                self.assertEqual(f"{name}/lua", programs.installed("lua5.4", "lua")())
                self.assertEqual(str(wrapper),
                                 programs.installed("lua5.4", may_be_script=True)())


class Answers:
    """Stands for a server that gives the prepared answers."""

    def __init__(self, **answers):
        self.answers = answers

    def ask(self, verb, *_):
        return self.answers[verb]


class RedisChecks(unittest.TestCase):
    def test_lists(self):
        right = list(reversed(redis.LIST_VALUES))
        redis.check_lists(Answers(LLEN=900, LRANGE=right), 100)
        for answers in ({"LLEN": 891, "LRANGE": right}, {"LLEN": 900, "LRANGE": right[::-1]}):
            with self.assertRaises(programs.WrongOutput):
                redis.check_lists(Answers(**answers), 100)

    def test_keys(self):
        redis.check_keys(Answers(DBSIZE=90, RANDOMKEY="k", GET=redis.KEY_VALUE), 100)
        for answers in ({"DBSIZE": 0}, {"DBSIZE": 101},
                        {"DBSIZE": 90, "RANDOMKEY": "k", "GET": redis.KEY_VALUE[:-1] + "?"}):
            with self.assertRaises(programs.WrongOutput):
                redis.check_keys(Answers(**answers), 100)

    def test_a_server_that_never_answers_is_given_up_on(self):
        with tempfile.TemporaryDirectory() as name, self.assertRaises(redis.ClientFailed):
            redis.drive("lists", Path(name), SCALE, lambda: False, 1e18)


class Environment(unittest.TestCase):
    def test_a_peer_gets_what_its_authors_ask_for_and_nothing_of_the_callers(self):
        peer = allocators.Allocator("peer", "1", Path("/x.so"), {}, {"GLIBC_TUNABLES": "a=0"})
        callers = {"GLIBC_TUNABLES": "b=1", "SCUDO_OPTIONS": "c", "TCMALLOC_X": "d",
                   "TALUS_STATS": "e"}
        with mock.patch.dict(os.environ, callers):
            found = measuring.environment_for(peer, workloads.WORKLOADS[0])
        self.assertEqual(["a=0", None, None, "e", "/x.so"],
                         [found.get(name) for name in (*callers, "LD_PRELOAD")])


if __name__ == "__main__":
    unittest.main()
