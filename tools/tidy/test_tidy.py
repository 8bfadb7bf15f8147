#!/usr/bin/env python3
# What it owns: the proof that each rule of tidy fires on a small bad tree and is silent on a good
# one. A rule that cannot fire is worse than none, because readers trust it.
# Each test writes a tree of its own under a temporary folder and asks for the findings.
# SPDX-License-Identifier: MIT
"""Tests of tidy.py: one small bad tree for each rule."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import source_text  # noqa: E402
import tidy         # noqa: E402

HOUSE = """# The floors
## Floors
| floor | folder | what it owns |
|---|---|---|
| 1 | base | language |
| 3 | os | system |
| 5 | space | ranges |
| 5 | slab | blocks |
| 6 | heap | heaps |
## Faces
| folder | faces |
|---|---|
| os | os.hpp |
## Allowed headers
| place | headers |
|---|---|
| everywhere | cstddef cstdint |
| base/atomic.hpp | atomic |
| os | sys/mman.h |
## Exceptions
| rule | file | reason |
|---|---|---|
"""
HEAD = "// SPDX-License-Identifier: MIT\n// what it owns\n// what it must not know\n"
HASH_HEAD = HEAD.replace("//", "#")
TO_DO = "TO" + "DO"


class Tree(unittest.TestCase):
    """A temporary tree that starts good."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("src/README.md", HOUSE)
        for path in ("base/base.hpp", "os/os.hpp", "os/inner.hpp", "space/space.hpp",
                     "slab/slab.hpp", "heap/heap.hpp"):
            self.write("src/" + path, HEAD)

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def except_for(self, row):
        self.write("src/README.md", HOUSE + row + "\n")

    def findings(self):
        return tidy.check_tree(self.folder.name)

    def expect(self, *expected):
        """Expects exactly these (file, line, rule), so that neighbours stay silent too."""
        self.assertEqual([finding[:3] for finding in self.findings()], list(expected))

    def includes(self, path, *operands):
        self.write(path, HEAD + "".join(f"#include {operand}\n" for operand in operands))


class House(Tree):
    def test_good_tree_is_silent(self):
        self.includes("src/heap/alloc.hpp", "<cstddef>", '"os/os.hpp"',
                      '"space/space.hpp"', '"slab/slab.hpp"', '"heap.hpp"')
        self.expect()

    def test_upward_include(self):
        self.includes("src/space/up.hpp", '"heap/heap.hpp"', '"../heap/heap.hpp"')
        self.expect(("src/space/up.hpp", 4, "arrow"), ("src/space/up.hpp", 5, "arrow"))

    def test_angle_brackets_do_not_hide_an_arrow(self):
        self.includes("src/space/up.hpp", "<heap/heap.hpp>")
        self.expect(("src/space/up.hpp", 4, "arrow"))

    def test_no_spelling_hides_an_include(self):
        self.write("src/space/up.hpp", HEAD + '#include_next "heap/heap.hpp"\n'
                   '#include \\\n"heap/heap.hpp"\n/* a */ # include /* b */ "heap/heap.hpp"\n'
                   '#define FILE "heap/heap.hpp"\n#include FILE\n#include_next <vector>\n')
        self.write("src/space/part.inc", HEAD + '#include "heap/heap.hpp"\n')
        self.expect(("src/space/part.inc", 4, "arrow"),
                    ("src/space/up.hpp", 4, "arrow"), ("src/space/up.hpp", 6, "arrow"),
                    ("src/space/up.hpp", 7, "arrow"), ("src/space/up.hpp", 9, "header"),
                    ("src/space/up.hpp", 10, "header"))

    def test_order_of_floors(self):
        self.write("src/heap/alloc.hpp", HEAD + '#include "slab/slab.hpp"\n#include "heap.hpp"\n'
                   '// why\n#include "base/base.hpp"\n\nint a;\n#include "space/space.hpp"\n')
        self.expect(("src/heap/alloc.hpp", 7, "order"), ("src/heap/alloc.hpp", 10, "order"))

    def test_same_floor(self):
        self.includes("src/space/side.hpp", '"slab/slab.hpp"')
        self.includes("src/slab/side.hpp", '"space/space.hpp"')
        self.expect(("src/slab/side.hpp", 4, "arrow"), ("src/space/side.hpp", 4, "arrow"))

    def test_innards_behind_a_face(self):
        self.includes("src/heap/peek.hpp", '"os/inner.hpp"')
        self.includes("src/os/own.hpp", '"os/inner.hpp"')
        self.expect(("src/heap/peek.hpp", 4, "face"))

    def test_include_of_nothing_and_of_tests(self):
        self.write("tests/fake.hpp", HEAD)
        self.includes("src/heap/odd.hpp", '"os/gone.hpp"', '"../../tests/fake.hpp"')
        self.expect(("src/heap/odd.hpp", 4, "missing-include"), ("src/heap/odd.hpp", 5, "arrow"))

    def test_system_headers(self):
        self.includes("src/heap/bad.hpp", "<cstdint>", "<vector>", "<sys/mman.h>", "<atomic>")
        self.includes("src/os/good.hpp", "<sys/mman.h>")
        self.includes("src/base/atomic.hpp", "<atomic>")
        self.expect(*[("src/heap/bad.hpp", line, "header") for line in (5, 6, 7)])

    def test_include_in_a_comment_is_no_include(self):
        self.write("src/base/quiet.hpp", HEAD + '// #include <vector>\n/*\n#include "x"\n*/\n')
        self.expect()

    def test_atomic_builtins(self):
        self.write("src/heap/bad.hpp", HEAD + "int f(int* p) { return __atomic_load_n(p, 0); }\n"
                   "// __atomic_load_n here is prose\nstd::atomic<int> count;\n"
                   "int a = b.load_relaxed();\nint c = b.load_relaxed();  // [E1] sees\n")
        self.write("src/base/atomic.hpp", HEAD + "int f(int* p) { return __sync_add(p, 0); }\n")
        self.expect(("src/heap/bad.hpp", 4, "atomics"), ("src/heap/bad.hpp", 6, "atomics"),
                    ("src/heap/bad.hpp", 7, "relaxed"))

    def test_internals_are_in_no_public_namespace(self):
        self.write("src/heap/open.hpp", HEAD + "namespace talus::os {}\nnamespace talus::core {}\n")
        self.expect(("src/heap/open.hpp", 4, "namespace"))

    def test_place(self):
        self.write("src/moved.hpp", HEAD)
        self.write("src/attic/old.hpp", HEAD)
        self.expect(("src/attic/old.hpp", 1, "place"), ("src/moved.hpp", 1, "place"))

    def test_exception_silences_one_rule_of_one_file(self):
        self.except_for("| arrow | src/space/up.hpp | the reason |")
        self.includes("src/space/up.hpp", '"heap/heap.hpp"', "<vector>")
        self.includes("src/space/other.hpp", '"heap/heap.hpp"')
        self.expect(("src/space/other.hpp", 4, "arrow"), ("src/space/up.hpp", 5, "header"))

    def test_stale_and_reasonless_exceptions(self):
        self.except_for("| arrow | src/os/os.hpp | the reason |\n| arrow | src/os/os.hpp | |")
        row = HOUSE.count("\n") + 1
        self.expect(("src/README.md", row, "stale-exception"), ("src/README.md", row + 1, "house"))

    def test_no_floors(self):
        self.write("src/README.md", "# nothing\n")
        self.assertIn(("src/README.md", 1, "house"), [found[:3] for found in self.findings()])
        os.remove(os.path.join(self.folder.name, "src/README.md"))
        self.expect(("src/README.md", 1, "house"))


class Text(Tree):
    def test_file_length(self):
        self.write("bench/long.cpp", HEAD + "int x;\n" * 397)
        self.expect()
        self.write("bench/long.cpp", HEAD + "int x;\n" * 398)
        self.expect(("bench/long.cpp", 401, "file-length"))

    def test_function_length(self):
        body = "  int x = 1'000; // {\n" * 58
        self.write("bench/f.cpp", HEAD + "namespace a {\nclass B {\n void fits() const {\n" + body
                   + " }\n};\n}\n")
        self.expect()
        self.write("bench/f.cpp", HEAD + 'namespace a {\nextern "C" {\nint too_long(int a,\n'
                   "  int b) noexcept {\n" + body + "}\n}\n}\n")
        self.expect(("bench/f.cpp", 6, "function-length"))

    def test_heads_of_functions(self):
        for head in ("struct S f(int t)", "inline enum E f(int t)", "class S* f(int t)",
                     "struct A { A(int x) : a{x}", "A::A(int x) noexcept(f(g(x))) : a(x), b{1, 2}",
                     "A::A() : B<int>{[] { return 1; }}, c_{}",
                     "A::A() : a({1}, {2})", "auto f() -> std::vector<int>",
                     "void f(int t = g(h()) ? 1 : 2) const"):
            text = HEAD + head + " {\n" + "  int x;\n" * 59 + "}\n"
            self.write("bench/f.cpp", text)
            self.expect(("bench/f.cpp", 4, "function-length"))
            self.write("bench/f.cpp", text.replace("  int x;\n", "", 1))
            self.expect()

    def test_data_is_no_function(self):
        self.write("bench/t.cpp", HEAD + "constexpr int table[] = {\n" + "  f(1),\n" * 80 + "};\n"
                   + "struct alignas(64) Row {\n" + "  int a;\n" * 80 + "};\n"
                   + "struct Row __attribute__((packed)) {\n" + "  int a;\n" * 80 + "};\n"
                   + "struct Row : Base<decltype(f())> {\n" + "  int a;\n" * 80 + "};\n")
        self.expect()

    def test_python_function_length(self):
        self.write("bench/f.py", HASH_HEAD + "def long():\n" + "    x = 1\n" * 60)
        self.expect(("bench/f.py", 4, "function-length"))

    def test_columns_and_tabs(self):
        self.write("bench/c.cpp", HEAD + "x" * 100 + "\n" + "x" * 101 + "\n\tint y;\n")
        self.write("Makefile", HASH_HEAD + "all:\n\techo\nx =\t1\n")
        self.expect(("Makefile", 6, "tab"), ("bench/c.cpp", 5, "columns"),
                    ("bench/c.cpp", 6, "tab"))

    def test_head_and_spdx(self):
        self.write("bench/a.cpp", "// SPDX-License-Identifier: MIT\n// short\nint x;\n")
        self.write("bench/b.cpp", "/* one\n two\n three */\nint x;\n")
        self.write("bench/c.py", "#!/usr/bin/env python3\n" + HASH_HEAD)
        self.write("bench/d.sh", "#!/bin/sh\necho\n")
        self.write("bench/e.py", HASH_HEAD.split("\n")[0] + '\n"""One.\n\nTwo.\n"""\nx = 1\n')
        self.write("bench/f.py", 'x = 1\n' + HASH_HEAD)
        self.expect(("bench/a.cpp", 1, "head"), ("bench/b.cpp", 1, "spdx"),
                    ("bench/d.sh", 1, "head"), ("bench/d.sh", 1, "spdx"),
                    ("bench/f.py", 1, "head"), ("bench/f.py", 1, "spdx"))

    def test_names(self):
        for name in ("util.hpp", "common.py", "misc.cpp", "internal.h"):
            self.write("bench/" + name, HASH_HEAD if name.endswith("py") else HEAD)
        self.expect(*[(f"bench/{name}", 1, "file-name")
                      for name in ("common.py", "internal.h", "misc.cpp", "util.hpp")])

    def test_a_test_that_is_never_built(self):
        self.write("tests/unit/CMakeLists.txt", HASH_HEAD + "add(space/first_test.cpp)\n")
        for name in ("first_test.cpp", "second_test.cpp", "pattern.cpp"):
            self.write("tests/unit/space/" + name, HEAD)
        self.expect(("tests/unit/space/second_test.cpp", 1, "never-built"))

    def test_a_longer_name_or_a_comment_builds_nothing(self):
        self.write("tests/unit/CMakeLists.txt", HASH_HEAD + "add(x/my_first_test.cpp)\n"
                   "# first_test.cpp\nadd(y/second_test.cpp ${here}/x/third_test.cpp)  # why\n")
        for name in ("first", "my_first", "second", "third"):
            self.write(f"tests/unit/x/{name}_test.cpp", HEAD)
        self.expect(("tests/unit/x/first_test.cpp", 1, "never-built"),
                    ("tests/unit/x/second_test.cpp", 1, "never-built"))

    def test_every_ending_of_the_language(self):
        endings = ("hh", "hxx", "inc", "inl", "ipp", "tpp")
        for ending in endings:
            self.write(f"src/os/a.{ending}", HEAD + "\n" * 398)
        self.expect(*[(f"src/os/a.{ending}", 401, "file-length") for ending in endings])

    def test_to_do_needs_an_issue(self):
        self.write("bench/a.cpp", HEAD + f"// {TO_DO}: later\n// {TO_DO}(#12): later\n"
                   f'const char* s = "{TO_DO}";\n')
        self.write("bench/b.py", HASH_HEAD + f"x = '# {TO_DO}'  # {TO_DO} later\n")
        self.write("bench/c.py", HASH_HEAD + f"x = '# {TO_DO}'\n")
        self.expect(("bench/a.cpp", 4, "todo"), ("bench/b.py", 4, "todo"))

    def test_if_0(self):
        self.write("bench/a.cpp", HEAD + "# if 0\n#endif\n// #if 0\n#if 01 == 1\n#endif\n")
        self.expect(("bench/a.cpp", 4, "if-0"))

    def test_skipped_folders(self):
        for folder in ("build/release", "tests/__pycache__", ".git"):
            self.write(folder + "/util.cpp", "\t")
        self.write("tests/elsewhere/CMakeCache.txt", "")
        self.write("tests/elsewhere/util.cpp", "\t")
        self.expect()


PROTOCOL = HEAD + """
// PROTOCOL queue   word: shared_head   owner: one thread
//   state   meaning    left by   to
// edges  E1 push.release -> drain.acquire   publishes next
//        E2 park.release -> drain.acquire   publishes the slab
// why no ABA: [E1] takes the whole list
// lifetime: E3 is prose here

void push() { word.store_release(1); }  // [E1] publishes next
void park() { word.store_release(2); }  // [E2] publishes
"""


class Edges(Tree):
    def test_both_ends(self):
        drain = "int drain() { return word.load_acquire(); }  // [E1, E2] sees both\n"
        self.write("src/slab/queue.hpp", PROTOCOL + drain)
        self.expect()

    def test_one_end_is_missing(self):
        self.write("src/slab/queue.hpp",
                   PROTOCOL + "int drain() { return word.load_acquire(); }  // [E1] sees next\n")
        self.expect(("src/slab/queue.hpp", 8, "edge"))

    def test_undefined_edge(self):
        self.write("src/slab/queue.hpp", PROTOCOL + "int a;  // [E1][E2]\nint b;  // [E7] what\n")
        self.expect(("src/slab/queue.hpp", 15, "edge"))

    def test_file_without_protocol(self):
        self.write("src/slab/plain.hpp", HEAD + "int a;  // [E7]\n")
        self.expect()


class Links(Tree):
    def test_links(self):
        self.write("docs/a.md", "[ok](../src/README.md#floors) [web](https://x.y) [here](#a)\n"
                   "```\n[code](gone.md)\n```\n`[span](gone.md)` [bad](gone.md)\n[ref]: lost.md\n")
        self.write("README.md", "![picture](docs/a.png)\n[ok](docs/a.md)\n")
        self.write("CONTRIBUTING.md", "[bad](gone.md)\n")
        self.expect(("CONTRIBUTING.md", 1, "link"), ("README.md", 1, "link"),
                    ("docs/a.md", 5, "link"), ("docs/a.md", 6, "link"))

    def test_document_named_in_a_comment(self):
        self.write("docs/a.md", "here\n")
        self.write("bench/a.cpp", HEAD + "// see docs/a.md\n// see docs/b.md\n")
        self.expect(("bench/a.cpp", 5, "link"))


class Splitting(unittest.TestCase):
    def test_shape_is_kept(self):
        text = 'a = "// no"; // yes\nR"x(\n// no\n)x"; b = \'"\'; c = 1\'000; /* yes\n*/ d\n'
        code, comments, _ = source_text.split_cpp(text)
        self.assertEqual((len(code), len(comments)), (len(text), len(text)))
        self.assertNotIn("no", code + comments)
        self.assertEqual(comments.count("yes"), 2)
        for kept in ("a =", "b =", "c = 1'000;", " d"):
            self.assertIn(kept, code)


class Command(Tree):
    def run_main(self):
        stdout, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
        try:
            return tidy.main([self.folder.name])
        finally:
            sys.stdout.close()
            sys.stdout = stdout

    def test_exit_code(self):
        self.assertEqual(self.run_main(), 0)
        self.write("bench/util.cpp", HEAD)
        self.assertEqual(self.run_main(), 1)


if __name__ == "__main__":
    unittest.main()
