#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks from outside at programs whose heap has a provider.

Owns: what TALUS_PROVIDER promises by way of every entry. The program works, and memory comes from
the named place and from nowhere else. A fork is no sharing, a full disk is no signal, and nothing
is left in the directory. What cannot be is one line of warning.

    providers_test.py [--preload LIB] [--run COMMAND] PROGRAM
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

MIB = 1 << 20
options = None


def command_of(kind, provider):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TALUS_", "LD_PRELOAD"))}
    words = [options.program, kind]
    if options.run:
        words = [options.run, "run", "--lib", options.preload, f"PROVIDER={provider}", "--", *words]
    else:
        environment["TALUS_PROVIDER"] = provider
        if options.preload:
            environment["LD_PRELOAD"] = options.preload
    return words, environment


def run(kind, provider, before=None):
    """(exit status, what it said, standard error)"""
    words, environment = command_of(kind, provider)
    process = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=before, check=False)
    return process.returncode, process.stdout, process.stderr


class Providers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="talus-provider-")
        self.addCleanup(shutil.rmtree, self.folder)

    def expect(self, kind, provider, pattern=r"ok\n", before=None):
        status, said, complained = run(kind, provider, before)
        self.assertEqual((status, complained), (0, ""), said)
        found = re.fullmatch(pattern, said)
        self.assertTrue(found, said)
        self.assertEqual(os.listdir(self.folder), [])
        return [int(group) for group in found.groups()]

    def files(self):
        return f"file:{self.folder}", f"file:{self.folder},grow=0,size=64M"

    def test_prealloc_is_all_there_is(self):
        grew, files = self.expect("plain", "prealloc:64M", r"grew (\d+) files (\d+)\nok\n")
        self.assertEqual((grew, files), (0, 0))

    def test_prealloc_falls_back(self):
        grew, _ = self.expect("plain", "prealloc:4M,fallback=1", r"grew (\d+) files (\d+)\nok\n")
        self.assertGreater(grew, 4 * MIB)

    def test_file(self):
        for provider in self.files():
            _, files = self.expect("plain", provider, r"grew (\d+) files (\d+)\nok\n")
            self.assertGreater(files, 16 * MIB)

    def test_bounds(self):
        for provider in ("prealloc:32M", f"file:{self.folder},size=32M",
                         f"file:{self.folder},grow=0,size=32M"):
            filled, = self.expect("fill", provider, r"filled (\d+)\nok\n")
            self.assertLess(filled, 32 * MIB)
            self.assertGreater(filled, 20 * MIB)

    def test_file_limit_is_out_of_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (24 * MIB, 24 * MIB))
        filled, = self.expect("fill", f"file:{self.folder}", r"filled (\d+)\nok\n", limit)
        self.assertLess(filled, 24 * MIB)

    def test_full_disk_is_out_of_memory(self):
        words, environment = command_of("fill", f"file:{self.folder}")
        script = 'mount -t tmpfs -o size=24m none "$0" || exit 77; exec "$@"'
        process = subprocess.run(["unshare", "-rm", "sh", "-c", script, self.folder, *words],
                                 env=environment, capture_output=True, text=True, check=False)
        if process.returncode in (1, 77) and "wrong" not in process.stdout:
            self.skipTest("no file system may be mounted here")
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertRegex(process.stdout, r"^filled (1\d|2[0-4])\d{6}\nok\n$")

    def test_fork_is_no_sharing(self):
        for provider in ("prealloc:64M", *self.files()):
            pattern = r"child (\d+)\nfiles (\d+) (\d+)\nok\n"
            child, before, after = self.expect("fork", provider, pattern)
            # Without other threads, both sides have a file as before.
            self.assertEqual(after, before)
            self.assertEqual(child, before)

    def test_fork_beside_threads(self):
        for provider in self.files():
            self.expect("threads", provider)

    def test_descriptors_that_were_closed(self):
        for provider in self.files():
            self.expect("closed", provider)

    def test_what_cannot_be_is_one_warning(self):
        if options.run:
            return
        for provider, words in ((f"file:{self.folder}/none", "no file with room"),
                                (f"file:{self.folder},grow=0,size=64T", "no file with room"),
                                ("prealloc:100T", "not enough memory")):
            status, said, complained = run("plain", provider)
            self.assertEqual(status, 0, complained)
            self.assertEqual(complained.count("\n"), 1, complained)
            self.assertIn(words, complained)
            self.assertRegex(complained, "^talus: TALUS_PROVIDER.*; keeping os\n$")
            self.assertTrue(said.endswith("files 0\nok\n"), said)

    def test_nonsense(self):
        for provider in ("file", "file:", "prealloc:", "prealloc:5", "disk:/tmp", "prealloc:1G,",
                         f"file:{self.folder},grow=2", f"file:{self.folder},grow=0",
                         f"file:{self.folder},fallback=1"):
            status, said, complained = run("plain", provider)
            self.assertIn("TALUS_PROVIDER", complained)
            self.assertEqual(complained.count("\n"), 1, complained)
            self.assertEqual(status == 0, not options.run, complained)
            self.assertEqual("ok" in said, not options.run)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--preload")
    parser.add_argument("--run")
    parser.add_argument("program")
    options, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
