# What it owns: the processors that are served: for each the compiler, the folder of its build, and
# what CMake and CPack must be told. This machine's own comes first. The other one needs a cross
# compiler, and archives for the command (docs/releasing.md); what is missing is said in one line.
# It must not know what is delivered.
# SPDX-License-Identifier: MIT
"""The processors that are served."""

import os
import platform
import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

CROSS = "aarch64"
CROSS_DEBIAN = "arm64"
TRIPLET = f"{CROSS}-linux-gnu"
# Libraries of the C library that the command and the library may name.
C_LIBRARIES = ("libc.so.6", "libm.so.6", f"ld-linux-{CROSS}.so.1")
# Debian's cross compiler has the arm64 C library by this package. It says which package of an arm64
# system a program for it depends on.
SHLIBS = Path(f"/var/lib/dpkg/info/libc6-{CROSS_DEBIAN}-cross.shlibs")

READELF = f"{TRIPLET}-readelf"
# A line of its table for a defined symbol: the name and the version.
DEFINED = re.compile(r" (?!UND)\S+ ([^\s@]+)@@?(GLIBC_\S+)$", re.M)

# machine: as uname names it; build: the folder; options: CMake's; flags: more of the compiler's.
# multiarch: Debian's folder of libraries, or None where no .deb can be made; debian: CPack's words
# for a .deb.
Target = namedtuple("Target", "machine build compiler strip options flags has_command multiarch"
                    " debian")


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def own(build):
    """This machine's processor."""
    multiarch = None
    if shutil.which("dpkg-architecture"):
        multiarch = output_of("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    return Target(platform.machine(), build, "cc", "strip", (), "", True, multiarch, ())


def other(build):
    """The other processor, after this machine's own was built in `build`, or None."""
    if platform.machine() == CROSS:
        return None
    compilers = [f"{TRIPLET}-{name}" for name in ("gcc", "g++", "strip")]
    missing = [name for name in compilers if shutil.which(name) is None]
    if missing:
        print(f"dist: nothing for {CROSS}: {', '.join(missing)} not found")
        return None
    options = [f"-DCMAKE_C_COMPILER={compilers[0]}", f"-DCMAKE_CXX_COMPILER={compilers[1]}",
               "-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={CROSS}"]
    command = other_command(build)
    target = Target(CROSS, build / CROSS, compilers[0], compilers[2], options, "", False, None, ())
    if command is None:
        return target._replace(options=[*options, "-DTALUS_TOOLS=OFF"])
    target = target._replace(options=options + command[0], flags=command[1], has_command=True)
    if not SHLIBS.exists():
        print(f"dist: no .deb for {CROSS}: {SHLIBS} not found")
        return target
    return target._replace(multiarch=TRIPLET, debian=debian_words(target))


def other_command(build):
    """Options and flags of the compiler for the command of the other processor, or None.

    Debian's packages for that processor have their archives where its compiler looks. Where these
    are only unpacked, DIST_CROSS_SYSTEM names the folder. Talus would complain of a name that
    begins with its own."""
    folder = Path(os.environ.get("DIST_CROSS_SYSTEM") or "/").resolve()
    place = folder / f"usr/lib/{TRIPLET}"
    if not (place / "libelf.a").exists():
        print(f"dist: no command, wheels and packages for {CROSS}: {place}/libelf.a not found")
        return None
    # What has no code is this machine's; the texts of manual pages are the same for each processor.
    cache = (build / "CMakeCache.txt").read_text()
    options = [f"-D{name}_DIR={re.search(f'^{name}_DIR:PATH=(.*)', cache, re.M).group(1)}"
               for name in ("fmt", "CLI11", "nlohmann_json")]
    options += ["-DTALUS_TOOLS=ON", f"-DTALUS_MANUAL_PAGES={build}/tools/man"]
    if folder == Path("/"):
        return options, ""
    include = folder / "usr/include"
    return ([*options, f"-DCMAKE_EXE_LINKER_FLAGS=-L{place}"],
            f" -ffile-prefix-map={folder}= -isystem {include}/{TRIPLET} -isystem {include}")


def symbols_of(name, table, shlibs):
    """Lines of a symbols file: each function of the library, and the release that it needs.

    The function's version names that release. A function with a private version needs the release
    at hand, which the shlibs file has."""
    package, release = re.search(r"^libc \d+ (\S+) \(>= ([^)]+)\)$", shlibs, re.M).groups()
    lines = [f"{name} {package} #MINVER#"]
    for symbol, version in sorted(set(DEFINED.findall(table))):
        number = version.split("_")[1]
        lines.append(f" {symbol}@{version} {release if number == 'PRIVATE' else number}")
    return lines


def c_library(target):
    """A folder that looks like Debian's package of the other processor's C library.

    It has the libraries, the package's own shlibs file, and a symbols file made from the
    libraries. The cross compiler's package brings no symbols file."""
    folder = target.build / "c-library"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "DEBIAN").mkdir(parents=True)
    shlibs = SHLIBS.read_text().replace(f":{CROSS_DEBIAN}", "")
    (folder / "DEBIAN/shlibs").write_text(shlibs)
    place = folder / f"lib/{TRIPLET}"
    place.mkdir(parents=True)
    symbols = []
    for name in C_LIBRARIES:
        path = output_of(target.compiler, f"-print-file-name={name}").strip()
        shutil.copy(path, place / name)
        table = output_of(READELF, "--dyn-syms", "--wide", place / name)
        symbols += symbols_of(name, table, shlibs)
    (folder / "DEBIAN/symbols").write_text("\n".join(symbols) + "\n")
    return folder


def debian_words(target):
    """CPack's words for a .deb of the other processor.

    By itself dpkg-shlibdeps would name the cross compiler's package."""
    return ("-D", f"CPACK_DEBIAN_PACKAGE_ARCHITECTURE={CROSS_DEBIAN}", "-D",
            f"SHLIBDEPS_EXECUTABLE=env;DEB_HOST_ARCH={CROSS_DEBIAN};dpkg-shlibdeps;"
            f"-S{c_library(target)}")
