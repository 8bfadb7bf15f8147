# What it owns: archives that are the same, to the byte, from whatever folder and at whatever time
# they are made: sorted, owned by root, with the time of the commit.
# It must not know what the files are for.
# SPDX-License-Identifier: MIT
"""Reproducible archives, and what a source tree consists of."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

# In the source archive, for builds without git: the time of its commit.
DATE_FILE = ".source-date"
NOT_SOURCES = {"__pycache__", ".git", ".cache"}
BUILT_AT_ROOT = {"build", "dist"}  # tools/dist is a source


def git(root, *words):
    """What git says, or nothing where this is no clone."""
    if not (root / ".git").exists():
        return None
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return done.stdout if done.returncode == 0 else None


def epoch(root):
    """The time that all files get: of the environment, of the commit, or of the archive."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = git(root, "log", "-1", "--format=%ct")
    if said is None:
        said = (root / DATE_FILE).read_text() if (root / DATE_FILE).exists() else "0"
    return int(said)


def sources(root):
    """The paths of all sources, below `root`."""
    said = git(root, "ls-files", "-z")
    if said is not None:
        names = (name for name in said.split("\0") if name)
    else:
        names = (path.relative_to(root) for path in root.rglob("*"))
    paths = {Path(name) for name in names}
    paths = {path for path in paths if path.parts[0] not in BUILT_AT_ROOT and
             not NOT_SOURCES & set(path.parts)}
    return sorted(path for path in paths
                  if (root / path).is_symlink() or (root / path).is_file())


def add(tar, name, path, time):
    """One file or link, as everybody may read it."""
    item = tar.gettarinfo(path, name)
    item.uid = item.gid = 0
    item.uname = item.gname = "root"
    item.mtime = time
    if item.issym():
        item.mode = 0o777
        tar.addfile(item)
        return
    item.mode = 0o755 if item.mode & 0o100 else 0o644
    if item.islnk():  # a second name of the same file is a file
        item.type = tarfile.REGTYPE
        item.size = os.path.getsize(path)
    with open(path, "rb") as file:
        tar.addfile(item, file)


def tar_of(folder, entries, time, texts=()):
    """A tar in memory: `entries` are (name, path), `texts` are (name, bytes), below `folder`."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sorted(entries, key=lambda entry: str(entry[0])):
            add(tar, f"{folder}/{name}", path, time)
        for name, text in texts:
            item = tarfile.TarInfo(f"{folder}/{name}")
            item.size, item.mtime, item.mode = len(text), time, 0o644
            item.uname = item.gname = "root"
            tar.addfile(item, io.BytesIO(text))
    return output.getvalue()


def write_gzip(path, content):
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def write_zstd(path, content):
    done = subprocess.run(["zstd", "-q", "-19", "-c"], input=content, stdout=subprocess.PIPE,
                          check=True)
    path.write_bytes(done.stdout)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(root):
    """What each source has in it, in the order of their paths."""
    return {path: digest(root / path) if (root / path).is_file() else os.readlink(root / path)
            for path in sources(root)}


def write_sums(folder):
    """SHA256SUMS of all files of the folder, for `sha256sum -c`."""
    names = sorted(path.name for path in folder.iterdir()
                   if path.is_file() and path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text(
        "".join(f"{digest(folder / name)}  {name}\n" for name in names))
