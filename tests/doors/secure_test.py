#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs with Talus linked in as set-user-id files: the environment must not count.

Owns: the comparison. A plain copy of the program obeys three options (a start line, a summary in a
file, strangers ignored); a copy that belongs to another user and has the set-user-id bit obeys none
and makes no file. The same with strangers ignored by a file in the home: the plain copy reads it,
the other one does not. Skipped (77) where only root could make such a file, or where the file
system or the kernel ignores the bit.

    secure_test.py PROGRAM...
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
OTHER_USER = 65534
ABORT_TEXT = "talus: invalid pointer 0x"


def run(program: Path, summary: Path):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TALUS_", "LD_"))}
    environment.update(TALUS_VERBOSE="1", TALUS_PRINT_STATS=str(summary),
                       TALUS_ON_FOREIGN_FREE="ignore", TALUS_NO_SUCH_OPTION="1")
    done = subprocess.run([str(program)], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr, summary.exists()


def run_at_home(program: Path, home: Path):
    """As above, with nothing in the environment but the name of a home."""
    done = subprocess.run([str(program)], env={"HOME": str(home)}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout


def faults(program: Path, folder: Path):
    """What is wrong, as a list; None: this machine cannot be asked."""
    plain = folder / "plain"
    shutil.copy(program, plain)
    status, out, err, has_summary = run(plain, folder / "plain.summary")
    found = []
    if (status, out, has_summary) != (0, "secure 0\nignored\n", True) or "verbose=" not in err:
        found.append(f"plain: status {status}, said {out!r} {err!r}, summary {has_summary}")
    secure = folder / "secure"
    shutil.copy(program, secure)
    os.chown(secure, OTHER_USER, OTHER_USER)
    os.chmod(secure, 0o6755)
    status, out, err, has_summary = run(secure, folder / "secure.summary")
    if out.startswith("secure 0"):
        return None
    if status != -signal.SIGABRT or out != "secure 1\n" or has_summary:
        found.append(f"secure: status {status}, said {out!r}, summary {has_summary}")
    if not err.startswith(ABORT_TEXT) or err.count("\n") != 1:
        found.append(f"secure: said {err!r}")
    (folder / ".config").mkdir()
    (folder / ".config/talus.conf").write_text("on_foreign_free = ignore\n")
    for copy, expected in ((plain, (0, "secure 0\nignored\n")),
                           (secure, (-signal.SIGABRT, "secure 1\n"))):
        if run_at_home(copy, folder) != expected:
            found.append(f"{copy.name} with a file at home: {run_at_home(copy, folder)}")
    return found


def main() -> int:
    if os.geteuid() != 0:
        print("only root can make files of another user")
        return SKIPPED
    failed = 0
    for program in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o777)  # the other user might write here
            found = faults(program, folder)
        if found is None:
            print("the set-user-id bit is ignored here")
            return SKIPPED
        failed += bool(found)
        print("\n".join([f"{program.name}: {fault}" for fault in found]) or f"{program.name}: ok")
    return 1 if failed or len(sys.argv) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
