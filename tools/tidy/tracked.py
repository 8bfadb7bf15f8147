# What it owns: which files git tracks, and the rules on any of them, whatever its language. No file
# may be binary, large or a build output. Without git (an unpacked archive) all files of the tree
# count as tracked, except for build folders and hidden ones.
# It must not know what a language is (rules.py) nor the floors (floors.py).
# SPDX-License-Identifier: MIT
"""Rules on tracked files."""

import os
import re
import subprocess

FILE_BYTES_MAX = 256 * 1024
OUTPUT_FOLDERS = {"CMakeFiles", "__pycache__", "node_modules"}
OUTPUT_NAMES = {"CMakeCache.txt", "CTestTestfile.cmake", "build.ninja", "compile_commands.json",
                "cmake_install.cmake", "install_manifest.txt", "a.out", "core", "perf.data",
                ".ninja_deps", ".ninja_log"}
OUTPUT_ENDINGS = re.compile(
    r"\.(?:o|obj|a|lo|la|so(?:\.\d+)*|dll|exe|gch|pch|pyc|pyo|gcda|gcno|profraw|profdata|class)$"
    r"|^(?:callgrind|massif|cachegrind)\.out\b|^core\.\d+$|^vgcore\.\d+$")
BINARY_HEADS = {b"\x7fELF": "ELF", b"!<arch>\n": "an archive", b"!<thin>\n": "an archive"}


def git_paths(root):
    """Paths from the root of all files that git tracks, or None where git does not know it."""
    # A hook sets variables that name another repository.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("GIT_")}

    def git(*words):
        return subprocess.run(["git", "-C", root, *words], capture_output=True, check=True,
                              env=environment).stdout

    try:
        top = git("rev-parse", "--show-toplevel").decode().rstrip("\n")
        if not os.path.samefile(top, root):
            return None
        listed = git("ls-files", "-z").decode("utf-8", "surrogateescape")
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted(path for path in listed.split("\0") if path)


def check_output(path):
    parts = path.split("/")
    name = parts[-1]
    is_below_output = (OUTPUT_FOLDERS.intersection(parts[:-1])
                       or (len(parts) > 1 and (parts[0].startswith("build") or parts[0] == "dist")))
    if is_below_output or name in OUTPUT_NAMES or OUTPUT_ENDINGS.search(name):
        yield 1, "build-output", f"git rm --cached '{path}': build outputs stay out of git"


def check_content(content):
    for head, what in BINARY_HEADS.items():
        if content.startswith(head):
            yield 1, "binary", f"git rm --cached: it is {what}; keep its source and how to build it"
            return
    nul = content.find(b"\0")
    if nul >= 0:
        line = content.count(b"\n", 0, nul) + 1
        yield line, "binary", "git rm --cached: a NUL byte; keep text, or the source of this file"


def check_size(size):
    if size > FILE_BYTES_MAX:
        yield 1, "file-size", (f"{size // 1024} KiB: keep a summary or the source of this file "
                               f"(at most {FILE_BYTES_MAX // 1024} KiB)")


def check_tracked(root, path):
    """Yields (line, rule, what to do) for one tracked file."""
    full = os.path.join(root, path)
    if os.path.islink(full) or not os.path.isfile(full):
        return  # a link has no content, and a deleted file will leave git
    found = list(check_output(path))
    if not found:
        with open(full, "rb") as file:
            found = list(check_content(file.read()))
    yield from found
    if not found:
        yield from check_size(os.path.getsize(full))
