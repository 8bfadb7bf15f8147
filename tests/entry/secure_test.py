#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs with Talus linked in as set-user-id files: the environment must not count.

Owns: the comparison. A plain copy of the program obeys four options: a start line, a summary in a
file, strangers ignored, a helper thread. A copy that has the set-user-id bit and another owner than
its caller obeys none, makes no file and no helper. It is run by root with another user's rights,
and by another user with root's. The same with strangers ignored by a file in the home: the plain
copy reads it, the others do not. Skipped (77) where only root could make such a file, or where the
file system or the kernel ignores the bit.

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


def run(program: Path, summary: Path, user=0):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TALUS_", "LD_"))}
    environment.update(TALUS_VERBOSE="1", TALUS_PRINT_STATS=str(summary),
                       TALUS_ON_FOREIGN_FREE="ignore", TALUS_NO_SUCH_OPTION="1",
                       TALUS_HELPER="1")
    done = subprocess.run([str(program)], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=False,
                          user=user, group=user)
    return done.returncode, done.stdout, done.stderr, summary.exists()


def run_at_home(program: Path, home: Path, user=0):
    """As above, with nothing in the environment but the name of a home."""
    done = subprocess.run([str(program)], env={"HOME": str(home)}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=False,
                          user=user, group=user)
    return done.returncode, without_helper(done.stdout)


def without_helper(out: str) -> str:
    """Root has a helper only where it is asked for or watched: here it may be either."""
    return "".join(line for line in out.splitlines(True) if not line.startswith("helper "))


def faults(program: Path, folder: Path):
    """What is wrong, as a list; None: this machine cannot be asked."""
    plain = folder / "plain"
    shutil.copy(program, plain)
    status, out, err, has_summary = run(plain, folder / "plain.summary")
    found = []
    expected = (0, "secure 0\nhelper 1\nignored\n", True)
    if (status, out, has_summary) != expected or "verbose=" not in err:
        found.append(f"plain: status {status}, said {out!r} {err!r}, summary {has_summary}")
    (folder / ".config").mkdir()
    (folder / ".config/talus.conf").write_text("on_foreign_free = ignore\n")
    at_home = run_at_home(plain, folder)
    if at_home != (0, "secure 0\nignored\n"):
        found.append(f"plain with a file at home: {at_home}")
    for owner, user in ((OTHER_USER, 0), (0, OTHER_USER)):
        name = f"of {owner} by {user}"
        secure = folder / f"secure{owner}"
        shutil.copy(program, secure)
        os.chown(secure, owner, owner)
        os.chmod(secure, 0o6755)
        status, out, err, has_summary = run(secure, folder / f"{owner}.summary", user)
        if out.startswith("secure 0"):
            return None
        if status != -signal.SIGABRT or out != "secure 1\nhelper 0\n" or has_summary:
            found.append(f"{name}: status {status}, said {out!r}, summary {has_summary}")
        if not err.startswith(ABORT_TEXT) or err.count("\n") != 1:
            found.append(f"{name}: said {err!r}")
        at_home = run_at_home(secure, folder, user)
        if at_home != (-signal.SIGABRT, "secure 1\n"):
            found.append(f"{name} with a file at home: {at_home}")
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
