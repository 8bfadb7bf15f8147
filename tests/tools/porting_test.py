#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the operating system's contract (src/os/contract.hpp): its page, its uses, its messages.

docs/porting.md is what the contract says. src/ calls what the contract lists, and nothing else of
an operating system. A system that lacks a call does not compile, and the compiler names the call.

    porting_test.py COMPILER
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import porting  # noqa: E402

COMPILER = "c++"
ALL_ERRORS = []  # clang stops after 20
OWN = ROOT / "tests" / "unit" / "own_os"
# What src/ asks of a system besides its calls.
FACTS = re.compile(r"is_complete|has_\w+")


def compile_system(text, main='#include "os/os.hpp"\n'):
    """The compiler's messages where os/system.hpp is this text; empty: it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "os").mkdir()
        (Path(folder) / "os" / "system.hpp").write_text(text, encoding="utf-8")
        (Path(folder) / "main.cpp").write_text(main, encoding="utf-8")
        done = subprocess.run(
            [COMPILER, "-std=c++17", "-fsyntax-only", "-fno-exceptions", "-fno-rtti", *ALL_ERRORS,
             f"-I{folder}", f"-I{OWN}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}",
             f"{folder}/main.cpp"],
            capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr


def without_function(text, name):
    """The machine's system without one of its functions."""
    found = re.search(rf"  static [\w*]+ {name}\(.*?(}}\n|;\n  }}\n)", text, re.DOTALL)
    return text[:found.start()] + text[found.end():]


class Page(unittest.TestCase):
    def test_is_what_the_contract_says(self):
        written = (ROOT / "docs" / "porting.md").read_text(encoding="utf-8")
        self.assertEqual(written, porting.page(porting.read_contract()),
                         "run: tools/porting.py > docs/porting.md")


class Rows(unittest.TestCase):
    def test_are_whole(self):
        contract = porting.read_contract()
        rows = porting.CONTRACT.read_text(encoding="utf-8").count("TALUS_OS_CALL(") - 1
        self.assertEqual(len(contract.calls()), rows)
        self.assertEqual([group.name for group in contract.groups], ["core", *contract.facts])
        for group in contract.groups:
            self.assertTrue(group.without and group.title and group.calls, group.name)
            for call in group.calls:
                self.assertEqual(call.group, group.name, call.name)
                self.assertTrue(call.clause.endswith("."), f"{call.name}: {call.clause}")

    def test_are_the_calls_that_are_made(self):
        contract = porting.read_contract()
        listed = {call.name for call in contract.calls()} | set(contract.errors)
        used = {name: place for name, place in porting.used_calls().items()
                if name in listed or not FACTS.fullmatch(name)}
        self.assertEqual({name: used[name] for name in set(used) - listed}, {},
                         "add a row to src/os/contract.hpp")
        self.assertEqual(listed - set(used), set(), "no code calls these: delete the rows")

    def test_no_floor_above_calls_the_kernel_itself(self):
        for name, text in porting.sources():
            if not name.startswith(("src/entry/", "src/arch/")):
                found = re.search(r"\bsystem_call\(|\bSYS_\w+|\bLinuxOs\b|\bexit_thread\(|"
                                  r"\bclone_thread\(", porting.without_comments(text))
                self.assertIsNone(found, f"{name}: {found and found.group()}")


class Missing(unittest.TestCase):
    """The machine of tests/unit/own_os, each time without something."""

    def setUp(self):
        self.whole = (OWN / "os" / "system.hpp").read_text(encoding="utf-8")
        self.contract = porting.read_contract()

    def test_nothing_compiles(self):
        self.assertEqual(compile_system(self.whole), "")

    def test_each_core_call_is_named(self):
        for call in self.contract.groups[0].calls:
            messages = compile_system(without_function(self.whole, call.name))
            self.assertIn(call.message(), messages)
            # The contract misses nothing else.
            self.assertEqual(messages.count("is missing or has another signature"),
                             messages.count(call.message()), messages)

    def test_another_signature_is_named(self):
        changed = self.whole.replace("static bool purge(void* at, size_t bytes)",
                                     "static int purge(void* at, size_t bytes)")
        self.assertNotEqual(changed, self.whole)
        self.assertIn("os: the core call purge(void* at, size_t bytes) -> bool is missing or has "
                      "another signature", compile_system(changed))
        throws = self.whole.replace("bool is_purge_broken() noexcept", "bool is_purge_broken()")
        self.assertIn("os: the core call is_purge_broken(", compile_system(throws))

    def test_each_error_number_is_named(self):
        messages = self.hide("CoreCalls", self.contract.errors)
        for name in self.contract.errors:
            self.assertIn(f"os: the error number {name} is missing", messages)
        positive = self.whole.replace("long no_memory = -4;", "long no_memory = 4;")
        self.assertIn("os: the error number no_memory ", compile_system(positive))

    def test_each_group_must_be_decided(self):
        messages = self.hide("Groups", [f"has_{name}" for name in self.contract.facts])
        for name in self.contract.facts:
            self.assertIn(f"os: say whether there is the group {name}", messages)

    def test_each_call_of_a_group_is_named(self):
        complete = (ROOT / "src" / "os" / "complete.hpp").read_text(encoding="utf-8")
        rows = re.findall(r"Os::has_(\w+), (\w+), (\w+)>", complete)
        self.assertEqual([name for name, _, _ in rows], self.contract.facts)
        groups = {group.name: group for group in self.contract.groups}
        for name, calls, refusals in rows:
            names = [call.name for call in groups[name].calls]
            messages = self.hide(calls, names, f"{refusals}<MachineOs>")
            for call in groups[name].calls:
                self.assertIn(call.message(), messages)

    def test_a_claimed_group_is_looked_for(self):
        for name in self.contract.facts:
            text = self.whole.replace(f"has_{name} = false", f"has_{name} = true")
            self.assertIn(f"os: the {name} call ", compile_system(text))

    def hide(self, calls, names, base="MachineOs"):
        """The messages where each of the names is something else in a system of its own."""
        main = '#include "os/os.hpp"\n' + "namespace talus::core::os {\n"
        for name in names:
            main += (f"struct Without_{name} : {base} {{ static constexpr char {name} = 0; }};\n"
                     f"template struct {calls}<Without_{name}>;\n")
        main += "}\n"
        return compile_system(self.whole, main)

    def test_a_group_that_needs_another_says_so(self):
        for name in ("printing", "file_memory"):
            text = self.whole.replace(f"has_{name} = false", f"has_{name} = true")
            self.assertIn(f"os: the group {name} needs the group", compile_system(text))

    def test_an_incomplete_system_is_refused(self):
        text = self.whole.replace("using System = Complete<MachineOs>;",
                                  "using System = MachineOs;")
        self.assertNotEqual(compile_system(text), "")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop(1)
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    if "clang" in version.stdout:
        ALL_ERRORS.append("-ferror-limit=0")
    unittest.main()
