# What it owns: the sources of a distribution's packages. The mirror is the one that this machine's
# apt uses for the distribution, or else debootstrap's default. Debian does not have Ubuntu's
# keyring. It comes from the mirror, and is trusted only if it has the fingerprint below.
# It must not know what is done with a system.
# SPDX-License-Identifier: MIT
"""Mirrors and keyrings for debootstrap."""

import glob
import gzip
import hashlib
import os
import re
import subprocess
import urllib.request

SCRIPTS = "/usr/share/debootstrap/scripts"
# debootstrap has these scripts for each distribution, even if it is older than the release.
OLD_SCRIPT = {"debian": "sid", "ubuntu": "gutsy"}
KEYRINGS = {"debian": "/usr/share/keyrings/debian-archive-keyring.gpg",
            "ubuntu": "/usr/share/keyrings/ubuntu-archive-keyring.gpg"}
# "Ubuntu Archive Automatic Signing Key (2018)".
UBUNTU_FINGERPRINT = "F6ECB3762474EDA9D21B7022871920D1991BC93C"
UBUNTU_KEY_FILE = "etc/apt/trusted.gpg.d/ubuntu-keyring-2018-archive.gpg"
WAIT_S = 30


def entries_of_list(text):
    """(URI, suite, components) of each binary source in the one-line form."""
    for line in text.splitlines():
        words = re.sub(r"\[[^\]]*\]", " ", line.split("#")[0]).split()
        if len(words) >= 3 and words[0] == "deb":
            yield words[1], words[2], words[3:]


def entries_of_sources(text):
    """The same for deb822: fields, which may continue on lines that begin with a space."""
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields, last = {}, None
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t") and last:
                fields[last] += line.split()
            elif ":" in line:
                last, value = line.split(":", 1)
                last = last.strip().lower()
                fields[last] = value.split()
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        for uri in fields.get("uris", []):
            for suite in fields.get("suites", []):
                yield uri, suite, fields.get("components", [])


def own_entries(folder="/etc/apt"):
    """All sources of this machine's apt."""
    for path in sorted([f"{folder}/sources.list", *glob.glob(f"{folder}/sources.list.d/*")]):
        form = entries_of_sources if path.endswith(".sources") else entries_of_list
        if not path.endswith((".list", ".sources")) or not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from form(file.read())


def own_release(path="/etc/os-release"):
    """This machine's distribution and the name of its release."""
    with open(path, encoding="utf-8") as file:
        fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return fields.get("ID", "").strip('"'), fields.get("VERSION_CODENAME", "").strip('"')


def own_mirror(distribution, entries, release):
    """The mirror of this distribution that apt uses here, or None."""
    here, codename = release
    if here != distribution:
        return None
    for uri, suite, components in entries:
        is_plain = re.match(r"https?://[^/@]+/|file:/|copy:/", uri)
        if suite in (codename, "stable", "testing", "sid") and "main" in components and is_plain:
            return uri.rstrip("/")
    return None


def default_mirror(distribution, architecture):
    """The default mirror of debootstrap, from its own script."""
    with open(f"{SCRIPTS}/{OLD_SCRIPT[distribution]}", encoding="utf-8") as file:
        named = re.findall(r"default_mirror\s+(\S+)", file.read())
    is_port = distribution == "ubuntu" and architecture not in ("amd64", "i386")
    fitting = [uri for uri in named if "old-releases" not in uri and ("ports" in uri) == is_port]
    return fitting[0] if fitting else None


def script_of(distribution, suite):
    """The script for debootstrap."""
    return suite if os.path.exists(f"{SCRIPTS}/{suite}") else OLD_SCRIPT[distribution]


def read(uri):
    with urllib.request.urlopen(uri, timeout=WAIT_S) as answer:
        return answer.read()


def fingerprints(keyring):
    """The fingerprints of the primary keys in a keyring: of each OpenPGP packet with tag 6."""
    at = 0
    while at < len(keyring):
        head = keyring[at]
        if head & 0x40:
            tag, size, at = head & 63, keyring[at + 1], at + 2
            if 192 <= size < 224:
                size, at = ((size - 192) << 8) + keyring[at] + 192, at + 1
            elif size == 255:
                size, at = int.from_bytes(keyring[at:at + 4], "big"), at + 4
        else:
            tag, width = (head >> 2) & 15, 1 << (head & 3)
            size, at = int.from_bytes(keyring[at + 1:at + 1 + width], "big"), at + 1 + width
        body = keyring[at:at + size]
        at += size
        if tag == 6:
            yield hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()


def keyring_from_mirror(mirror, suite, architecture, folder):
    """Ubuntu's keyring, unpacked below the folder. Raises ValueError if its fingerprint is
    another."""
    listing = read(f"{mirror}/dists/{suite}/main/binary-{architecture}/Packages.gz")
    text = gzip.decompress(listing).decode()
    name = re.search(r"^Package: ubuntu-keyring\n(?:.+\n)*?Filename: (\S+)$", text, re.M)[1]
    package = f"{folder}/keyring.deb"
    with open(package, "wb") as file:
        file.write(read(f"{mirror}/{name}"))
    subprocess.run(["dpkg-deb", "-x", package, f"{folder}/keyring"], check=True)
    path = f"{folder}/keyring/{UBUNTU_KEY_FILE}"
    with open(path, "rb") as file:
        found = list(fingerprints(file.read()))
    if found != [UBUNTU_FINGERPRINT]:
        raise ValueError(f"the mirror's keyring has the keys {found}")
    return path


def keyring_for(distribution, mirror, suite, architecture, folder):
    """The keyring that signs this distribution."""
    if os.path.exists(KEYRINGS[distribution]):
        return KEYRINGS[distribution]
    if distribution == "ubuntu":
        return keyring_from_mirror(mirror, suite, architecture, folder)
    raise FileNotFoundError(KEYRINGS[distribution])
