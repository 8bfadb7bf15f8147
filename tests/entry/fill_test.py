#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks from outside at which bytes new and freed blocks of a program hold.

Owns: what TALUS_FILL promises by way of every entry and place of options. With --preload the
library is preloaded.

    fill_test.py [--preload LIB] PROGRAM
"""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest

OWN = "77"  # what the program itself writes
options = None


def run(**environment):
    """The lines of the program as dictionaries, and its standard error."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("TALUS_", "LD_PRELOAD", "MALLOC_PERTURB_"))}
    clean |= {"TALUS_CONFIG": "none"} | environment
    if options.preload:
        clean["LD_PRELOAD"] = options.preload
    result = subprocess.run([options.program], env=clean, stdin=subprocess.DEVNULL, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    lines = []
    for line in result.stdout.splitlines():
        *words, kept = line.split()
        lines.append(dict(word.split("=") for word in words) | {"kept": kept == "kept"})
    return lines, result.stderr


class Fill(unittest.TestCase):
    def expect(self, fresh, freed, **environment):
        """None: nothing is known of that byte, but that the fill does not make it the same."""
        lines, said = run(**environment)
        self.assertEqual(len(lines), 3, "the main thread, another one, the child of a fork")
        self.assertEqual(said, "")
        for line in lines:
            self.assertTrue(line["kept"])
            self.assertEqual(line["zeroed"], "00")
            self.assertEqual(line["freed"], freed)
            if fresh is not None:
                self.assertEqual({line[name] for name in ("new", "behind", "grown")}, {fresh})

    def test_without_a_fill_nothing_is_written(self):
        self.expect(None, OWN)
        self.expect(None, OWN, TALUS_FILL="none")

    def test_junk_and_zero(self):
        self.expect("a5", "5a", TALUS_FILL="junk")
        self.expect("00", "00", TALUS_FILL="zero")

    def test_chosen_bytes(self):
        self.expect("11", "22", TALUS_FILL="free=0x22,alloc=17")
        self.expect("ff", OWN, TALUS_FILL="alloc=255")
        self.expect(None, "33", TALUS_FILL="FREE=0x33")

    def test_glibcs_variable_counts_on_request_only(self):
        self.expect(None, OWN, MALLOC_PERTURB_="165")
        self.expect("5a", "a5", TALUS_FILL="perturb", MALLOC_PERTURB_="165")
        self.expect("fe", "01", TALUS_FILL="perturb", MALLOC_PERTURB_="0x101")
        self.expect(None, OWN, TALUS_FILL="perturb", MALLOC_PERTURB_="0")
        self.expect(None, OWN, TALUS_FILL="perturb")

    def test_files_and_their_sections(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            print("[of_no_program]\nfill = zero\n[", os.path.basename(options.program),
                  "]\nfill = alloc=0x41,free=0x42", sep="", file=file, flush=True)
            self.expect("41", "42", TALUS_CONFIG=file.name)
            self.expect("a5", "5a", TALUS_CONFIG=file.name, TALUS_FILL="junk")

    def test_with_other_modes(self):
        self.expect("a5", "5a", TALUS_FILL="junk", TALUS_PRINT_STATS="/dev/null")

    def test_a_mistake_is_said_and_nothing_is_filled(self):
        for text, problem in (("alloc=256", "is out of range"), ("junky", "is not understood"),
                              ("alloc=1,alloc=2", "is not understood"), ("", "is not understood"),
                              ("alloc=1,", "is not understood"), ("free=", "is not understood")):
            lines, said = run(TALUS_FILL=text)
            self.assertIn(f"TALUS_FILL={text} {problem}; allowed: none, junk, zero, perturb", said)
            self.assertEqual({line["freed"] for line in lines}, {OWN})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preload", default="")
    parser.add_argument("program")
    options = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
