#!/usr/bin/env python3
# Packages the crates as `make dist` does, builds them from their packages, and runs their tests
# and a program of another folder on them. Links a program without crates with the archive. Without
# cargo it is skipped (77).
# Arguments: the source folder, and optionally libtalus.a, beside which talus.o lies.
# SPDX-License-Identifier: MIT
"""The crates are packaged and used."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tarfile
from pathlib import Path

from called import call

SOURCE = Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tools/dist"))

import dist  # noqa: E402

MANIFEST = """[package]
name = "user"
version = "1.0.0"
edition = "2021"

[dependencies]
talus = "={version}"

[patch.crates-io]
talus = {{ path = "{folder}/talus-{version}" }}
talus-sys = {{ path = "{folder}/talus-sys-{version}" }}
"""
PROGRAM = """#[global_allocator]
static GLOBAL: talus::Talus = talus::Talus;

fn main() {
    let held = vec![1u8; 10 << 20];
    assert!(talus::stats().live_bytes >= held.len());
    println!("{}", talus::version());
}
"""

# Its malloc is the C library's, unless the linker is told otherwise.
PLAIN = """fn main() {
    let threads: Vec<_> = (0..4).map(|i| std::thread::spawn(move || vec![i; 100000])).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().len(), 100000);
    }
}
"""


def has_talus(folder, target, *words):
    """Whether the plain program has Talus's malloc with these words for rustc; None: no program."""
    program = folder / "plain"
    program.unlink(missing_ok=True)
    done = subprocess.run(["rustc", "--target", target, folder / "plain.rs", "-o", program, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        assert "__libc_malloc" in done.stdout, done.stdout
        return None
    return call(program, env={"TALUS_PRINT_STATS": "stdout"}).startswith("talus ")


def links(archive, folder, installed):
    """What docs/install.md says of the archive and talus.o."""
    (folder / "plain.rs").write_text(PLAIN)
    by_name = ["-L", archive.parent, "-l", "static=talus"]
    asked = ["-C", "link-arg=-Wl,-u,malloc"]
    behind = ["-C", f"link-arg={archive.with_name('talus.o')}"]
    for kind in ("gnu", "musl"):
        target = f"{platform.machine()}-unknown-linux-{kind}"
        if target not in installed:
            continue
        for words in ([*by_name, *asked], [*asked, *by_name]):
            assert has_talus(folder, target, *words), (kind, words)
        assert has_talus(folder, target, "-C", f"link-arg={archive}") is False, kind
        assert has_talus(folder, target, *behind) is (True if kind == "gnu" else None), kind


def targets():
    """What rustup has installed standard libraries for."""
    if shutil.which("rustup") is None:
        return []
    return call("rustup", "target", "list", "--installed").split()


def main():
    if shutil.which("cargo") is None:
        print("skipped: there is no cargo here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
        made = dist.Dist(folder / "dist", folder / "build", 1)
        made.output.mkdir()
        made.build.mkdir()
        made.header()
        made.crates()
        version = made.version
        for crate in ("talus-sys", "talus"):
            path = folder / f"dist/{crate}-{version}.crate"
            with tarfile.open(path) as archive:
                archive.extractall(folder)
        sys_names = os.listdir(folder / f"talus-sys-{version}")
        assert {"talus.hpp", "talus_sys.cpp", "LICENSE"} <= set(sys_names), sys_names
        # Without Python: what is packaged is all that it needs.
        user = folder / "user"
        (user / "src").mkdir(parents=True)
        (user / "Cargo.toml").write_text(MANIFEST.format(version=version, folder=folder))
        (user / "src/main.rs").write_text(PROGRAM)
        said = call("cargo", "run", "-q", "--release", cwd=user, env=environment)
        assert said == f"{version}\n", said
        call("cargo", "test", "-q", "--release", "-p", "talus", cwd=user, env=environment)
        musl = f"{platform.machine()}-unknown-linux-musl"
        if musl in targets():
            # The C++ file needs no C++ runtime, so the machine's own compiler serves.
            compiler = {f"CXX_{musl.replace('-', '_')}": "g++"}
            said = call("cargo", "run", "-q", "--release", "--target", musl, cwd=user,
                        env={**environment, **compiler})
            assert said == f"{version}\n", said
        if len(sys.argv) > 2:
            links(Path(sys.argv[2]).resolve(), folder, targets())
    return 0


if __name__ == "__main__":
    sys.exit(main())
