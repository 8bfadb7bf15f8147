#!/usr/bin/env python3
# Installs the packages of dist/ on a fresh system of this machine's release, uses them, and removes
# them. Those for rpm are installed there too, by rpm without its dependencies, as the system's own
# packages are Debian's. It needs root, debootstrap and the network (tools/fresh), and what
# `make dist` has made; without them it is skipped (77). Nothing stays on this machine.
# Arguments: the source folder, deb or rpm, and optionally the folder of the packages.
# SPDX-License-Identifier: MIT
"""Packages for Debian and for rpm are installed, used and removed, and leave nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(sys.argv[1]).resolve()
KIND = sys.argv[2]
PACKAGES = Path(sys.argv[3] if len(sys.argv) > 3 else SOURCE / "dist").resolve()
sys.path.insert(0, str(SOURCE / "tools/fresh"))

import machine  # noqa: E402
import run as fresh  # noqa: E402

LISTED = """find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root \\
  -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \\) -prune \\
  -o -print | sort"""
BEFORE = f"""
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


def inside(folder):
    """In namespaces of its own: the fresh system, and each step on it."""
    release = dict(line.split("=", 1)
                   for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    name = release.get("VERSION_CODENAME", "").strip('"')
    if name not in fresh.SYSTEMS:
        raise fresh.Skip(f"tools/fresh knows no system {name}")
    trees = os.environ.get("TALUS_FRESH_TREES") or f"{folder}/trees"
    os.makedirs(trees, exist_ok=True)
    if not os.path.isdir(f"{trees}/{name}"):
        machine.make_tree(fresh.SYSTEMS[name], f"{trees}/{name}", folder)
    place = machine.Machine(f"{trees}/{name}", f"{folder}/work", True)
    try:
        target = Path(place.root, "packages")
        target.mkdir()
        for path in PACKAGES.glob(f"*.{KIND}"):
            shutil.copy(path, target)
        for step in (BEFORE, USE[KIND], AFTER):
            place.run(step)
    finally:
        place.close()


def main():
    if len(sys.argv) > 4:
        inside(sys.argv[4])
        return 0
    if not list(PACKAGES.glob(f"*.{KIND}")):
        print(f"skipped: no packages in {PACKAGES}: make dist")
        return 77
    try:
        command = fresh.namespaces()
    except fresh.Skip as skip:
        print(f"skipped: {skip}")
        return 77
    folder = tempfile.mkdtemp(prefix=f"talus-{KIND}-", dir=os.environ.get("TMPDIR", "/var/tmp"))
    os.chmod(folder, 0o755)
    try:
        return subprocess.run([*command, sys.executable, "-B", os.path.abspath(__file__), SOURCE,
                               KIND, PACKAGES, folder], check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
