#!/usr/bin/env python3
# What it owns: the walk over the tree and the report. It applies rules.py and floors.py to each
# source and tracked.py to each tracked file. It drops the findings that src/README.md excepts by
# name. It prints one line for each finding (file:line: rule: what to do) and exits 1 if there was
# any.
# It must stay under four seconds on the whole tree, because each test run includes it.
# SPDX-License-Identifier: MIT
"""Checks the rules of the house; see src/README.md for the floors and the exceptions."""

import argparse
import concurrent.futures
import functools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import floors        # noqa: E402
import levels        # noqa: E402
import owners        # noqa: E402
import plain_words   # noqa: E402
import promises      # noqa: E402
import rules         # noqa: E402
import source_text   # noqa: E402
import tables        # noqa: E402
import tracked       # noqa: E402

SKIPPED_FOLDERS = {"__pycache__", "node_modules", "target", "CMakeFiles", "Testing"}
SHOWN_HIDDEN_FOLDERS = {".ci", ".github"}
PARALLEL_FILES_MIN = 200  # fewer are checked before other processes have begun


def walk(root):
    """Paths from the root of all files that are part of the tree, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        is_root = os.path.samefile(folder, root)
        folders[:] = sorted(
            name for name in folders
            if name not in SKIPPED_FOLDERS
            and not (is_root and (name.startswith("build") or name == "dist"))
            and (not name.startswith(".") or name in SHOWN_HIDDEN_FOLDERS)
            and not os.path.exists(os.path.join(folder, name, "CMakeCache.txt")))
        found += [os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                  for name in names if os.path.isfile(os.path.join(folder, name))]
    return sorted(found)


def source_files(root):
    """The files with a language, which rules.py and floors.py check."""
    return [path for path in walk(root) if rules.kind_of(path)]


def check_file(root, path, house, retired):
    """Yields (line, rule, what to do) for one file."""
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        yield 1, "encoding", "save the file as UTF-8"
        return
    kind = rules.kind_of(path)
    yield from rules.check_name(path)
    yield from rules.check_test_is_built(root, path)
    if kind == "doc":
        yield from rules.check_links(root, path, text)
        return
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    yield from rules.check_limits(path, lines)
    yield from rules.check_head(lines, kind == "cpp", path.startswith("tests/"))
    if kind == "cpp":
        code, comments, strings = source_text.split_cpp(text)
        yield from rules.check_edges(lines)
        yield from plain_words.check_cpp(path, code, comments, strings, retired)
    else:
        code, comments = "", source_text.hash_comments(text)
        yield from plain_words.check_hash(path, text, comments, retired)
    yield from rules.check_functions(path, text, code)
    yield from rules.check_banned(code, comments)
    yield from rules.check_doc_paths(root, comments)
    if path.startswith("src/"):
        yield from floors.check_place(path, house)
        if kind == "cpp":
            yield from floors.check_includes(root, path, code, house)
            yield from floors.check_namespaces(code)
            yield from floors.check_atomics(path, code, comments, house)


def findings_of_file(root, house, retired, path):
    return [(path, *finding) for finding in check_file(root, path, house, retired)]


def check_files(root, paths, house, retired):
    """All findings that need one file alone; of a large tree, on all processors."""
    check = functools.partial(findings_of_file, root, house, retired)
    if len(paths) < PARALLEL_FILES_MIN:
        return [finding for path in paths for finding in check(path)]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        return [finding for found in pool.map(check, paths, chunksize=20) for finding in found]


def check_tree(root):
    """All findings of a tree as (file, line, rule, what to do), without the exceptions."""
    house_path = os.path.join(root, "src", "README.md")
    if not os.path.isfile(house_path):
        return [("src/README.md", 1, "house", "write the list of floors")]
    with open(house_path, encoding="utf-8") as file:
        house_text = file.read()
    house = floors.House(house_text)
    findings = [("src/README.md", line, "house", what) for line, what in house.problems]
    retired = plain_words.RetiredWords(house_text)
    findings += [(tables.PAGE, *finding) for finding in retired.problems]
    paths = source_files(root)
    findings += [(tables.PAGE, *finding)
                 for finding in tables.check_tables(root, house_text, paths)]
    findings += check_files(root, paths, house, retired)
    findings += levels.check_levels(root, paths)
    findings += owners.check_owners(root, house_text, paths)
    findings += promises.check_density(root, paths)
    git_paths = tracked.git_paths(root)
    for path in walk(root) if git_paths is None else git_paths:
        findings += [(path, *finding) for finding in tracked.check_tracked(root, path)]
    kept, silenced = [], set()
    excepted = {(rule, file): row for row in house.exceptions for rule, file in [row[1:3]]}
    for finding in findings:
        key = (finding[2], finding[0])
        if key in excepted:
            silenced.add(key)
        else:
            kept.append(finding)
    for key, row in excepted.items():
        if key not in silenced:
            kept.append(("src/README.md", row[0], "stale-exception",
                         f"delete the row: {key[1]} does not break '{key[0]}'"))
    return sorted(kept)


def main(arguments):
    default_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=default_root, help="root of the tree")
    options = parser.parse_args(arguments)
    root = os.path.abspath(options.root)
    findings = check_tree(root)
    for path, line, rule, what in findings:
        print(f"{path}:{line}: {rule}: {what}")
    print(f"tidy: {len(source_files(root))} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
