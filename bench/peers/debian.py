# Peers that the distribution ships as shared libraries.
#
# Owns: the search for each library, and its version. Nothing is built or changed; the flags are the
# packager's. A missing library is refused with the name of its package.
#
# SPDX-License-Identifier: MIT

import os
import platform
import re
from pathlib import Path

import library_table
from building import Build, PeerMissing

PACKAGED = ["as packaged by the distribution"]


def library_in_cache(build: Build, soname: str, package: str) -> str:
    """The real path of a library in the loader's cache. Raises PeerMissing if it is not there."""
    cache = build.run(["/sbin/ldconfig", "-p"])
    bits = "x86-64" if platform.machine() == "x86_64" else ""
    for match in re.finditer(rf"^\s*{re.escape(soname)} \((.*)\) => (\S+)$", cache, re.MULTILINE):
        if bits in match.group(1):
            return os.path.realpath(match.group(2))
    raise PeerMissing(f"{soname} is not installed (Debian: {package})")


def package_version(build: Build, package: str) -> str:
    """The upstream part of a package's version: 2.10 for 1:2.10-1."""
    try:
        full = build.run(["dpkg-query", "-W", "-f", "${Version}", package])
    except PeerMissing:  # another distribution: the library exists all the same
        return "unknown"
    return re.sub(r"-[^-]*$", "", full.partition(":")[2] or full)


def find_packaged(build: Build, peer: str, licence: str) -> dict:
    row = library_table.of_peer(peer)
    return {
        "path": library_in_cache(build, row.soname, row.package),
        "version": package_version(build, row.package), "flags": PACKAGED,
        "source": f"distribution, package {row.package}", "licence": licence,
    }


def find_jemalloc(build: Build) -> dict:
    entry = find_packaged(build, "jemalloc", "BSD-2-Clause")
    # jemalloc contains its version as text of the form 5.3.0-0-g<commit>.
    found = re.search(rb"(\d+\.\d+\.\d+)-\d+-g[0-9a-f]{8,}", Path(entry["path"]).read_bytes())
    return {**entry, "version": found.group(1).decode() if found else entry["version"]}


def find_gperftools(build: Build) -> dict:
    """The variant without heap checker and profiler, which is the fast one."""
    return find_packaged(build, "gperftools", "BSD-3-Clause")


def find_tbbmalloc(build: Build) -> dict:
    """The proxy has the libc names and loads libtbbmalloc.so.2, which has the allocator."""
    return find_packaged(build, "tbbmalloc", "Apache-2.0")


def find_scudo(build: Build) -> dict:
    """The Scudo of the newest installed LLVM."""
    newest = (0, None)
    name = f"{library_table.of_peer('scudo').library}-{platform.machine()}.so"
    for path in Path("/usr/lib").glob(f"llvm-*/lib/clang/*/lib/linux/{name}"):
        major = int(re.search(r"/llvm-(\d+)/", str(path)).group(1))
        newest = max(newest, (major, str(path)))
    major, path = newest
    if path is None:
        raise PeerMissing("Scudo is not installed (Debian: libclang-rt-22-dev, or the newest "
                          "libclang-rt-N-dev from 14 on)")
    package = f"libclang-rt-{major}-dev"
    return {
        "path": os.path.realpath(path), "version": package_version(build, package),
        "flags": PACKAGED, "source": f"distribution, package {package}",
        "licence": "Apache-2.0 WITH LLVM-exception",
    }
