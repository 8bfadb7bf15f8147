#!/usr/bin/env python3
# What it owns: `make dist`: the order of the steps, and the names of what is delivered.
# It needs what the build needs, and zstd; packages need dpkg-dev and rpm, and are left out, with
# one line, where these are missing.
# SPDX-License-Identifier: MIT
"""Makes everything that a release delivers, in dist/."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import abi  # noqa: E402
import archives  # noqa: E402
import bill  # noqa: E402
import stand_ins  # noqa: E402
import targets  # noqa: E402
import wheel  # noqa: E402

SOURCE = Path(__file__).resolve().parent.parent.parent
# Programs that each kind of package needs.
PACKAGE_TOOLS = {"DEB": ("dpkg-deb", "dpkg-shlibdeps", "objcopy"), "RPM": ("rpmbuild",)}
PACKAGE_ENDS = (".deb", ".ddeb", ".rpm")
# Debug information without gcc's tracking of assignments. With it, gcc 12 writes other places of a
# variable from one run to the next, as addresses are random. Their bytes are part of the build id,
# and so of the library. The code is the same with and without. A precompiled header has the same
# fault: it is another at each build, and so are places of variables (docs/releasing.md).
DEBUG_FLAGS = "-g -fno-var-tracking-assignments"
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: talus

Files: *
Copyright: 2026 The Talus authors
License: Expat
{licence}

Comment:
 The command talus contains libelf and libdw (LGPL-3.0-or-later), libiberty
 (LGPL-2.1-or-later), libstdc++ and libgcc (GPL-3.0-or-later with the GCC
 runtime exception), zlib, libevent, ncurses, fmt and CLI11.
 The source archive builds it with other versions of these.
"""
CHANGELOG = """talus ({version}-1) unstable; urgency=medium

  * Version {version}; CHANGELOG.md in the source archive lists the changes.

 -- The Talus authors <talus@localhost.localdomain>  {date}
"""


def version():
    header = (SOURCE / "include/talus/talus.h").read_text()
    return re.search(r'define TALUS_VERSION "([^"]+)"', header).group(1)


def call(*words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          **more)
    if done.returncode != 0:
        raise SystemExit(f"dist: {' '.join(map(str, words))}\n{done.stdout[-4000:]}")
    return done.stdout


class Dist:
    def __init__(self, output, build, jobs):
        self.output, self.build, self.jobs = output, build, jobs
        self.version = version()
        self.name = f"talus-{self.version}"
        self.time = archives.epoch(SOURCE)
        self.digests = {}
        self.environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.time), "TZ": "UTC",
                            "LC_ALL": "C.UTF-8"}

    def header(self):
        """The one file to copy."""
        call(sys.executable, "-B", SOURCE / "tools/amalgamate.py", "--alone",
             self.output / "talus.hpp")

    def sources(self):
        """What git tracks, and the time of the commit."""
        self.digests = archives.digests(SOURCE)
        entries = [(path, SOURCE / path) for path in self.digests
                   if path.name != archives.DATE_FILE]
        texts = [(archives.DATE_FILE, f"{self.time}\n".encode())]
        content = archives.tar_of(self.name, entries, self.time, texts)
        archives.write_gzip(self.output / f"{self.name}.tar.gz", content)

    def sources_stayed(self):
        """Ends the run where a source changed: the archive of sources would not make the rest."""
        changed = sorted(str(path) for path, _ in
                         set(self.digests.items()) ^ set(archives.digests(SOURCE).items()))
        if changed:
            raise SystemExit("dist: sources changed while this ran, so nothing here fits together: "
                             f"{' '.join(dict.fromkeys(changed))}")

    def configure(self, target, libdir, *more):
        flags = DEBUG_FLAGS + target.flags
        call("cmake", "-S", SOURCE, "-B", target.build, "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_C_FLAGS={flags}",
             f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
             "-DTALUS_TESTS=OFF", "-DTALUS_BENCH=OFF",
             # A build folder that is used again remembers what the last package was told. `more`
             # comes later, and counts.
             "-DTALUS_DEBIAN_TEXTS=", "-DTALUS_LIBC=",
             "-DCMAKE_INSTALL_PREFIX=/usr", f"-DCMAKE_INSTALL_LIBDIR={libdir}", *target.options,
             *more, env=self.environment)
        call("cmake", "--build", target.build, "-j", self.jobs, env=self.environment)

    def relocatable(self, target):
        """Trees that work wherever they are unpacked, for old glibc and for musl, and wheels."""
        for kind in ("gnu", "musl"):
            self.configure(target, "lib", "-DTALUS_STATIC_COMMAND=ON", self.stand_in(kind, target))
            if kind == "gnu" and target.machine == "x86_64":
                abi.check(SOURCE, target.build / "libtalus.so", self.output / Path(abi.KEPT).name)
            stage = self.tree(kind, target)
            if target.has_command:
                self.wheel(stage, target.machine)

    def wheel(self, stage, machine):
        wheel.write(self.output, SOURCE, stage / "bin/talus",
                    stage / f"lib/libtalus.so.{self.version}", self.version, self.time, machine)

    def stand_in(self, kind, target):
        """The option that links the library with a C library that is not this machine's."""
        folder = self.build / "stand-ins" / f"{target.machine}-{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        paths = (stand_ins.glibc(folder, target.compiler, target.machine) if kind == "gnu"
                 else stand_ins.musl(folder, target.compiler, target.machine))
        return f"-DTALUS_LIBC={';'.join(map(str, paths))}"

    def tree(self, kind, target):
        """Installs into a folder, and writes the archive of it. Returns the folder."""
        stage = self.build / f"stage-{target.machine}-{kind}"
        shutil.rmtree(stage, ignore_errors=True)
        call("cmake", "--install", target.build, "--prefix", stage)
        for path in sorted(stage.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix in (".a", ".o"):
                call(target.strip, "--strip-debug", "--enable-deterministic-archives", path)
            elif path.name == "talus" and path.parent.name == "bin" or ".so." in path.name:
                call(target.strip, path)
        entries = [(path.relative_to(stage), path) for path in stage.rglob("*")
                   if path.is_symlink() or path.is_file()]
        entries += [(name, SOURCE / name) for name in ("LICENSE", "CHANGELOG.md")]
        folder = f"{self.name}-{target.machine}-linux-{kind}"
        archives.write_zstd(self.output / f"{folder}.tar.zst",
                            archives.tar_of(folder, entries, self.time))
        return stage

    def crates(self):
        """The crates, as `cargo package` makes them; the header is made into a copy of theirs."""
        if shutil.which("cargo") is None:
            print("dist: no crates: cargo not found")
            return
        # In a clone of git's, cargo would write the commit into them.
        with tempfile.TemporaryDirectory(prefix="talus-crates-") as name:
            copy = Path(name, "rust")
            shutil.copytree(SOURCE / "packages/rust", copy,
                            ignore=shutil.ignore_patterns("target", "Cargo.lock"))
            shutil.copy(self.output / "talus.hpp", copy / "talus-sys")
            for crate in ("talus-sys", "talus"):
                shutil.copy(SOURCE / "LICENSE", copy / crate)
            call("cargo", "package", "--workspace", "--no-verify", "--allow-dirty", cwd=copy,
                 env={**self.environment, "CARGO_TARGET_DIR": f"{name}/target"})
            for path in Path(name, "target/package").glob("*.crate"):
                shutil.copy(path, self.output)

    def mend_debug_package(self, path):
        """CPack's packages of debug information lack what Debian's policy asks for."""
        name, package = path.name.split("_")[0], path.name.split("-dbgsym")[0]
        with tempfile.TemporaryDirectory(prefix="talus-debug-") as folder:
            tree = Path(folder, "tree")
            call("dpkg-deb", "-R", path, tree)
            (tree / "usr/share/doc").mkdir(parents=True)
            (tree / "usr/share/doc" / name).symlink_to(package)
            sums = "".join(f"{hashlib.md5(file.read_bytes()).hexdigest()}  "
                           f"{file.relative_to(tree)}\n"
                           for file in sorted(tree.glob("usr/lib/**/*.debug")))
            (tree / "DEBIAN/md5sums").write_text(sums)
            for part in [tree, *tree.rglob("*")]:
                if not part.is_symlink():
                    part.chmod(0o755 if part.is_dir() else 0o644)
            call("find", tree, "-exec", "touch", "-h", "-d", f"@{self.time}", "{}", "+")
            call("dpkg-deb", "--root-owner-group", "-Zxz", "-b", tree, path, env=self.environment)

    def debian_texts(self):
        """Copyright and changelog, as Debian's policy wants them."""
        folder = self.build / "debian-texts"
        folder.mkdir(exist_ok=True)
        licence = (SOURCE / "LICENSE").read_text().split("\n\n", 2)[2].strip()
        (folder / "copyright").write_text(COPYRIGHT.format(licence="\n".join(
            f" {line}" if line else " ." for line in licence.splitlines())))
        date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(self.time))
        archives.write_gzip(folder / "changelog.Debian.gz",
                            CHANGELOG.format(version=self.version, date=date).encode())
        return folder

    def packages(self, target, kind, libdir, *more):
        """Packages by CPack, or one line where its tools are missing."""
        missing = [name for name in PACKAGE_TOOLS[kind] if shutil.which(name) is None]
        if missing:
            print(f"dist: no {kind} packages: {', '.join(missing)} not found")
            return
        self.configure(target, libdir, *more)
        folder = target.build / "packages"
        shutil.rmtree(folder, ignore_errors=True)
        words = target.debian if kind == "DEB" else ()
        call("cpack", "-G", kind, "--config", target.build / "CPackConfig.cmake", "-B", folder,
             *words, env=self.environment, cwd=target.build)
        for path in folder.iterdir():
            if path.suffix in PACKAGE_ENDS:
                # Debian's repositories know packages of debug information as .deb, too.
                copy = self.output / path.name.replace(".ddeb", ".deb")
                shutil.copy(path, copy)
                if "-dbgsym_" in copy.name:
                    self.mend_debug_package(copy)

    def system_packages(self, target):
        """Those of Debian are for the release that builds them. The others are for all kin of
        Fedora."""
        if target.multiarch is not None:
            self.packages(target, "DEB", f"lib/{target.multiarch}", "-DTALUS_STATIC_COMMAND=OFF",
                          f"-DTALUS_DEBIAN_TEXTS={self.debian_texts()}")
        self.packages(target, "RPM", "lib64", "-DTALUS_STATIC_COMMAND=ON",
                      self.stand_in("gnu", target))

    def run(self):
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir(parents=True)
        self.header()
        self.sources()
        self.crates()
        served = [targets.own(self.build)]
        self.relocatable(served[0])
        other = targets.other(self.build)
        if other is not None:
            served.append(other)
            self.relocatable(other)
        served = [target for target in served if target.has_command]
        ninja_texts = [(target.build / "build.ninja").read_text() for target in served]
        for target in served:
            self.system_packages(target)
        (self.output / f"{self.name}.spdx.json").write_text(
            bill.bill(self.version, self.output, ninja_texts, self.time))
        self.sources_stayed()
        archives.write_sums(self.output)
        for path in sorted(self.output.iterdir()):
            print(f"{path.stat().st_size:>10}  {path.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=SOURCE / "dist")
    parser.add_argument("--build", type=Path, default=SOURCE / "build/dist")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if shutil.which("zstd") is None:
        raise SystemExit("dist: install zstd")
    Dist(arguments.output.resolve(), arguments.build.resolve(), arguments.jobs).run()


if __name__ == "__main__":
    main()
