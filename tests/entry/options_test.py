#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks programs for their options, and where these are from.

Owns: that every entry finds every place: the program's own text, /etc/talus.conf, files in the home
and named ones, the environment. The test of /etc/talus.conf needs a mount namespace and is left out
without one. Children of a fork and programs they execute have the right options. Also the library's
start line.

    options_test.py --library LIB --exporting PROGRAM --hiding PROGRAM --linked PROGRAM...
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ARGUMENTS = argparse.Namespace()
IN_NAMESPACE = ["unshare", "-m", "sh", "-c",
                'mount -t tmpfs none /etc && cp "$0" /etc/talus.conf && exec "$@"']


def run(words, **environment):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TALUS_", "LD_", "XDG_")) and name != "HOME"}
    kept.update(environment)
    return subprocess.run([str(word) for word in words], env=kept, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30,
                          check=False)


def start_line(err):
    """Name to (value, source) of what TALUS_VERBOSE=1 says; source None: default."""
    line = next(line for line in err.splitlines() if line.startswith("talus 0"))
    found = re.findall(r" ([a-z_]+)=(\S*?)(?: \(([^)]*)\))?(?= |;)", line)
    return {name: (value, source or None) for name, value, source in found}


class Entry(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        (self.home / ".config").mkdir()

    def assert_shows(self, program, lines, **environment):
        names = [line.split("=")[0] for line in lines]
        result = run([program, *names], **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""), program)
        self.assertEqual(result.stdout.splitlines(), lines, program)

    def test_every_place(self):
        (self.home / ".config/talus.conf").write_text(
            "preset = fast\n[options*]\nretain_bytes = 7M\n[other]\nnonsense\n")
        for program in ARGUMENTS.linked:
            self.assert_shows(program, ["decay_ms=5s (program)", "pressure=1 (program)",
                                        "list_bytes=4KiB (preset small, program)"])
            self.assert_shows(program, [
                "decay_ms=10s (preset fast, ~/.config/talus.conf:1)",
                "retain_bytes=7MiB (~/.config/talus.conf:3)",
                "pressure=0 (environment)"], HOME=str(self.home), TALUS_PRESSURE="0")

    def test_calls(self):
        for program in ARGUMENTS.linked:
            result = run([program, "--calls"])
            self.assertEqual((result.returncode, result.stderr), (0, ""), program)

    def test_fork_and_exec(self):
        for program in ARGUMENTS.linked:
            result = run([program, "--again", "retain_bytes"], TALUS_RETAIN_BYTES="9M")
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (0, "retain_bytes=9MiB (environment)\n", ""), program)

    def test_named_file(self):
        named = self.home / "named.conf"
        named.write_text("heaps = 3\n")
        for program in ARGUMENTS.linked:
            self.assert_shows(program, [f"heaps=3 ({named}:1)"], TALUS_CONFIG=str(named))

    def test_system_file(self):
        source = self.home / "system.conf"
        source.write_text("decay_ms = 7s\n")
        probe = run([*IN_NAMESPACE, source, "true"])
        if probe.returncode != 0:
            self.skipTest("no mount namespace here: " + probe.stderr)
        for program in ARGUMENTS.linked:
            result = run([*IN_NAMESPACE, source, program, "decay_ms"])
            self.assertEqual(result.stdout, "decay_ms=7s (/etc/talus.conf:1)\n", program)

    def test_what_cannot_be_read(self):
        own = self.home / ".config/talus.conf"
        os.mkfifo(own)
        began = time.monotonic()
        for program in ARGUMENTS.linked:
            self.assert_shows(program, ["heaps=4 (preset small, program)"], HOME=str(self.home))
        self.assertLess(time.monotonic() - began, 10)
        own.unlink()
        own.write_text("heaps = 3\n")
        own.chmod(0)
        if os.geteuid() != 0:
            self.assert_shows(ARGUMENTS.linked[0], ["heaps=4 (preset small, program)"],
                              HOME=str(self.home))
        result = run([ARGUMENTS.linked[0]], TALUS_CONFIG=str(self.home / "none.conf"))
        self.assertEqual((result.returncode, result.stderr),
                         (0, f"talus: {self.home}/none.conf: cannot be opened\n"))

    def test_preloaded(self):
        found = run([ARGUMENTS.exporting], LD_PRELOAD=ARGUMENTS.library, TALUS_VERBOSE="1")
        self.assertEqual(start_line(found.stderr)["decay_ms"], ("5s", "program"))
        self.assertIn("talus: talus_options: unknown option no_such_option; ", found.stderr)
        hidden = run([ARGUMENTS.hiding], LD_PRELOAD=ARGUMENTS.library, TALUS_VERBOSE="1")
        self.assertEqual(start_line(hidden.stderr)["decay_ms"], ("1s", None))
        self.assertEqual(hidden.stderr.count("\n"), 1)

    def test_a_mistake_is_told_once_in_a_tree_of_processes(self):
        own = self.home / ".config/talus.conf"
        own.write_text("nonsense\ndecay_ms = 5s\n")
        preload = {"LD_PRELOAD": ARGUMENTS.library, "HOME": str(self.home)}
        twice = "/bin/true; /bin/true"
        line = "talus: ~/.config/talus.conf:1: not understood: nonsense;"

        def told(script, **more):
            result = run(["sh", "-c", script], **preload, **more)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stderr.splitlines()

        for tree in (twice, f"sh -c '{twice}'; (/bin/true)"):
            said = told(tree)
            self.assertEqual(len(said), 1, said)
            self.assertTrue(said[0].startswith(line), said)
        # Another session, and a mistake that its parent did not have.
        self.assertEqual(len(told("env -u TALUS_TOLD /bin/true")), 2)
        said = told(f"export TALUS_HEAPS=many; {twice}; sh -c '{twice}'")
        self.assertEqual([text.startswith("talus: TALUS_HEAPS=many is not") for text in said],
                         [False, True, True, True], said)
        said = told(f"TALUS_HEAPS=many exec sh -c '{twice}'")
        self.assertEqual(len(said), 2, said)
        # In the environment itself, and with what it does not look like.
        said = told(twice, TALUS_THP="perhaps")
        self.assertEqual(len(said), 2, said)
        for other in ("", "x", "12345678", "0123456789,", "zzzzzzzz", ",", "1234567"):
            self.assertEqual(len(told(twice, TALUS_TOLD=other)), 1, other)
        # Without a mistake nothing is added, and all that was there stays.
        env = run(["sh", "-c", "env"], **preload, KEPT="yes").stdout.splitlines()
        self.assertIn("KEPT=yes", env)
        self.assertEqual(sum(text.startswith("TALUS_TOLD=") for text in env), 1, env)
        own.write_text("decay_ms = 5s\n")
        env = run(["sh", "-c", "env"], **preload).stdout
        self.assertNotIn("TALUS_TOLD", env)

    def test_options_count_from_the_first_block_on(self):
        # The C++ library allocates before the constructors of a preloaded library run.
        for preset, arena in (("tiny", 1 << 20), ("default", 4 << 20), ("fast", 64 << 20)):
            result = run([ARGUMENTS.hiding], LD_PRELOAD=ARGUMENTS.library, TALUS_PRESET=preset,
                         TALUS_PRINT_STATS="stderr", TALUS_PRINT_STATS_FORMAT="csv")
            names, values = result.stderr.splitlines()
            found = dict(zip(names.split(","), values.split(",")))
            self.assertEqual(int(found["space.reserved_bytes"]), arena, preset)

    def test_scripts_and_links_have_sections_of_their_own(self):
        (self.home / ".config/talus.conf").write_text(
            "[my-script]\nheaps=3\n[my-link]\nheaps=4\n[sh]\nheaps=5\n[dash]\ndecay_ms=5s\n")
        script = self.home / "my-script"
        script.write_text("#!/bin/sh\n:\n")
        script.chmod(0o755)
        link = self.home / "my-link"
        link.symlink_to(ARGUMENTS.hiding)
        for program, heaps in ((script, "3"), (link, "4"), ("/bin/sh", "5")):
            words = [program, "-c", ":"] if heaps == "5" else [program]
            found = run(words, LD_PRELOAD=ARGUMENTS.library, TALUS_VERBOSE="1",
                        HOME=str(self.home))
            self.assertEqual(start_line(found.stderr)["heaps"][0], heaps, found.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--library", "--exporting", "--hiding"):
        parser.add_argument(name, required=True)
    parser.add_argument("--linked", nargs="+", required=True)
    ARGUMENTS = parser.parse_args()
    sys.exit(not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful())
