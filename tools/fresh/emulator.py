# What it owns: programs of another processor on a fresh system, by qemu. The kernel is told which
# interpreter they need in a user namespace of its own (Linux 6.7): nothing changes on the machine,
# and nothing is left.
# It must not know what is tried.
# SPDX-License-Identifier: MIT
"""Runs programs of another processor inside a fresh system."""

import shutil
import subprocess
from pathlib import Path

# What Debian's qemu-user-static registers: the interpreter is opened then, so any tree can use it.
RULES = "/usr/lib/binfmt.d/qemu-{processor}.conf"
REGISTRY = "/proc/sys/fs/binfmt_misc"
# All users are themselves inside, so that packages give their files to whom they want.
USERS = "0 0 65536\n"
# It loses its rights where it has no user, until the map is written; the next program has them.
ENTER = """echo ready
read -r told
exec sh -ec 'mount -t binfmt_misc binfmt_misc "$1"
cat "$2" >"$1/register"
shift 2
exec "$@" </dev/null' sh "$@"
"""


def command(processor, words):
    """The words that run `words` with an emulator for that processor."""
    return ["unshare", "--user", "--mount", "sh", "-ec", ENTER, "sh", REGISTRY,
            RULES.format(processor=processor), *map(str, words)]


def run(processor, words, **more):
    """Runs the words, as root. Returns the exit status and the output."""
    with subprocess.Popen(command(processor, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **more) as child:
        if child.stdout.readline() == "ready\n":
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{child.pid}", name).write_text(USERS, encoding="ascii")
            child.stdin.write("go\n")
            child.stdin.flush()
        said = child.stdout.read()
    return child.returncode, said


def missing(processor):
    """Why nothing can be run here, or None."""
    rules = Path(RULES.format(processor=processor))
    if shutil.which(f"qemu-{processor}-static") is None or not rules.exists():
        return f"there is no qemu-{processor}-static here, or not its {rules}"
    try:
        status, said = run(processor, ["true"])
    except OSError as error:
        return f"no user namespaces here: {error}"
    if status != 0:
        return f"the kernel knows no interpreters of one user namespace (Linux 6.7): {said.strip()}"
    return None
