# Tests of the choice of allocators, with files that are no libraries.
#
# SPDX-License-Identifier: MIT

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from bench import __main__ as runner, allocators
from bench.report import palette


class Choice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.library = self.folder / "lib.so"
        self.library.touch()
        self.known = allocators.available(Path("none"), self.library)

    def test_names_and_libraries_in_the_order_given(self):
        chosen = allocators.select(f"talus, x={self.library},glibc", self.known, {})
        self.assertEqual(["talus", "x", "glibc"], [one.name for one in chosen])
        for wrong in ("none", f"x={self.folder}/none.so"):
            with self.assertRaises(ValueError):
                allocators.select(wrong, self.known, {})

    def test_a_name_that_comes_twice_is_refused(self):
        for requests in ("glibc,talus,glibc", f"talus,talus={self.library}",
                       f"x={self.library},x={self.library}"):
            with self.assertRaisesRegex(ValueError, "named more than once: (glibc|talus|x)$"):
                allocators.select(requests, self.known, {})

    def test_talus_as_its_presets_make_it(self):
        plain, fast = allocators.select("talus,talus-fast", self.known, {})
        self.assertEqual((plain.library, {"TALUS_PRESET": "fast"}),
                         (fast.library, fast.environment))
        self.assertEqual([False, False, True, True],
                         [allocators.is_subject(name)
                          for name in ("glibc", "jemalloc", "talus", "talus-fast")])
        for wrong in ("talus-none", "fast", "glibc-fast"):
            with self.assertRaises(ValueError):
                allocators.select(wrong, self.known, {})


class Table(unittest.TestCase):
    def test_each_peer_has_a_mark_of_its_own_in_the_report(self):
        self.assertEqual(set(allocators.PEERS), set(palette.KNOWN))


class Rivals(unittest.TestCase):
    """The one definition of an allocator's rivals."""

    def test_talus_and_its_presets_are_one_allocator(self):
        run = ["glibc", "jemalloc", "base", "talus", "talus-fast", "talus-tiny"]
        for own in ("talus", "talus-fast"):
            self.assertEqual(["glibc", "jemalloc"], allocators.rivals_of(own, run))
        self.assertEqual(["jemalloc", "talus"], allocators.rivals_of("glibc", run))

    def test_another_build_is_no_rival_where_there_are_peers(self):
        self.assertEqual(["glibc", "talus"],
                         allocators.rivals_of("base", ["glibc", "base", "talus"]))
        self.assertEqual(["base"], allocators.rivals_of("talus", ["base", "talus", "talus-fast"]))
        self.assertEqual(["b"], allocators.rivals_of("a", ["a", "b", "talus-fast"]))


class Absent(unittest.TestCase):
    """A missing allocator is named, with its reason."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.peers = self.folder / "peers.json"
        (self.folder / "there.so").touch()
        self.peers.write_text(json.dumps({
            "peers": [{"name": name, "version": "1", "path": str(self.folder / file)}
                      for name, file in (("mimalloc3", "there.so"), ("jemalloc", "gone.so"))],
            "missing": [{"name": "scudo", "reason": "no package"}]}))

    def run_main(self, *words: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = runner.main(["--peers", str(self.peers), "--build", str(self.folder),
                                  "--only", "B4", *words])
        return status, output.getvalue()

    def test_the_standard_ones_and_all(self):
        status, output = self.run_main("--list")
        self.assertEqual(0, status)
        self.assertIn("allocators: glibc", output)
        self.assertIn(f"skipped: jemalloc: its library is gone: {self.folder}/gone.so", output)
        self.assertIn("skipped: talus: its library is not built", output)
        self.assertNotIn("scudo", output)
        self.assertIn("skipped: scudo: no package", self.run_main("--list", "--alloc", "all")[1])

    def test_one_that_is_named_is_refused(self):
        for words in (("--alloc", "glibc,jemalloc"), ("--self", "--alloc", "jemalloc")):
            status, output = self.run_main(*words)
            self.assertEqual(2, status)
            self.assertIn("'jemalloc' is not available: its library is gone", output)
        for words in (("--alloc", "talus"), ("--self",)):
            status, output = self.run_main(*words)
            self.assertEqual(2, status)
            self.assertIn("'talus' is not available: its library is not built", output)

    def test_names_say_what_is_not_asked_for(self):
        self.assertNotIn("skipped", self.run_main("--list", "--alloc", "glibc")[1])

    def test_without_a_list_of_peers_the_standard_ones_are_named(self):
        self.peers.unlink()
        self.assertIn(f"skipped: mimalloc3: not in {self.peers}", self.run_main("--list")[1])


if __name__ == "__main__":
    unittest.main()
