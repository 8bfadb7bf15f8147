#!/usr/bin/env python3
# Tests the scripts of tools/dist on made-up trees, and that each place names the same version.
# Arguments: the source folder.
# SPDX-License-Identifier: MIT
"""Archives do not depend on folders and times, and the bill lists what is linked."""

import contextlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

SOURCE = Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tools/dist"))

import archives  # noqa: E402
import bill  # noqa: E402
import differences  # noqa: E402
import stand_ins  # noqa: E402
import targets  # noqa: E402

NINJA = """
build talus: CXX_EXECUTABLE_LINKER__talus a.o
  LINK_FLAGS = -Wl,--as-needed
  LINK_LIBRARIES = {libraries}

build other: phony

"""


class Archives(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())
                           if hasattr(self, "enterContext") else tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)

    def tree(self, name):
        root = self.folder / name
        (root / "sub").mkdir(parents=True)
        (root / "b.txt").write_text("b")
        (root / "sub/run.sh").write_text("#!/bin/sh\n")
        (root / "sub/run.sh").chmod(0o700)
        (root / "link").symlink_to("b.txt")
        for made in ("build", "dist"):
            (root / made).mkdir()
            (root / made / "made.o").write_text("made")
        (root / "tools/dist").mkdir(parents=True)  # a source by the name of what is made
        (root / "tools/dist/dist.py").write_text("dist")
        return root

    def archive(self, root, output):
        entries = [(path, root / path) for path in archives.sources(root)]
        archives.write_gzip(self.folder / output, archives.tar_of("talus", entries, 1000))
        return (self.folder / output).read_bytes()

    def test_the_same_bytes_from_two_folders(self):
        one, two = self.tree("one"), self.tree("another-name")
        os.utime(two / "b.txt", (5, 5))
        (two / "b.txt").chmod(0o640)
        self.assertEqual(self.archive(one, "1.gz"), self.archive(two, "2.gz"))

    def test_members_are_sorted_and_owned_by_root(self):
        self.archive(self.tree("one"), "1.tar.gz")
        said = subprocess.run(["tar", "--numeric-owner", "-tvf", self.folder / "1.tar.gz"],
                              check=True, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "TZ": "UTC"}).stdout.splitlines()
        self.assertEqual([line.split()[5] for line in said],
                         ["talus/b.txt", "talus/link", "talus/sub/run.sh",
                          "talus/tools/dist/dist.py"])
        for line in said:
            self.assertRegex(line, r"^\S+ 0/0 .* 1970-01-01 00:16 ")
        self.assertTrue(said[0].startswith("-rw-r--r--") and said[2].startswith("-rwxr-xr-x"))

    def test_the_time_comes_from_the_archive_without_git(self):
        root = self.tree("one")
        (root / archives.DATE_FILE).write_text("1234\n")
        before = os.environ.pop("SOURCE_DATE_EPOCH", None)
        try:
            self.assertEqual(archives.epoch(root), 1234)
            os.environ["SOURCE_DATE_EPOCH"] = "99"
            self.assertEqual(archives.epoch(root), 99)
        finally:
            os.environ.pop("SOURCE_DATE_EPOCH", None)
            if before is not None:
                os.environ["SOURCE_DATE_EPOCH"] = before

    def test_sums_are_as_sha256sum_wants_them(self):
        root = self.tree("one")
        archives.write_sums(root)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=root, check=True)
        (root / "b.txt").write_text("c")
        self.assertNotEqual(subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=root,
                                           capture_output=True, check=False).returncode, 0)


class Differences(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "same").write_text("same")

    def delivery(self, name, time=1000):
        """An archive with an archive of one object of 64-bit little-endian ELF, and a text."""
        folder = self.folder / name
        folder.mkdir()
        (self.folder / "made").mkdir(exist_ok=True)
        object_file = self.folder / "made/code.o"
        names = b"\0.text\0.names\0"
        header = b"\x7fELF\2\1\1".ljust(0x28, b"\0") + struct.pack("<QIHHHHHH", 64, 0, 64, 0, 0,
                                                                      64, 2, 1)
        rows = b"".join(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, offset, size, 0, 0, 1, 0)
                        for at, offset, size in ((1, 192, 8), (7, 200, len(names))))
        object_file.write_bytes(header + rows + name.encode().ljust(8, b"\0") + names)
        inner = b"!<arch>\n" + b"code.o/".ljust(48) + str(object_file.stat().st_size).encode()
        inner = inner.ljust(8 + 58) + b"`\n" + object_file.read_bytes()
        (self.folder / "made/lib.a").write_bytes(inner)
        entries = [("lib.a", self.folder / "made/lib.a"), ("same", self.folder / "same")]
        archives.write_gzip(folder / "tree.tar.gz", archives.tar_of("tree", entries, time))
        (folder / "bill").write_text("a bill")
        return folder

    def test_a_section_of_a_member_is_named(self):
        said = differences.folders(self.delivery("one"), self.delivery("two"))
        self.assertEqual(said, (["tree.tar.gz"], [
            "tree.tar.gz/tree/lib.a/code.o/.text: from byte 0 on, of 8 and 8"]))

    def test_equal_folders_have_none(self):
        one = self.delivery("one")
        shutil.copytree(one, self.folder / "copy")
        self.assertEqual(differences.folders(one, self.folder / "copy"), ([], []))

    def test_other_times_and_missing_files_are_told(self):
        one = self.delivery("one")
        (one / "bill").unlink()
        first = one.rename(self.folder / "first")
        self.assertEqual(differences.folders(first, self.delivery("one", 2000)), (
            ["bill", "tree.tar.gz"],
            ["bill: only in one", "tree.tar.gz: members are equal; their order, times or the "
             "compression differ"]))


class Bill(unittest.TestCase):
    def made(self, *libraries):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "talus.hpp").write_text("header")
            texts = [NINJA.format(libraries=line) for line in libraries]
            return json.loads(bill.bill("1.2.3", Path(name), texts, 0))

    def test_lists_what_is_linked(self):
        document = self.made("-l:libelf.a -l:libncursesw.a -l:libtinfo.a", "-l:libelf.a -l:libz.a")
        names = [package["name"] for package in document["packages"]]
        self.assertEqual(names, ["talus", "CLI11", "elfutils libelf", "fmt", "glibc", "libgcc",
                                 "libstdc++", "ncurses", "zlib"])
        links = [relation for relation in document["relationships"]
                 if relation["relationshipType"] == "STATIC_LINK"]
        self.assertEqual(len(links), 8)
        self.assertEqual(document["files"][0]["fileName"], "./talus.hpp")
        self.assertEqual(document["creationInfo"]["created"], "1970-01-01T00:00:00Z")

    def test_identifiers_are_spdx_ones_and_known(self):
        document = self.made("-l:libelf.a")
        known = {"SPDXRef-DOCUMENT"}
        known |= {item["SPDXID"] for item in document["packages"] + document["files"]}
        for identifier in known:
            self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for relation in document["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)

    def test_refuses_a_library_without_a_licence(self):
        with self.assertRaisesRegex(SystemExit, "no licence for -lsecret"):
            self.made("-l:libelf.a -lsecret")


class StandIns(unittest.TestCase):
    def test_versions_of_names(self):
        self.assertEqual(stand_ins.versions({"b": (2, 2, 5), "a": (2, 17), "c": (2, 2, 5)}),
                         "GLIBC_2.2.5 { b; c; };\nGLIBC_2.17 { a; };\n")

    def test_names_are_those_that_the_library_may_need(self):
        listed = (SOURCE / "tests/asm/allowed_undefined.txt").read_text().split()
        for name in (*stand_ins.FUNCTIONS, *stand_ins.OBJECTS, *stand_ins.THREADS,
                     *stand_ins.LATER):
            if name != "__getauxval":  # libgcc's, for atomics of AArch64
                self.assertIn(name, listed)


class OtherProcessor(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        # A compiler that says where its C library lies, and the answer of that library's package.
        self.compiler = self.folder / "gcc"
        self.compiler.write_text(f'#!/bin/sh\necho "{self.folder}/${{1#*=}}"\n')
        self.compiler.chmod(0o755)
        for name in targets.C_LIBRARIES:
            (self.folder / name).write_text(f"this is {name}")
        (self.folder / "shlibs").write_text("libc 6 libc6:arm64 (>= 2.36)\n")
        self.addCleanup(setattr, targets, "SHLIBS", targets.SHLIBS)
        targets.SHLIBS = self.folder / "shlibs"
        listed = " 1: 0 0 FUNC GLOBAL DEFAULT 12 malloc@@GLIBC_2.17\n"
        readelf = unittest.mock.patch.object(targets, "READELF", self.folder / "readelf")
        readelf.start()
        self.addCleanup(readelf.stop)
        (self.folder / "readelf").write_text(f"#!/bin/sh\necho '{listed}'\n")
        (self.folder / "readelf").chmod(0o755)

    def test_a_package_depends_on_the_c_library_of_its_system(self):
        target = targets.Target("aarch64", self.folder / "build", self.compiler, "strip", [], "",
                                True, None, ())
        for _ in range(2):  # a folder of the last time is no obstacle
            words = targets.debian_words(target)
        self.assertEqual(words[1], "CPACK_DEBIAN_PACKAGE_ARCHITECTURE=arm64")
        looked_into = Path(words[3].split(";-S")[1])
        self.assertEqual((looked_into / "DEBIAN/shlibs").read_text(), "libc 6 libc6 (>= 2.36)\n")
        self.assertEqual((looked_into / "lib/aarch64-linux-gnu/libc.so.6").read_text(),
                         "this is libc.so.6")
        self.assertIn("libc.so.6 libc6 #MINVER#\n malloc@GLIBC_2.17 2.17\n",
                      (looked_into / "DEBIAN/symbols").read_text())

    def test_a_package_needs_the_c_library_of_its_newest_function(self):
        listed = ("   Num:    Value          Size Type    Bind   Vis      Ndx Name\n"
                  "     1: 0000000000080f24    76 FUNC    GLOBAL DEFAULT   12 malloc@@GLIBC_2.17\n"
                  "     2: 0000000000080f24    76 FUNC    WEAK   DEFAULT   12 dlsym@GLIBC_2.17\n"
                  "     3: 0000000000080f24    76 FUNC    GLOBAL DEFAULT   12 dlsym@@GLIBC_2.34\n"
                  "     4: 0000000000080f24    76 OBJECT  GLOBAL DEFAULT   24 _x@@GLIBC_PRIVATE\n"
                  "     5: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND _y@GLIBC_2.36 (2)\n"
                  "     6: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS GLIBC_2.17\n")
        self.assertEqual(targets.symbols_of("libc.so.6", listed, "libc 6 libc6 (>= 2.36)\n"),
                         ["libc.so.6 libc6 #MINVER#", " _x@GLIBC_PRIVATE 2.36",
                          " dlsym@GLIBC_2.17 2.17", " dlsym@GLIBC_2.34 2.34",
                          " malloc@GLIBC_2.17 2.17"])

    def test_without_its_compiler_there_is_nothing(self):
        with unittest.mock.patch.object(shutil, "which", return_value=None), \
                unittest.mock.patch.object(targets.platform, "machine", return_value="x86_64"), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertIsNone(targets.other(self.folder))
        self.assertEqual(len(said.getvalue().splitlines()), 1)


class Version(unittest.TestCase):
    def test_is_the_same_in_each_place(self):
        header = (SOURCE / "include/talus/talus.h").read_text()
        version = re.search(r'define TALUS_VERSION "([^"]+)"', header).group(1)
        numbers = [re.search(rf"define TALUS_VERSION_{part} (\d+)", header).group(1)
                   for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(numbers), version)
        changes = (SOURCE / "CHANGELOG.md").read_text()
        self.assertEqual(re.search(r"(?m)^## (\S+?),", changes).group(1), version)
        rust = SOURCE / "packages/rust"
        self.assertIn(f'\nversion = "{version}"\n', (rust / "Cargo.toml").read_text())
        self.assertIn(f'talus-sys = {{ version = "={version}"',
                      (rust / "talus/Cargo.toml").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
