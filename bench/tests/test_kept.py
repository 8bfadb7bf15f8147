# Tests of kept runs: no shown figure is lost with the samples, and the runs in git are compact,
# small together and described.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path

from bench import corner, gate, keep, kept
from bench.report.tests.made_up import everything, record, runs, sample

RESULTS_MD = Path(kept.FOLDER).parent / "results.md"


def again(run: dict) -> kept.Result:
    """The run as it comes back from its kept form."""
    return kept.from_data(json.loads(kept.text_of(kept.keep(kept.from_full(run)))))


def made_run() -> dict:
    """Noise, lone clean runs, failures, a preset, and a time without the trim of the others."""
    samples = []
    for name, factor in (("talus", 1.0), ("glibc", 1.7), ("jemalloc", 1.2), ("talus-fast", 0.9)):
        for workload, size in (("V", 1), ("W", 3)):
            times = [size * factor * (1 + 0.031 * (number * 7 % 5)) for number in range(5)]
            samples += runs(workload, name, times, 40000 * factor,
                            peak_requested_bytes=32 << 20, trims=name != "jemalloc",
                            trim_is_timed=workload == "W")
    samples += [sample("V", "talus", 9.0, 99000, round_number=3, is_noisy=True),
                sample("W", "glibc", outcome="crash", reason="SIGSEGV", round_number=2),
                sample("X", "talus", 1.0), sample("X", "talus", 1.3, is_noisy=True),
                sample("X", "glibc", 2.0, is_noisy=True)]
    return record(samples)


class Kept(unittest.TestCase):
    def assert_near(self, one, other, where=""):
        """Equal to three digits at all levels. An interval may be wider by a hundredth: one at its
        floor may have been narrower."""
        self.assertEqual(type(one) in (int, float), type(other) in (int, float), where)
        if isinstance(one, dict):
            for name in set(one) | set(other):
                if " median " not in where:  # not all medians are kept
                    self.assertEqual(name in one, name in other, f"{where} {name}")
                if name in one and name in other:
                    self.assert_near(one[name], other[name], f"{where} {name}")
        elif isinstance(one, list):
            self.assertEqual(len(one), len(other), where)
            for number, (first, second) in enumerate(zip(one, other)):
                self.assert_near(first, second, f"{where} {number}")
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            share = 0.01 if "_interval" in where else 0.002
            self.assertAlmostEqual(one, other, delta=abs(one) * share, msg=where)
        else:
            self.assertEqual(one, other, where)

    def test_each_figure_of_each_subject_comes_back(self):
        full, back = kept.from_full(made_run()), again(made_run())
        self.assertIsNone(back.samples)
        for name in full.allocators:
            self.assert_near(full.summary(name), back.summary(name), name)
        self.assertEqual(corner.corner_of(full), corner.corner_of(back))

    def test_marks_failures_and_speeds_come_back(self):
        back = again(made_run())
        self.assertEqual((5, 6, False), tuple(getattr(back.cells["V", "talus"], name)
                                              for name in ("samples", "tries", "is_noisy")))
        self.assertTrue(back.cells["X", "glibc"].is_noisy)
        self.assertTrue(back.cells["W", "jemalloc"].skips_trim)
        self.assertEqual(1, back.cells["W", "glibc"].failures)
        self.assertEqual([("W", "glibc", "crash", [2])], [
            tuple(one[name] for name in ("workload", "allocator", "outcome", "rounds"))
            for one in back.failed])
        full = kept.from_full(everything())
        self.assertEqual(1e6, again(everything()).speeds["B1/500@1", "talus"])
        self.assertEqual(full.workloads, again(everything()).workloads)

    def test_the_gate_takes_a_kept_reference(self):
        now = record([one for name, time in (("talus", 1.0), ("glibc", 1.0))
                      for one in runs("V", name, [time, time * 1.01, time * 0.99])])
        then = again(record([one for name, time in (("talus", 0.5), ("glibc", 1.0))
                             for one in runs("V", name, [time, time * 1.01, time * 0.99])]))
        found = gate.compare_with_reference(now["samples"], then.cells, ["glibc"])
        self.assertTrue(any(one.is_worse and one.figure == "time" for one in found))

    def test_what_is_no_result_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.json"
            for text in ("[]", "{}", '{"samples": []}', '{"format": "talus-bench-kept-9"}'):
                path.write_text(text)
                with self.assertRaises(kept.NoResult):
                    kept.read(path)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source = self.folder / "result.json"
        self.source.write_text(json.dumps(made_run()))

    def test_keeps_once_and_inside(self):
        target = keep.keep(self.source, "full/one", self.folder / "results")
        self.assertEqual(self.folder / "results/full/one.json", target)
        self.assertLess(target.stat().st_size, self.source.stat().st_size / 4)
        self.assertNotIn('"samples"', target.read_text())
        for source, name, words in ((self.source, "full/one.json", "exists"),
                                    (self.source, "../two", "outside"),
                                    (target, "three", "already")):
            with self.assertRaisesRegex(ValueError, words):
                keep.keep(source, name, self.folder / "results")

    def test_all_together_stay_small(self):
        (self.folder / "results").mkdir()
        (self.folder / "results/large.json").write_text("x" * keep.BYTES_MAX)
        with self.assertRaisesRegex(ValueError, "at most 1000000"):
            keep.keep(self.source, "one", self.folder / "results")

    def test_exit_status(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(2, keep.main([str(self.folder / "none.json"), "x"]))
        self.assertIn("bench.keep: ", errors.getvalue())


class InGit(unittest.TestCase):
    paths = sorted(kept.FOLDER.rglob("*"))

    def test_all_are_kept_runs_and_small(self):
        files = [path for path in self.paths if path.is_file()]
        self.assertLessEqual(keep.size_of(kept.FOLDER), 1_000_000)
        for path in files:
            self.assertEqual(".json", path.suffix)
            data = json.loads(path.read_text(encoding="utf-8"))
            self.assertTrue(kept.is_kept(data) and "samples" not in data, path)
            self.assertTrue(data["cells"], path)

    def test_each_has_a_row_that_says_what_it_is(self):
        rows = re.findall(r"^\| `([\w./-]+\.json)` \| .*\w.* \|$",
                          RESULTS_MD.read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(str(path.relative_to(kept.FOLDER)) for path in self.paths
                                if path.is_file()), sorted(rows))


if __name__ == "__main__":
    unittest.main()
