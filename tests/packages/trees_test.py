#!/usr/bin/env python3
# Unpacks the trees that `make dist` has made for old glibc and for musl, and uses them: here, in an
# emulator, and on the oldest Debian that its mirrors have. Without a tree, a compiler, an emulator,
# root or the network the case is skipped; without any tree all are (77).
# Arguments: the source folder, and optionally the folder of the archives.
# SPDX-License-Identifier: MIT
"""The trees to unpack serve glibc 2.17, musl and both processors."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from functools import partial
from pathlib import Path

import called
import glibc_versions

SOURCE = Path(sys.argv[1]).resolve()
ARCHIVES = Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "dist").resolve()
sys.path.insert(0, str(SOURCE / "tools/fresh"))
sys.path.insert(0, str(SOURCE / "tests/asm"))

import machine  # noqa: E402
import run as fresh  # noqa: E402

OLDEST = (2, 17)
OLD_SYSTEM = fresh.System("debian", "bullseye")
# A program of threads, forks and large blocks, which ends with 1 where Talus is not in it.
WORK = SOURCE / "tests/entry/plain_work.c"
# The same without forks, beside which emulators stand still now and then.
THREADS = SOURCE / "tests/entry/plain_threads.c"
MAPPED = "cat /proc/self/maps | grep -q libtalus.so"


call = partial(called.call, timeout=900)


class Trees(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="talus-trees-",
                                           dir=os.environ.get("TMPDIR", "/var/tmp")))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.folder.chmod(0o755)
        for path in ARCHIVES.glob("talus-*-linux-*.tar.zst"):
            call("tar", "--zstd", "-xf", path, "-C", cls.folder)

    def tree(self, kind, processor=None):
        processor = processor or platform.machine()
        for path in self.folder.glob(f"talus-*-{processor}-linux-{kind}"):
            return path
        self.skipTest(f"make dist has made no tree for {processor} and {kind}")
        return None

    def libraries(self, kind):
        found = list(self.folder.glob(f"talus-*-linux-{kind}/lib/libtalus.so"))
        self.assertTrue(found)
        return found

    def need(self, *programs):
        for name in programs:
            if shutil.which(name) is None:
                self.skipTest(f"there is no {name} here")

    def test_glibc_2_17_is_enough(self):
        for library in self.libraries("gnu"):
            said = call("readelf", "-VW", library)
            self.assertLessEqual(glibc_versions.newest(said), OLDEST, library)

    def test_musl_is_enough(self):
        for library in self.libraries("musl"):
            said = call("readelf", "-dVW", library)
            self.assertNotIn("GLIBC", said)
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
            self.assertEqual(len(needed), 1)
            self.assertRegex(needed[0], r"^libc\.musl-\w+\.so\.1$")

    def test_the_command_needs_no_library(self):
        for kind in ("gnu", "musl"):
            self.assertTrue((self.tree(kind) / "bin/talus").is_file())
        for command in self.folder.glob("talus-*-linux-*/bin/talus"):
            said = call("readelf", "-dlW", command)
            self.assertNotIn("(NEEDED)", said, command)
            self.assertNotIn("INTERP", said, command)

    def test_the_fast_paths_are_those_of_the_build(self):
        if platform.machine() != "x86_64":
            self.skipTest("the budgets are about x86-64")
        for kind in ("gnu", "musl"):
            library = self.tree(kind) / "lib/libtalus.so"
            call(sys.executable, "-B", SOURCE / "tests/asm/check_symbols.py", library)
            said = subprocess.run([sys.executable, "-B", SOURCE / "tests/asm/check_budget.py",
                                   library, "--compiler", "GNU"], stdout=subprocess.PIPE,
                                  text=True, check=False).stdout
            self.assertIn("ok   malloc: ", said)
            # A stripped library has no names of its inner functions.
            for line in said.splitlines():
                self.assertRegex(line, r"^ok |^FAIL _ZN5talus4core\S+: not defined in |^$", said)

    def test_a_moved_tree_runs_programs(self):
        moved = self.folder / "moved-here"
        shutil.copytree(self.tree("gnu"), moved, symlinks=True)
        maps = call(moved / "bin/talus", "run", "--", "cat", "/proc/self/maps")
        self.assertIn("moved-here/lib/libtalus.so", maps)
        call(moved / "bin/talus", "check", "--", "/bin/sh")

    def test_programs_of_musl(self):
        self.need("musl-gcc")
        tree = self.tree("musl")
        common = ["musl-gcc", "-std=c11", "-fno-builtin", "-I", tree / "include", WORK]
        for name, words in (("linked", ["-L", tree / "lib", "-ltalus"]),
                            ("contained", [tree / "lib/libtalus.a"]),
                            ("static", ["-static", tree / "lib/talus.o"])):
            program = self.folder / name
            call(*common, *words, "-o", program)
            self.assertEqual(call(program, env={"LD_LIBRARY_PATH": str(tree / "lib")}), "")
        plain = self.folder / "reads_maps"
        plain.with_suffix(".c").write_text(
            '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { free(malloc(100000));\n'
            'FILE* maps = fopen("/proc/self/maps", "r"); char line[999];\n'
            'while (fgets(line, 999, maps)) fputs(line, stdout); return 0; }\n')
        call("musl-gcc", plain.with_suffix(".c"), "-o", plain)
        self.assertIn("libtalus.so", call(tree / "bin/talus", "run", "--", plain))
        call(tree / "bin/talus", "check", "--", plain)

    def test_the_other_processor(self):
        if platform.machine() != "x86_64":
            self.skipTest("this is about AArch64 in an emulator")
        self.need("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
        tree = self.tree("gnu", "aarch64")
        program = self.folder / "other"
        call("aarch64-linux-gnu-gcc", "-fno-builtin", "-I", tree / "include", THREADS,
             "-L", tree / "lib", "-ltalus", "-pthread", "-o", program)
        self.assertEqual(call("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", "-E",
                              f"LD_LIBRARY_PATH={tree}/lib", program,
                              env={"PATH": os.environ["PATH"]}), "")

    def test_the_command_of_the_other_processor(self):
        if platform.machine() != "x86_64":
            self.skipTest("this is about AArch64 in an emulator")
        self.need("qemu-aarch64-static")
        tree = self.tree("gnu", "aarch64")
        if not (tree / "bin/talus").is_file():
            self.skipTest("make dist has found no archives for that command")
        talus = partial(call, "qemu-aarch64-static", tree / "bin/talus")
        self.assertIn(talus("--version").strip().replace(" ", "-"), tree.name)
        self.assertIn("TALUS_PRESET=", talus("options"))
        # It finds the library of its own tree, and both are of one version.
        self.assertIn(f"{tree}/lib/libtalus.so", talus("version"))
        for page in talus("complete", "--", "talus", "").splitlines():
            name = page.split("\t")[0]
            self.assertEqual((tree / f"share/man/man1/talus-{name}.1").read_text(),
                             talus("manual", name))

    def test_an_old_system(self):
        try:
            command = fresh.namespaces()
        except fresh.Skip as skip:
            self.skipTest(str(skip))
        said = call(*command, sys.executable, "-B", os.path.abspath(__file__), SOURCE, ARCHIVES,
                    self.folder / "old", self.tree("gnu"))
        self.assertIn("the old system served", said)


def on_the_old_system(folder, tree):
    """In namespaces of their own: a system whose glibc has threads in a library of their own."""
    os.makedirs(folder)
    trees = Path(os.environ.get("TALUS_FRESH_TREES") or folder / "trees")
    trees.mkdir(exist_ok=True)
    if not (trees / OLD_SYSTEM.suite).is_dir():
        machine.make_tree(OLD_SYSTEM, trees / OLD_SYSTEM.suite, folder)
    place = machine.Machine(trees / OLD_SYSTEM.suite, f"{folder}/work", True)
    try:
        shutil.copytree(tree, f"{place.root}/talus", symlinks=True)
        place.run(f"""
ldd --version | grep -q 'GLIBC 2.31'
/talus/bin/talus run -- sh -c '{MAPPED}'
/talus/bin/talus check -- /bin/sh
/talus/bin/talus run PRINT_STATS=stdout -- \\
  perl -e 'my @a = map {{ "x" x $_ }} 1..20000; print "perl\\n"' >out
grep -q '^perl$' out
grep -q 'heap' out
/talus/bin/talus run -- git --version
""")
    finally:
        place.close()
    print("the old system served")


if __name__ == "__main__":
    if len(sys.argv) > 4:
        on_the_old_system(Path(sys.argv[3]), sys.argv[4])
        sys.exit(0)
    if not list(ARCHIVES.glob("talus-*-linux-*.tar.zst")):
        print(f"skipped: no trees in {ARCHIVES}: make dist")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
