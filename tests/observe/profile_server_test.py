# SPDX-License-Identifier: MIT
"""Owns: debug files from servers in profiles, by a stand-in for debuginfod-find that asks none."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from process import Preloaded, program, talus

STRIP, OBJCOPY = os.environ["TALUS_TEST_STRIP"], os.environ["TALUS_TEST_OBJCOPY"]
# Notes its words, then does what the test wrote.
STAND_IN = """#!/bin/sh
echo "$@" >> "$STAND_IN_LOG"
{act}
"""


class ProfileServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path("programs"))
        shutil.copy(program("inlined"), self.path("bare"))
        subprocess.run([OBJCOPY, "--only-keep-debug", self.path("bare"), self.path("debug")],
                       check=True)
        subprocess.run([STRIP, self.path("bare")], check=True)
        notes = subprocess.run(["readelf", "-n", self.path("bare")], capture_output=True, text=True,
                               check=True).stdout
        self.build_id = re.search(r"Build ID: (\w+)", notes)[1]

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def install(self, act):
        with open(self.path("programs", "debuginfod-find"), "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(act=act))
        os.chmod(file.name, 0o755)

    def profile(self, *words, servers="https://debug.example", programs=None):
        """What `talus profile` shows of the stripped program, and what it complains of."""
        path = programs or self.path("programs") + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, "PATH": path, "STAND_IN_LOG": self.path("log"),
                       "DEBUGINFOD_PROGRESS": "1", "DEBUGINFOD_URLS": servers}
        with Preloaded(self.path("bare"), TALUS_PROFILE="16KiB") as process:
            done = talus("profile", *words, process.pid, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr.splitlines()

    def asked(self):
        """The requests so far."""
        if not os.path.exists(self.path("log")):
            return []
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read().splitlines()

    def complaint_of(self, complaints, what):
        found = [line for line in complaints if what in line]
        self.assertEqual(len(found), 1, complaints)
        self.assertTrue(found[0].startswith("talus: profile: --debuginfod: "), found[0])
        return found[0]

    def test_a_file_of_the_server_has_the_names(self):
        self.install(f"""test "$2" = {self.build_id} || exit 1
test -z "$DEBUGINFOD_PROGRESS" || echo progress
echo {self.path("debug")}""")
        table, complaints = self.profile("--debuginfod")
        self.assertIn("shop::trade(", table)
        self.assertNotIn("bare+0x", table)
        self.assertEqual(self.asked().count(f"debuginfo {self.build_id}"), 1, "asked once a file")
        self.assertEqual([line for line in complaints if self.build_id in line], [])

    def test_no_server_is_asked_without_the_option(self):
        self.install(f"echo {self.path('debug')}")
        table, complaints = self.profile()
        self.assertIn("bare+0x", table)
        self.assertEqual((self.asked(), complaints), ([], []))

    def test_what_is_here_is_not_asked_for(self):
        self.install("exit 1")
        where = self.path("here", ".build-id", self.build_id[:2], self.build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(where))
        shutil.move(self.path("debug"), where)
        if os.environ["TALUS_TEST_HAS_LIBDW"] != "1":
            self.skipTest("the command reads no debug information, so it asks for each file")
        table, _ = self.profile("--debuginfod", "--debug-files", self.path("here"))
        self.assertIn("shop::trade(", table)
        self.assertNotIn(f"debuginfo {self.build_id}", self.asked())

    def test_a_server_with_nothing(self):
        self.install("echo 'Server query failed: No such file or directory' >&2; exit 1")
        table, complaints = self.profile("--debuginfod")
        self.assertIn("bare+0x", table)
        line = self.complaint_of(complaints, self.build_id)
        self.assertIn(f"nothing for {self.path('bare')}", line)
        self.assertTrue(line.endswith(": Server query failed: No such file or directory"), line)

    def test_an_answer_that_is_no_file(self):
        self.install("true")
        table, complaints = self.profile("--debuginfod")
        self.assertIn("bare+0x", table)
        self.assertTrue(self.complaint_of(complaints, self.build_id).endswith(": no answer"))

    def test_a_server_that_does_not_answer(self):
        """After one limit no more is asked for."""
        self.install("exec sleep 1000")
        table, complaints = self.profile("--debuginfod", "--debuginfod-limit", "0.5s")
        self.assertIn("bare+0x", table)
        self.assertIn("within 0.5 s", self.complaint_of(complaints, "no answer for /"))
        self.assertEqual(len(complaints), 1, complaints)
        self.assertLessEqual(len(self.asked()), 1)

    def test_a_child_that_closes_its_output_and_stays(self):
        self.install("exec >&-; exec 2>&-; exec sleep 1000")
        _, complaints = self.profile("--debuginfod", "--debuginfod-limit", "0.5s")
        self.complaint_of(complaints, "no answer for /")

    def test_without_the_program(self):
        table, complaints = self.profile("--debuginfod", programs=self.path("programs"))
        self.assertIn("bare+0x", table)
        self.assertIn("elfutils", self.complaint_of(complaints, "debuginfod-find: No such file"))
        self.assertEqual(len(complaints), 1, complaints)

    def test_without_a_server(self):
        self.install(f"echo {self.path('debug')}")
        table, complaints = self.profile("--debuginfod", servers="")
        self.assertIn("bare+0x", table)
        self.complaint_of(complaints, "DEBUGINFOD_URLS names no server")
        self.assertEqual(self.asked(), [])

    def test_a_limit_without_requests_is_a_mistake(self):
        done = talus("profile", "--debuginfod-limit", "5s", os.getpid())
        self.assertEqual(done.returncode, 2)
        self.assertIn("--debuginfod", done.stderr)


if __name__ == "__main__":
    unittest.main()
