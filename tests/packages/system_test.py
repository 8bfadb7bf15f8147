#!/usr/bin/env python3
# Installs the packages of dist/ on a fresh system of this machine's release, uses them, and removes
# them. Those for rpm are installed there too, by rpm without its dependencies, as the system's own
# packages are Debian's. Those of another processor are used in an emulator. It needs root,
# debootstrap and the network (tools/fresh), and what `make dist` has made; without them it is
# skipped (77). Nothing stays on this machine.
# Arguments: the source folder, deb or rpm, and the options below.
# SPDX-License-Identifier: MIT
"""Packages for Debian and for rpm are installed, used and removed, and leave nothing."""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("source", type=Path)
PARSER.add_argument("kind", choices=("deb", "rpm"))
PARSER.add_argument("--packages", type=Path, help="the folder of the packages")
PARSER.add_argument("--processor", default=platform.machine())
PARSER.add_argument("--inside", help=argparse.SUPPRESS)
ARGUMENTS = PARSER.parse_args()
SOURCE = ARGUMENTS.source.resolve()
KIND = ARGUMENTS.kind
PROCESSOR = ARGUMENTS.processor
IS_EMULATED = PROCESSOR != platform.machine()
PACKAGES = (ARGUMENTS.packages or SOURCE / "dist").resolve()
sys.path.insert(0, str(SOURCE / "tools/fresh"))

import emulator  # noqa: E402
import machine  # noqa: E402
import run as fresh  # noqa: E402

LISTED = """find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root \\
  -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \\) -prune \\
  -o -print | sort"""
# Systems of rpm have /usr/lib64, but Debian has it only for some processors.
BEFORE = f"""
mkdir -p /usr/lib64
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -qy --no-install-recommends gcc libc6-dev pkg-config {'rpm' * (KIND == 'rpm')}
{LISTED} >/tmp/before
"""
PROGRAM = """
cat >main.c <<'END'
#include <stdio.h>
#include <talus/talus.h>
int main(void) {
  void* block = talus_malloc(100);
  puts(talus_version());
  talus_free(block);
  return block == NULL;
}
END
"""
USE = {"deb": PROGRAM + """
export DEBIAN_FRONTEND=noninteractive
apt-get install -qy --no-install-recommends /packages/*.deb
talus run -- true
talus run -- grep -q /libtalus.so.0 /proc/self/maps || talus run -- grep libtalus /proc/self/maps
talus check -- /bin/sh
test -f /usr/share/man/man1/talus.1.gz
test -f /usr/share/doc/libtalus0/copyright
ldconfig -p | grep -q 'libtalus.so.0 '
cc main.c $(pkg-config --cflags --libs talus) -o main
test "$(./main)" = "$(pkg-config --modversion talus)"
cc -static main.c $(pkg-config --static --cflags --libs talus) -o main_static
test "$(./main_static)" = "$(./main)"
""", "rpm": PROGRAM + """
rpm --install --nodeps /packages/*.rpm
rpm --verify --nodeps libtalus0 talus-tools libtalus-dev
talus run -- true
talus run -- grep -q /lib64/libtalus.so /proc/self/maps
talus check -- /bin/sh
export PKG_CONFIG_PATH=/usr/lib64/pkgconfig LD_LIBRARY_PATH=/usr/lib64
cc main.c $(pkg-config --cflags --libs talus) -o main
test "$(./main)" = "$(pkg-config --modversion talus)"
"""}
REMOVE = {"deb": "apt-get purge -qy 'libtalus*' talus-tools",
          "rpm": "rpm -qa | grep talus | xargs rpm --erase --nodeps"}
LIST = {"deb": "dpkg -l", "rpm": "rpm -qa"}
AFTER = f"""
export DEBIAN_FRONTEND=noninteractive
{REMOVE[KIND]}
{LISTED} >/tmp/after
diff /tmp/before /tmp/after
! {LIST[KIND]} | grep -i talus
"""


def packages():
    """The packages of that processor, as each kind names it."""
    names = {"x86_64": "amd64", **machine.DEBIAN_NAMES} if KIND == "deb" else {}
    name = names.get(PROCESSOR, PROCESSOR)
    return [path for path in PACKAGES.glob(f"*.{KIND}") if path.stem.endswith(name)]


def inside(folder):
    """In namespaces of its own: the fresh system, and each step on it."""
    release = dict(line.split("=", 1)
                   for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    name = release.get("VERSION_CODENAME", "").strip('"')
    if name not in fresh.SYSTEMS:
        raise fresh.Skip(f"tools/fresh knows no system {name}")
    trees = os.environ.get("TALUS_FRESH_TREES") or f"{folder}/trees"
    os.makedirs(trees, exist_ok=True)
    processor = PROCESSOR if IS_EMULATED else None
    tree = f"{trees}/{name}-{processor}" if IS_EMULATED else f"{trees}/{name}"
    if not os.path.isdir(tree):
        machine.make_tree(fresh.SYSTEMS[name], tree, folder, processor)
    place = machine.Machine(tree, f"{folder}/work", True, processor)
    try:
        target = Path(place.root, "packages")
        target.mkdir()
        for path in packages():
            shutil.copy(path, target)
        for step in (BEFORE, USE[KIND], AFTER):
            place.run(step)
    finally:
        place.close()


def main():
    if ARGUMENTS.inside is not None:
        inside(ARGUMENTS.inside)
        return 0
    if not packages():
        print(f"skipped: no packages for {PROCESSOR} in {PACKAGES}: make dist")
        return 77
    try:
        command = fresh.namespaces()
        reason = emulator.missing(PROCESSOR) if IS_EMULATED else None
        if reason is not None:
            raise fresh.Skip(reason)
    except fresh.Skip as skip:
        print(f"skipped: {skip}")
        return 77
    folder = tempfile.mkdtemp(prefix=f"talus-{KIND}-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(folder, 0o755)
    try:
        return subprocess.run([*command, sys.executable, "-B", os.path.abspath(__file__), SOURCE,
                               KIND, "--packages", PACKAGES, "--processor", PROCESSOR,
                               "--inside", folder], check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
