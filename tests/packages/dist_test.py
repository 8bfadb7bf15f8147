#!/usr/bin/env python3
# Makes everything that is delivered, twice. The first time it does what `make dist` does, in dist/
# and build/dist, and dist/ stays. The second time it works in another folder on the source archive,
# without git and what was built. Then it uses what can be used without installing it.
# Arguments: the source folder.
# SPDX-License-Identifier: MIT
"""What `make dist` delivers is the same from each folder, complete, and works."""

import itertools
import os
import platform
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import differences
import glibc_versions
from called import call

SOURCE = Path(sys.argv[1])
# Where files that differ stay, in one folder for each build.
KEPT = SOURCE / "build/dist-differences"
PROGRAM = """#include <stdio.h>
#include <talus/talus.h>
int main(void) {
  void* block = talus_malloc(100);
  puts(talus_version());
  talus_free(block);
  return block == NULL;
}
"""


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="talus-dist-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.output = SOURCE / "dist"
        # A cache of the compiler's could give both builds the same bytes by itself.
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.endswith("_COMPILER_LAUNCHER")}
        cls.environment.pop("SOURCE_DATE_EPOCH", None)
        cls.said = call(sys.executable, "-B", SOURCE / "tools/dist/dist.py", env=cls.environment)

    def only(self, pattern):
        found = list(self.output.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
        return found[0]

    def test_sums(self):
        call("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=self.output)
        sums = (self.output / "SHA256SUMS").read_text().splitlines()
        listed = {line.split()[1] for line in sums}
        self.assertEqual(listed | {"SHA256SUMS"}, set(os.listdir(self.output)))

    def test_the_source_archive_makes_the_same(self):
        call("tar", "-xf", self.only("talus-*.tar.gz"), "-C", self.folder)
        tree = next(self.folder.glob("talus-[0-9]*"))
        call(sys.executable, "-B", tree / "tools/dist/dist.py", "--output", self.folder / "again",
             "--build", self.folder / "another-build-folder", env=self.environment)
        differing, lines = differences.folders(self.output, self.folder / "again")
        shutil.rmtree(KEPT, True)
        for name, folder in itertools.product(differing, (self.output, self.folder / "again")):
            if (folder / name).is_file():
                target = KEPT / folder.name / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / name, target)
        self.assertEqual(lines, [], f"{KEPT} has both\n" + "\n".join(lines))

    def test_the_relocatable_tree_is_used(self):
        machine = platform.machine()
        call("tar", "--zstd", "-xf", self.only(f"talus-*-{machine}-linux-gnu.tar.zst"), "-C",
             self.folder)
        tree = next(path for path in self.folder.glob("talus-*-linux-gnu"))
        moved = self.folder / "moved-here"
        tree.rename(moved)
        call(moved / "bin/talus", "run", "--", "true")
        maps = call(moved / "bin/talus", "run", "--", "cat", "/proc/self/maps")
        self.assertIn("moved-here/lib/libtalus.so", maps)
        for part in ("include/talus/heap.hpp", "lib/libtalus.a", "share/man/man1/talus-run.1",
                     "share/bash-completion/completions/talus", "LICENSE"):
            self.assertTrue((moved / part).is_file(), part)
        if shutil.which("pkg-config") is None:
            return
        plain = self.folder / "moved"
        moved.rename(plain)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(plain / "lib/pkgconfig")}
        words = call("pkg-config", "--cflags", "--libs", "talus", env=environment).split()
        (self.folder / "main.c").write_text(PROGRAM)
        call("cc", self.folder / "main.c", *words, "-o", self.folder / "main")
        said = call(self.folder / "main", env={**os.environ, "LD_LIBRARY_PATH": str(plain / "lib")})
        self.assertIn(f"talus-{said.strip()}", self.only("talus-*.tar.gz").name)

    def test_wheels_have_the_tags_of_auditwheel(self):
        if "No module named" in call("sh", "-c", '"$0" -m auditwheel --version 2>&1 || true',
                                     sys.executable):
            self.skipTest("auditwheel is not installed")
        wheels = sorted(self.output.glob("*.whl"))
        self.assertGreaterEqual(len(wheels), 2)
        for path in wheels:
            tag = path.stem.split("-")[-1]
            said = " ".join(call(sys.executable, "-m", "auditwheel", "show", path).split())
            self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)

    def test_debian_packages_pass_lintian(self):
        packages = sorted(self.output.glob("*.deb"))
        if not packages or shutil.which("lintian") is None:
            self.skipTest("there is no dpkg-dev or no lintian here")
        self.assertEqual({tuple(path.name.split("_")[0] for path in packages
                                if path.stem.endswith(architecture))
                          for architecture in {path.stem.split("_")[-1] for path in packages}},
                         {("libtalus-dev", "libtalus0-dbgsym", "libtalus0", "talus-tools-dbgsym",
                           "talus-tools")})
        # There is no address of a maintainer yet.
        call("lintian", "--allow-root", "--fail-on", "error", "--suppress-tags",
             "bogus-mail-host,bogus-mail-host-in-debian-changelog", *packages)

    def test_rpm_packages_have_their_files(self):
        packages = sorted(self.output.glob("*.rpm"))
        if not packages:
            self.skipTest("there is no rpmbuild here")
        for machine in {path.stem.split(".")[-1] for path in packages}:
            said = call("rpm", "-qpl", *self.output.glob(f"*.{machine}.rpm"))
            for path in ("/usr/lib64/libtalus.so.0", "/usr/bin/talus",
                         "/usr/include/talus/talus.h", "/usr/share/man/man1/talus.1.gz"):
                self.assertIn(f"{path}\n", said)

    def oldest_c_library(self, package):
        """The oldest glibc with all functions that the library of a .deb calls."""
        folder = self.folder / package.name
        call("dpkg-deb", "-x", package, folder)
        library = next(folder.rglob("libtalus.so.0.*"))
        symbols = call("readelf", "--dyn-syms", "--wide", library)
        return ".".join(map(str, glibc_versions.newest(symbols)))

    def test_packages_depend_on_the_c_library_alone(self):
        for path in self.output.glob("libtalus0_*.deb"):
            self.assertRegex(call("dpkg-deb", "-f", path, "Depends"), r"^libc6 \(>= [\d.]+\)\n$")
        # For arm64 neither our list of functions nor Debian's asks for more than that.
        for path in self.output.glob("libtalus0_*_arm64.deb"):
            self.assertEqual(call("dpkg-deb", "-f", path, "Depends"),
                             f"libc6 (>= {self.oldest_c_library(path)})\n")
        for path in self.output.glob("libtalus0-*.rpm"):
            needed = {line.split("(")[0] for line in call("rpm", "-qpR", path).splitlines()}
            self.assertEqual(needed, {"/bin/sh", "libc.so.6", "libpthread.so.0", "rpmlib", "rtld"})

    def test_each_processor_has_all_kinds(self):
        for kind, pattern in (("deb", "*_{}.deb"), ("rpm", "*.{}.rpm")):
            if not list(self.output.glob(f"*.{kind}")):
                continue
            for wheel in self.output.glob("*-manylinux*.whl"):
                machine = wheel.stem.split("_", 3)[-1]
                if kind == "deb":
                    machine = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
                self.assertTrue(list(self.output.glob(pattern.format(machine))), machine)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
