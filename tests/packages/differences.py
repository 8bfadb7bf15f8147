# What it owns: where two deliveries differ: the file, the member of an archive, and in it the
# section of an ELF file. Archives within archives are opened, too.
# It must not know which files a delivery has.
# SPDX-License-Identifier: MIT
"""Names what differs between two folders of archives, packages and libraries."""

import io
import itertools
import struct
import subprocess
import tarfile
import zipfile

ZSTD = b"\x28\xb5\x2f\xfd"
RPM = b"\xed\xab\xee\xdb"
TARS = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh")
AR = b"!<arch>\n"
LISTED_MAX = 60


def named(pairs):
    """A dictionary of members, where a name that occurs again gets a number."""
    found = {}
    for name, content in pairs:
        number = next(n for n in itertools.count() if (f"{name}#{n}" if n else name) not in found)
        found[f"{name}#{number}" if number else name] = content
    return found


def tar_members(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for item in tar:
            words = f"{item.name} ({item.mode:o} {item.uname} {item.mtime} {item.linkname})"
            yield item.name, tar.extractfile(item).read() if item.isreg() else words.encode()


def ar_members(content):
    at = len(AR)
    long_names = b""
    while at + 60 <= len(content):
        name, size = content[at:at + 16].decode().rstrip(), int(content[at + 48:at + 58])
        data = content[at + 60:at + 60 + size]
        at += 60 + size + size % 2
        if name == "//":
            long_names = data
        elif name[:1] == "/" and name[1:].isdigit():
            name = long_names[int(name[1:]):].split(b"/\n")[0].decode()
        yield name.rstrip("/") or "(symbols)", data


def rpm_members(path):
    """The digests of the files in a package of rpm."""
    said = subprocess.run(["rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEDIGESTS}\n]", path],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in said.splitlines():
        name, _, digest = line.partition(" ")
        yield name, digest.encode()


def sections(content):
    """The sections of an ELF file for 64-bit little-endian processors."""
    start, = struct.unpack_from("<Q", content, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", content, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", content, start + i * size) for i in range(count)]
    names = content[rows[names_at][4]:][:rows[names_at][5]] if rows else b""
    yield "(header)", content[:0x28]
    for name, kind, _, _, offset, length in rows:
        is_empty = kind == 8  # .bss
        yield (names[name:].split(b"\0")[0].decode(),
               str(length).encode() if is_empty else content[offset:offset + length])


def members(content, path=None):
    """What an archive, a package or an ELF file consists of, or None for any other file."""
    if content.startswith(ZSTD):
        return members(subprocess.run(["zstd", "-dcq"], input=content, stdout=subprocess.PIPE,
                                      check=True).stdout)
    try:
        if content[257:262] == b"ustar" or content.startswith(TARS):
            return named(tar_members(content))
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return named((name, archive.read(name)) for name in archive.namelist())
        if content.startswith(RPM) and path is not None:
            return named(rpm_members(path))
    except (tarfile.TarError, zipfile.BadZipFile, OSError, subprocess.CalledProcessError):
        return None  # gzip of a single file, or no tool
    if content.startswith(AR):
        return named(ar_members(content))
    if content.startswith(b"\x7fELF\x02\x01"):
        return named(sections(content))
    return None


def between(name, first, again, paths=(None, None)):
    """Lines that say where the bytes differ; none where they are equal."""
    if first == again:
        return
    parts = [members(content, path) for content, path in zip((first, again), paths)]
    if None in parts:
        at = next((i for i, (one, two) in enumerate(zip(first, again)) if one != two),
                  min(len(first), len(again)))
        yield f"{name}: from byte {at} on, of {len(first)} and {len(again)}"
        return
    found = False
    for part in sorted(set(parts[0]) | set(parts[1])):
        one, two = (side.get(part) for side in parts)
        if None in (one, two):
            yield f"{name}/{part}: only in the {'first' if two is None else 'second'}"
            found = True
            continue
        for line in between(f"{name}/{part}", one, two):
            yield line
            found = True
    if not found:
        yield f"{name}: members are equal; their order, times or the compression differ"


def folders(first, again):
    """The same for the files of two folders. Returns (names of files, lines)."""
    names = {path.name for folder in (first, again) for path in folder.iterdir()}
    differing, lines = [], []
    for name in sorted(names - {"SHA256SUMS"}):
        paths = [folder / name for folder in (first, again)]
        if not all(path.is_file() for path in paths):
            lines.append(f"{name}: only in one")
            differing.append(name)
            continue
        found = list(between(name, *(path.read_bytes() for path in paths), paths))
        if found:
            differing.append(name)
            lines += found
    return differing, lines[:LISTED_MAX]
