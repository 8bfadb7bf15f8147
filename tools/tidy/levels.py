# What it owns: the levels of includes inside a folder of src/. A file that includes no file of its
# folder is at level 1; any other file is one level above the highest file of its folder that it
# includes. A room with few levels can be read from the top: few headers stand behind each one.
# It must not know the floors (floors.py) nor how a finding is printed.
# SPDX-License-Identifier: MIT
"""Counts the levels of includes inside each folder of src/ and refuses folders with too many."""

import os
import re

LEVELS_MAX = 6
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def includes_inside(root, paths):
    """{file: the files of its own folder that it includes} for all files of src/."""
    inside = {}
    known = {path for path in paths if path.startswith("src/")}
    for path in sorted(known):
        folder = os.path.dirname(path)
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            spelled = INCLUDE.findall(file.read())
        targets = {place for name in spelled for place in ("src/" + name, folder + "/" + name)}
        inside[path] = sorted(target for target in targets & known
                              if os.path.dirname(target) == folder and target != path)
    return inside


def chain(path, inside, done):
    """The longest chain of includes inside the folder of a file, from the file down."""
    if path not in done:
        done[path] = [path]  # a circle of includes ends here
        below = max((chain(target, inside, done) for target in inside[path]), key=len, default=[])
        done[path] = [path] + below
    return done[path]


def check_levels(root, paths):
    """Yields (file, line, rule, what to do) for each folder of src/ with too many levels."""
    inside, done, deepest = includes_inside(root, paths), {}, {}
    for path in inside:
        found = chain(path, inside, done)
        folder = os.path.dirname(path)
        if len(found) > len(deepest.get(folder, [])):
            deepest[folder] = found
    for folder, found in sorted(deepest.items()):
        if len(found) > LEVELS_MAX:
            names = " > ".join(os.path.basename(path) for path in found)
            yield found[0], 1, "levels", (
                f"{folder} has {len(found)} levels of includes (at most {LEVELS_MAX}): split the "
                f"folder, or include less: {names}")
