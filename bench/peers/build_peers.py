#!/usr/bin/env python3
# Peer allocators: gets the allocators that Talus is measured against and describes them.
#
# Owns: which peers there are, where their source comes from, and with which flags they are built.
# Invariant: a peer is either described in peers.json with an existing library, or recorded there
# with the reason why it could not be had; a missing peer never fails the build.
# mimalloc 3 is built from the C source inside the crate libmimalloc-sys, pinned by Cargo.lock,
# with the flags of mimalloc's own CMake release build, because a peer that was built worse than
# its authors build it proves nothing. jemalloc is the distribution's shared library.
#
# SPDX-License-Identifier: MIT
"""Usage: build_peers.py OUTPUT_FOLDER [--cc gcc]"""

import argparse
import ctypes.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The flags that mimalloc's CMakeLists.txt gives its shared library in a release build on Linux
# (MI_OVERRIDE on, MI_OPT_ARCH off, both its defaults).
MIMALLOC_FLAGS = [
    "-O3", "-DNDEBUG", "-DMI_BUILD_RELEASE", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB",
    "-DMI_SHARED_LIB_EXPORT", "-std=gnu11", "-fPIC", "-fvisibility=hidden",
    "-ftls-model=initial-exec", "-fno-builtin-malloc", "-Wno-unknown-pragmas",
]
MIMALLOC_LIBRARIES = ["-lpthread", "-lrt"]


class PeerMissing(Exception):
    """Says in one sentence why a peer cannot be measured."""


def run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PeerMissing(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip()[-600:]
        raise PeerMissing(f"{' '.join(command[:3])}... failed with {done.returncode}: {tail}")
    return done.stdout


def crate_folder(crate: str) -> tuple[Path, str]:
    """Lets Cargo fetch the locked crates and returns where the crate's source lies."""
    manifest = str(HERE / "Cargo.toml")
    run(["cargo", "fetch", "--locked", "--manifest-path", manifest])
    metadata = json.loads(run(["cargo", "metadata", "--format-version", "1", "--locked",
                               "--offline", "--manifest-path", manifest]))
    for package in metadata["packages"]:
        if package["name"] == crate:
            return Path(package["manifest_path"]).parent, package["version"]
    raise PeerMissing(f"Cargo.lock does not hold {crate}")


def find_mimalloc3(crate: Path) -> tuple[Path, str]:
    """The folder of the mimalloc source whose major version is 3, and its full version."""
    for header in sorted(crate.glob("c_src/**/include/mimalloc.h")):
        match = re.search(r"#define\s+MI_MALLOC_VERSION\s+(\d+)", header.read_text())
        folder = header.parent.parent
        if not match or not (folder / "src/static.c").is_file():
            continue
        number = match.group(1)  # major, two digits minor, two digits patch
        if number[0] == "3":
            return folder, f"{number[0]}.{int(number[1:3])}.{int(number[3:5])}"
    raise PeerMissing(f"no mimalloc 3 source in {crate.name}")


def build_mimalloc3(output: Path, compiler: str) -> dict:
    crate, crate_version = crate_folder("libmimalloc-sys")
    source, version = find_mimalloc3(crate)
    library = output / "libmimalloc3.so"
    compile_command = [compiler, *MIMALLOC_FLAGS, "-shared", f"-I{source / 'include'}",
                       f"-I{source / 'src'}", str(source / "src/static.c"), "-o", str(library),
                       *MIMALLOC_LIBRARIES]
    run(compile_command)
    symbols = run(["nm", "-D", "--defined-only", str(library)])
    for name in ("malloc", "free", "calloc", "realloc", "posix_memalign", "mi_collect"):
        if not re.search(rf" [TWi] {name}$", symbols, re.MULTILINE):
            raise PeerMissing(f"the library built does not define {name}")
    return {
        "name": "mimalloc3", "version": version, "path": str(library),
        "flags": MIMALLOC_FLAGS + MIMALLOC_LIBRARIES,
        "compiler": run([compiler, "--version"]).splitlines()[0],
        "source": f"crate libmimalloc-sys {crate_version}",
    }


def find_jemalloc() -> dict:
    soname = ctypes.util.find_library("jemalloc")
    if soname is None:
        raise PeerMissing("libjemalloc is not installed (Debian: libjemalloc2)")
    # The loader's cache knows the folder; ctypes gives only the soname.
    cache = run(["/sbin/ldconfig", "-p"])
    match = re.search(rf"^\s*{re.escape(soname)} .*=> (\S+)$", cache, re.MULTILINE)
    if not match:
        raise PeerMissing(f"{soname} is not in the loader's cache")
    path = os.path.realpath(match.group(1))
    # jemalloc keeps its version as text of the form 5.3.0-0-g<commit>.
    found = re.search(rb"(\d+\.\d+\.\d+)-\d+-g[0-9a-f]{8,}", Path(path).read_bytes())
    return {
        "name": "jemalloc", "version": found.group(1).decode() if found else "unknown",
        "path": path, "flags": ["as packaged by the distribution"], "source": "distribution",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Build and describe the peer allocators.")
    parser.add_argument("output", type=Path, help="folder for the libraries and peers.json")
    parser.add_argument("--cc", default="gcc", help="C compiler (default gcc)")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)

    peers, missing = [], []
    makers = {
        "jemalloc": find_jemalloc,
        "mimalloc3": lambda: build_mimalloc3(output, arguments.cc),
    }
    for name, make in makers.items():
        try:
            peer = make()
            peers.append(peer)
            print(f"{name} {peer['version']}: {peer['path']}")
        except PeerMissing as reason:
            missing.append({"name": name, "reason": str(reason)})
            print(f"{name} left out: {reason}", file=sys.stderr)
    (output / "peers.json").write_text(
        json.dumps({"peers": peers, "missing": missing}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
