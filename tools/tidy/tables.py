# What it owns: the comparison of tables of src/README.md with the code: first files, hooks, terms
# and lock ranks.
# A hook is a function that a lower file declares and a higher file defines. Each hook is an
# exception to the floors, so readers must be able to find it. A glossary term that the code does
# not use is stale.
# It must not know the floors (floors.py) nor how a finding is printed.
# SPDX-License-Identifier: MIT
"""Checks the tables of first files, hooks, terms and lock ranks against the sources."""

import os
import re

import source_text

TERMS_MAX = 40
PAGE = "src/README.md"
RANKS = "src/sync/lock_rank.hpp"
HOOK = re.compile(r"\bTALUS_HOOK\s[^;{}()]*?\b(\w+)\s*\([^;{}]*\)[^;{}]*?([;{])")


def rows_of(text, section):
    """(line, cells) of each row below a heading, without the title and the rule."""
    found, here = [], None
    for number, line in enumerate(text.split("\n"), 1):
        heading = re.match(r"##\s+(.*?)\s*$", line)
        if heading:
            here = heading.group(1).lower()
        elif here == section and line.startswith("|"):
            found.append((number, [cell.strip() for cell in line.strip().strip("|").split("|")]))
    return found[2:]


def hooks_of(sources):
    """{name: (declaring file, defining file)}; None for a missing side."""
    found = {}
    for path, code in sources:
        for name, end in HOOK.findall(re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE)):
            declared, defined = found.get(name, (None, None))
            found[name] = (path, defined) if end == ";" else (declared, path)
    return found


def check_hooks(rows, sources):
    listed = {}
    for line, cells in rows:
        if len(cells) != 4 or not all(cells):
            yield line, "hook", "write the row as | hook | declared in | defined in | what for |"
            continue
        name, declared, defined = (cell.strip("`") for cell in cells[:3])
        listed[name] = (line, "src/" + declared, "src/" + defined)
    hooks = hooks_of(sources)
    for name, places in sorted(hooks.items()):
        if name not in listed:
            yield 1, "hook", f"list {name} under '## Hooks': {places[0]} declares it"
        elif listed[name][1:] != places:
            yield listed[name][0], "hook", (
                f"{name} is declared in {places[0]}, defined in {places[1]}")
    for name in sorted(set(listed) - set(hooks)):
        yield listed[name][0], "hook", f"delete the row: no hook is called {name}"


def check_terms(rows, text):
    """`text` is all sources with their comments, in lower case, on one line."""
    for place, (line, cells) in enumerate(rows):
        if place == TERMS_MAX:
            yield line, "glossary", f"leave out the least of them: at most {TERMS_MAX} terms"
        if len(cells) != 3 or not cells[0] or not cells[1]:
            yield line, "glossary", "write the row as | term | what it is | elsewhere called |"
            continue
        for term in re.sub(r"`", "", cells[0]).lower().split(", "):
            if not re.search(rf"\b{re.escape(term)}(?:s|es)?\b", text):
                yield line, "glossary", f"delete the term: src/ does not say '{term}'"


def ranks_of(text):
    """The names of `enum class LockRank`, in their order."""
    code = source_text.split_cpp(text)[0]
    enum = re.search(r"enum class LockRank[^{]*\{([^}]*)\}", code)
    return re.findall(r"\w+", enum.group(1)) if enum else []


def check_ranks(rows, ranks):
    """The page says the order of locks as the code has it."""
    for line, cells in rows:
        if len(cells) != 3 or not all(cells):
            yield line, "lock-rank", "write the row as | rank | type | what it guards |"
    listed = [cells[0].strip("`") for _, cells in rows]
    if listed != ranks:
        line = rows[0][0] if rows else 1
        yield line, "lock-rank", f"list the ranks of {RANKS} in their order: {', '.join(ranks)}"


def check_first(rows, folders, paths):
    """Each folder of the table of floors names the file that a newcomer reads first."""
    listed = {cells[0]: (line, cells) for line, cells in rows}
    for line, cells in rows:
        if len(cells) != 3 or not all(cells):
            yield line, "read-first", "write the row as | folder | file | what it shows |"
        elif f"src/{cells[0]}/{cells[1]}" not in paths:
            yield line, "read-first", f"name another file: src/{cells[0]} has no {cells[1]}"
    for folder in folders:
        if folder not in listed:
            yield 1, "read-first", f"name the first file of {folder} under '## Read first'"


def check_tables(root, house_text, paths):
    """Yields (line, rule, what to do) for src/README.md; `paths` are all files with rules."""
    sources, words, ranks = [], [], []
    for path in paths:
        if path.startswith("src/") and path.endswith((".hpp", ".cpp")):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                text = file.read()
            if path == RANKS:
                ranks = ranks_of(text)
            if "TALUS_HOOK" in text:
                sources.append((path, source_text.split_cpp(text)[0]))
            words.append(re.sub(r"[\s/_]+", " ", text))
    yield from check_hooks(rows_of(house_text, "hooks"), sources)
    yield from check_terms(rows_of(house_text, "glossary"), " ".join(words).lower())
    yield from check_ranks(rows_of(house_text, "lock ranks"), ranks)
    first = rows_of(house_text, "read first")
    if first:
        folders = [cells[1] for _, cells in rows_of(house_text, "floors") if len(cells) > 1]
        yield from check_first(first, folders, set(paths))
