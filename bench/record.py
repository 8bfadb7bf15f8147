# The JSON of a run; results.md describes it for readers.
#
# Owns: the list of fields. Fields are added, never changed: older results stay readable.
#
# SPDX-License-Identifier: MIT

import datetime
import json
import subprocess
import sys
from pathlib import Path

from . import machine, measuring

FORMAT = 1


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def commit(root: Path) -> dict | None:
    """The state of the source tree. The measured build may be older."""
    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(root), *words], capture_output=True,
                                  text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None
    found = git("rev-parse", "HEAD")
    if not found:
        return None
    return {"id": found, "is_changed": bool(git("status", "--porcelain", "--", "src", "include"))}


def begin(root: Path) -> dict:
    return {"format": FORMAT, "started": now(), "commit": commit(root),
            "machine": machine.describe(), "load_average_at_start": machine.load_average(),
            "command": ["python3", "-m", "bench", *sys.argv[1:]],
            "subject_environment": measuring.subject_environment()}


def write(path: Path, fields: dict, root: Path) -> None:
    """Paths below the source tree become relative to it, since results are compared and kept."""
    text = json.dumps({**fields, "finished": now()}, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(f"{root}/", "") + "\n")
