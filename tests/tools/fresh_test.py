# SPDX-License-Identifier: MIT
"""Owns: the tests of what `make test-fresh` reads (mirrors, keyrings, the demo's output), without
network or root; and that docs/platforms.md lists the systems that are tried.
"""

import os
import re
import sys
import tempfile
import unittest

from command import SOURCE

sys.path.insert(0, f"{SOURCE}/tools/fresh")
import emulator  # noqa: E402
import machine   # noqa: E402
import mirrors   # noqa: E402
import run       # noqa: E402

ONE_LINE = """
# deb http://old.example/debian bookworm main
deb-src http://src.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.example/debian/ bookworm main
deb http://security.example/debian-security bookworm-security main
"""
FIELDS = """
# a comment
Types: deb deb-src
# http://snapshot.example/debian
URIs: http://mirror.example/debian
Suites: bookworm
 bookworm-updates
Components: main contrib

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm
Components: main
"""
DEMO = """talus: installing cmake
talus: building

median of 3 runs        time    peak memory    page faults
C library             3.11 s        180 MiB         46,473
Talus                 1.40 s        162 MiB         13,104
Talus / C library       0.45           0.90           0.28

Next: build/release/talus compare -- PROGRAM compares.
"""


class Mirrors(unittest.TestCase):
    def test_one_line_form(self):
        self.assertEqual(list(mirrors.entries_of_list(ONE_LINE)), [
            ("http://mirror.example/debian/", "bookworm", ["main"]),
            ("http://security.example/debian-security", "bookworm-security", ["main"])])

    def test_fields(self):
        self.assertEqual(list(mirrors.entries_of_sources(FIELDS)), [
            ("http://mirror.example/debian", "bookworm", ["main", "contrib"]),
            ("http://mirror.example/debian", "bookworm-updates", ["main", "contrib"])])

    def test_files_of_both_forms_are_read_and_others_are_not(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/sources.list.d")
            for name, text in (("sources.list", ONE_LINE), ("sources.list.d/a.sources", FIELDS),
                               ("sources.list.d/b.list.save", ONE_LINE)):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(len(list(mirrors.own_entries(folder))), 4)

    def test_the_own_mirror_is_that_of_the_release(self):
        entries = [("http://key.example/other", "bookworm", ["extra"]),
                   ("http://user:word@closed.example/debian", "bookworm", ["main"]),
                   ("http://mirror.example/debian/", "bookworm", ["main"])]
        found = mirrors.own_mirror("debian", entries, ("debian", "bookworm"))
        self.assertEqual(found, "http://mirror.example/debian")
        self.assertIsNone(mirrors.own_mirror("ubuntu", entries, ("debian", "bookworm")))


class Keyrings(unittest.TestCase):
    def test_fingerprints_are_those_of_primary_keys(self):
        key, subkey, user = b"\x04key", b"\x04sub", b"name"
        old_form = b"\x99" + len(key).to_bytes(2, "big") + key
        new_form = bytes([0xC0 | 6, len(key)]) + key
        others = bytes([0xC0 | 14, len(subkey)]) + subkey + bytes([0xC0 | 13, len(user)]) + user
        found = list(mirrors.fingerprints(old_form + others + new_form))
        self.assertEqual(len(found), 2)
        self.assertEqual(found[0], found[1])
        self.assertRegex(found[0], "^[0-9A-F]{40}$")


class Demo(unittest.TestCase):
    def test_the_end_is_one_table_and_one_sentence(self):
        run.check_demo(DEMO, "[1/2] Building")
        for wrong in (DEMO + "more\n", DEMO.replace("MiB", "kB"), DEMO + 20 * "x\n", ""):
            with self.assertRaises(machine.Failure):
                run.check_demo(wrong, "")

    def test_a_chatty_demo_fails(self):
        with self.assertRaises(machine.Failure):
            run.check_demo(20 * "Setting up a package\n" + DEMO, "")

    def test_a_warning_fails(self):
        with self.assertRaises(machine.Failure):
            run.check_demo(DEMO, "CMake Warning:\n")
        run.check_demo(DEMO, "c++ -Wno-sign-conversion -c warnings.cpp")


class Platforms(unittest.TestCase):
    def test_the_page_lists_what_is_tried(self):
        with open(f"{SOURCE}/docs/platforms.md", encoding="utf-8") as file:
            page = file.read()
        listed = re.findall(r"^\| (Debian|Ubuntu) (\w+) \|", page, re.M)
        self.assertEqual([(one.lower(), other) for one, other in listed],
                         [tuple(system) for system in run.SYSTEMS.values()])
        with open(f"{SOURCE}/CMakeLists.txt", encoding="utf-8") as file:
            least = re.search(r"cmake_minimum_required\(VERSION (\S+)\)", file.read())[1]
        self.assertIn(f"| CMake | {least} |", page)


class Emulator(unittest.TestCase):
    def test_says_what_is_missing(self):
        self.assertIn("there is no qemu-pdp11-static here", emulator.missing("pdp11"))


if __name__ == "__main__":
    unittest.main()
