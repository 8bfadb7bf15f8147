#!/usr/bin/env python3
# What it owns: the proof that check_budget.py and check_symbols.py see what they must see, on
# small assembled examples: each refused thing is put into a library of its own and must be
# found, and a library without faults must pass.
# It needs a C compiler for x86-64 (CC, default cc) and exits 77 without one.
# SPDX-License-Identifier: MIT
"""Tests of the disassembly walk and of the symbol check."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check_budget   # noqa: E402
import check_layout   # noqa: E402
import check_modes    # noqa: E402
import check_symbols  # noqa: E402
import fast_path      # noqa: E402

COMPILER = os.environ.get("CC", "cc")


class Built(unittest.TestCase):
    """A temporary folder with libraries built from text."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def build(self, text, ending, *flags):
        with open(self.path("x" + ending), "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-nostdlib", "-O2", *flags, "-o",
                        self.path("x.so"), self.path("x" + ending)], check=True,
                       capture_output=True)
        return self.path("x.so")

    def assemble(self, **bodies):
        text = '.section .note.GNU-stack,"",@progbits\n.text\n'
        for name, body in bodies.items():
            text += (f".globl {name}\n.type {name},@function\n{name}:\n{body}\n"
                     f".size {name},.-{name}\n")
        return self.build(text, ".s")


class Walk(Built):
    def walk(self, body, **others):
        library = self.assemble(f=body, slow="ret", **others)
        functions = fast_path.symbols(library)
        path, _ = check_budget.path_of(library, functions, "f")
        return [step.mnemonic for step in path]

    def refusals(self, body):
        library = self.assemble(f=body, slow="ret")
        path, _ = check_budget.path_of(library, fast_path.symbols(library), "f")
        return [step.refusal() for step in path if step.refusal()]

    def test_straight(self):
        self.assertEqual(self.walk("mov %rdi,(%rsi)\nnop\nret"), ["mov", "ret"])

    def test_falls_through_branches(self):
        body = "test %rdi,%rdi\nje 1f\nmov %rdi,(%rsi)\nret\n1: mov %rdi,(%rsi)\nret"
        self.assertEqual(self.walk(body), ["test", "je", "mov", "ret"])

    def test_empty_return_is_not_the_fast_path(self):
        body = "test %rdi,%rdi\njne 1f\nret\n1: add $1,%rdi\nadd $2,%rdi\nmov %rdi,(%rsi)\nret"
        self.assertEqual(self.walk(body), ["test", "jne", "add", "add", "mov", "ret"])

    def test_where_nothing_changes_the_way_without_a_store_is_taken(self):
        body = "test %rdi,%rdi\njne 1f\nmov %rdi,(%rsi)\nret\n1: mov %rdi,%rax\nret"
        functions = fast_path.symbols(library := self.assemble(realloc=body))
        path, _ = check_budget.path_of(library, functions, "realloc")
        self.assertEqual([step.mnemonic for step in path], ["test", "jne", "mov", "ret"])
        functions = fast_path.symbols(library := self.assemble(realloc="mov %rdi,(%rsi)\nret"))
        with self.assertRaises(fast_path.NoFastPath):
            check_budget.path_of(library, functions, "realloc")

    def test_stack_is_no_store(self):
        body = ("push %rbx\nmov %rdi,8(%rsp)\njne 1f\npop %rbx\nret\n"
                "1: mov %rdi,(%rsi)\npop %rbx\nret")
        self.assertEqual(self.walk(body), ["push", "mov", "jne", "mov", "pop", "ret"])

    def test_slow_side_laid_first(self):
        body = "cmp %rdi,(%rsi)\njne 1f\njmp slow@plt\n1: mov %rdi,(%rsi)\nret"
        self.assertEqual(self.walk(body), ["cmp", "jne", "mov", "ret"])

    def test_call_side_laid_first(self):
        body = "cmp %rdi,(%rsi)\njne 1f\ncall slow@plt\nmov %rax,(%rsi)\nret\n" \
               "1: mov %rdi,(%rsi)\nret"
        self.assertEqual(self.walk(body), ["cmp", "jne", "mov", "ret"])

    def test_jump_inside_is_followed(self):
        body = "jmp 2f\n1: mov %rdi,(%rsi)\nret\n2: xor %eax,%eax\njmp 1b"
        self.assertEqual(self.walk(body), ["jmp", "xor", "jmp", "mov", "ret"])

    def test_loop_ends(self):
        self.assertEqual(self.walk("1: dec %rdi\njne 1b\nmov %rdi,%fs:0\nret"),
                         ["dec", "jne", "mov", "ret"])
        with self.assertRaises(fast_path.NoFastPath):
            self.walk("1: mov %rdi,(%rsi)\njmp 1b")

    def test_no_way_without_a_call(self):
        for body in ("call slow@plt\nmov %rax,(%rsi)\nret", "mov %rax,(%rsi)\njmp slow@plt",
                     "mov %rax,(%rsi)\njmp *%rax", "mov %rax,(%rsi)\nsyscall\nret",
                     "test %rdi,(%rsi)\nret", "mov %rdi,(%rsi)\nud2"):
            with self.subTest(body), self.assertRaises(fast_path.NoFastPath):
                self.walk(body)

    def test_entry_thunk_is_followed(self):
        self.assertEqual(self.walk("endbr64\njmp .Linner",
                                   inner=".Linner: mov %rdi,(%rsi)\nret"),
                         ["endbr64", "jmp", "mov", "ret"])

    def test_refusals(self):
        cases = {"lock incl (%rdi)": "locked instruction",
                 "xchg %rax,(%rdi)": "exchange with memory, which locks",
                 "div %rsi\nmov %rax,(%rdi)": "division",
                 "idivl (%rsi)\nmov %rax,(%rdi)": "division",
                 "mov %rax,(%rdi)\nmfence": "fence"}
        for body, reason in cases.items():
            with self.subTest(body):
                self.assertEqual(self.refusals(body + "\nret"), [reason])

    def test_harmless_neighbours(self):
        self.assertEqual(self.refusals("xchg %rax,%rdi\nmov %rax,(%rdi)\nret"), [])


class Budget(Built):
    GOOD = "mov %rdi,(%rsi)\nret"

    def run_budget(self, budget, compiler="GNU", **functions):
        library = self.assemble(**functions)
        with open(self.path("budget.json"), "w", encoding="utf-8") as file:
            json.dump({"gcc": budget}, file)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = check_budget.main([library, "--compiler", compiler, "--budget",
                                      self.path("budget.json")])
        return code, output.getvalue()

    def test_within(self):
        code, output = self.run_budget({"malloc": 2, "free": 3}, malloc=self.GOOD, free=self.GOOD)
        self.assertEqual(code, 0, output)

    def test_over_prints_the_listing(self):
        code, output = self.run_budget({"malloc": 1}, malloc=self.GOOD)
        self.assertEqual(code, 1)
        self.assertIn("2 instructions, budget 1", output)
        self.assertRegex(output, r">\s+[0-9a-f]+: mov\s+%rdi,\(%rsi\)")

    def test_talus_names_are_checked_too(self):
        code, output = self.run_budget({"malloc": 2}, malloc=self.GOOD,
                                       talus_malloc="nop\ninc %rdi\n" + self.GOOD)
        self.assertEqual(code, 1)
        self.assertIn("FAIL talus_malloc", output)

    def test_lock_is_not_walked_around(self):
        body = "test %rdi,%rdi\nje 1f\nlock incl (%rsi)\nret\n1: mov %rdi,(%rsi)\nret"
        code, output = self.run_budget({"malloc": 9}, malloc=body)
        self.assertEqual(code, 1)
        self.assertIn("locked instruction", output)

    def test_missing_function_and_compiler(self):
        self.assertEqual(self.run_budget({"malloc": 9, "free": 9}, malloc=self.GOOD)[0], 1)
        self.assertEqual(self.run_budget({"malloc": 9}, compiler="Cray", malloc=self.GOOD)[0], 1)

    def test_compiler_names(self):
        for name, key in (("GNU", "gcc"), ("Clang", "clang"), ("AppleClang", "clang"),
                          ("gcc-12", "gcc")):
            self.assertEqual(check_budget.compiler_key(name), key)


class Modes(Built):
    BODY = "mov (%rdi),%rax\nmov %rax,(%rdi)\nret"

    def found(self, body):
        bodies = {name: self.BODY for name in check_modes.NAMES}
        bodies["free"] = body
        bodies["talus_release_counting"] = "ret"
        library = self.assemble(**bodies)
        return list(check_modes.findings(library))

    def test_paths_that_know_no_mode(self):
        self.assertEqual(self.found(self.BODY), [])

    def test_a_flag_is_found(self):
        flag = ".data\n.type the_flag,@object\n.size the_flag,8\nthe_flag: .quad 0\n.text\n"
        found = self.found("cmpl $0,the_flag(%rip)\njne 1f\n" + self.BODY + "\n1: ud2\n" + flag)
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], "^free reads the_flag at ")

    def test_a_way_into_a_mode_is_found(self):
        found = self.found("test %rdi,%rdi\nje talus_release_counting@PLT\n" + self.BODY)
        self.assertTrue(any("free leads to talus_release_counting" in one for one in found), found)

    def test_a_missing_function_is_found(self):
        library = self.assemble(malloc=self.BODY)
        self.assertIn("free is not defined", list(check_modes.findings(library)))


class Layout(Built):
    FAR = ".skip 200\n"

    def found(self, library, usual=("malloc", "free"), **options):
        return list(check_layout.findings(library, usual, 100, **options))

    def test_together_and_apart(self):
        near = self.assemble(malloc="ret", free="ret", other="ret\n" + self.FAR)
        self.assertEqual(self.found(near, with_linker=False), [])
        apart = self.assemble(malloc="ret\n", other=self.FAR, free="ret")
        self.assertRegex(self.found(apart, with_linker=False)[0], "free ends .* behind")

    def test_a_missing_function_is_found(self):
        library = self.assemble(malloc="ret")
        self.assertEqual(self.found(library, ("6refill",), with_linker=False),
                         ["6refill is not defined"])

    def test_constants_behind_the_code_are_found(self):
        library = self.build("const int numbers[9] = {1}; int f(void) { return 1; }", ".c")
        found = self.found(library, ())
        self.assertRegex(found[0], "not together in the first segment")
        self.assertIn("14process_startsEv is not defined", found)

    def test_a_start_apart_is_found(self):
        functions = {"_ZN5talus4core14process_startsEv": (0x3000, 16)}
        tables = (0, 0x800, "R", [".dynsym", ".rodata"])
        loaded = [tables, (0x1000, 0x800, "R E", []), (0x3000, 0x800, "R E", [])]
        starts = check_layout.START[:1]
        self.assertEqual(list(check_layout.check_start(functions, loaded, starts)),
                         ["14process_startsEv does not lie in the segment of the start"])
        loaded[1] = (0x3000, 0x6000, "R E", [])
        self.assertRegex(list(check_layout.check_start(functions, loaded, starts))[0],
                         "are 24576 bytes, over")

    def test_first_code_apart_is_found(self):
        functions = {"malloc": (0x3000, 16), "free": (0x6000, 16)}
        loaded = [(0, 0x800, "R", []), (0x1000, 0x800, "R E", []), (0x3000, 0x800, "R E", [])]
        first = ("malloc", "free")
        self.assertEqual(list(check_layout.check_first(functions, loaded, first)),
                         ["first code has no segment of its own"])
        loaded.append((0x6000, 0x800, "R E", []))
        self.assertEqual(list(check_layout.check_first(functions, loaded, first)),
                         ["free does not lie in first code"])
        loaded[2] = (0x3000, 0x10000, "R E", [])
        self.assertEqual(list(check_layout.check_first(functions, loaded, first)),
                         ["first code is 65536 bytes, over 53248"])

    def test_a_name_of_the_layout_that_is_gone_is_found(self):
        template = "/* @HOT is no line@ */\n    @HOT Space::take refill@\n    @BSS page_map@\n"
        source = "class Space { void take(); }; void refill(); PageMap page_map;"
        self.assertEqual(list(check_layout.check_names(template, source)), [])
        self.assertEqual(list(check_layout.check_names(template, source.replace("refill", "fill"))),
                         ["the layout names refill, which is not in the source"])

    def test_a_large_object_is_found(self):
        small = check_symbols.readelf(self.build("char a[4096];", ".c"), "-S")
        self.assertEqual(list(check_layout.check_data(small)), [])
        large = check_symbols.readelf(self.build("char a[4097];", ".c"), "-S")
        self.assertRegex(list(check_layout.check_data(large))[0], "a large object")

    def test_code_at_the_ends_is_found(self):
        text = "void begin(void) {} void end(void) {}"
        library = self.build(text, ".c", "-Wl,-init=begin", "-Wl,-fini=end")
        self.assertEqual([finding[:8] for finding in self.found(library, (), with_linker=False)],
                         ["has INIT", "has FINI"])

    def test_many_addresses_are_found(self):
        found = {}
        for count in (375, 376):
            text = "static int a; int* const table[] = {" + "&a," * count + "};"
            found[count] = self.found(self.build(text, ".c"), (), with_linker=False)
        self.assertEqual(found[375], [])
        self.assertRegex(found[376][0], "writes 376 addresses")


class Symbols(Built):
    def check(self, text, allowed=(), expected=("f",), flags=(), ending=".c"):
        return check_symbols.check_library(self.build(text, ending, *flags), list(allowed),
                                           list(expected))

    def test_good(self):
        self.assertEqual(self.check("int f(void) { return 1; }"), [])

    def test_undefined(self):
        text = "int g(void); int f(void) { return g(); }"
        self.assertEqual(self.check(text), ["needs g, which is not allowed"])
        self.assertEqual(self.check(text, allowed=["g"]), [])
        self.assertEqual(len(self.check(text, allowed=["weak g"])), 1)
        weak = "int g(void) __attribute__((weak)); int f(void) { return g ? g() : 0; }"
        self.assertEqual(self.check(weak, allowed=["weak g*"]), [])

    def test_exported(self):
        text = "int f(void) { return 1; } int g(void) { return 2; }"
        self.assertEqual(self.check(text), ["exports g, which is not expected"])
        self.assertEqual(self.check(text, expected=["f", "g*", "?h"]), [])
        self.assertEqual(self.check(text, expected=["f", "g", "h"]), ["does not export h"])
        self.assertEqual(self.check(text, expected=["f", "g", "t_*"]),
                         ["exports nothing of the form t_*"])

    def test_tls(self):
        text = "static __thread char a[%d]; char* f(void) { return a; }"
        flags = ["-ftls-model=initial-exec"]
        self.assertEqual(self.check(text % 64, flags=flags), [])
        self.assertEqual(self.check(text % 65, flags=flags), ["65 bytes of TLS, at most 64"])

    def test_unique(self):
        text = ".globl f\n.type f,@gnu_unique_object\n.data\nf: .long 1\n.size f,4\n" \
               '.section .note.GNU-stack,"",@progbits\n'
        self.assertEqual(self.check(text, ending=".s"),
                         ["f is a unique symbol, so the library could never be closed"])

    def test_executable_stack(self):
        found = self.check("int f(void) { return 1; }", flags=["-Wl,-z,execstack"])
        self.assertEqual(found, ["asks for an executable stack"])

    def test_needed(self):
        found = self.check("int f(void) { return 1; }", flags=["-Wl,--no-as-needed", "-lgcc_s"])
        self.assertIn("depends on libgcc_s.so.1", found)

    def test_text_relocation(self):
        text = '.text\n.globl f\n.type f,@function\nf: ret\n.quad f\n.size f,.-f\n' \
               '.section .note.GNU-stack,"",@progbits\n'
        found = self.check(text, ending=".s", flags=["-Wl,-z,notext"])
        self.assertIn("has text relocations", found)

    def test_lists_of_this_folder_are_read(self):
        here = os.path.dirname(os.path.abspath(__file__))
        exported = check_symbols.read_list(os.path.join(here, "exported.txt"))
        operators = [name for name in exported if name.startswith(("_Zn", "_Zd"))]
        self.assertEqual(len(operators), 20)
        self.assertEqual(len(exported), len(set(exported)))
        allowed = check_symbols.read_list(os.path.join(here, "allowed_undefined.txt"))
        self.assertNotIn("__tls_get_addr", allowed)


def can_build():
    """Whether there is a compiler that makes x86-64 code."""
    try:
        machine = subprocess.run([COMPILER, "-dumpmachine"], capture_output=True, text=True,
                                 check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return machine.startswith("x86_64")


if __name__ == "__main__":
    if not can_build():
        print("skipped: no compiler for x86-64")
        sys.exit(check_budget.SKIPPED)
    unittest.main()
