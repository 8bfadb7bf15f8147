#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Preloads Talus together with other libraries that stand between a program and its C library.

Owns: the combinations. They are an audit library, wrappers of mmap, open and so on before Talus and
behind it, both at once, and the real torsocks and faketime where they are installed. The program
must end in time with status 0, and the companions must say that they were there.

    preload_test.py --talus LIB --program FILE --wrapper LIB --clock LIB --audit LIB
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
TIMEOUT_SECONDS = 15
REAL_COMPANIONS = ("torsocks/libtorsocks.so", "faketime/libfaketime.so.1",
                   "faketime/libfaketimeMT.so.1")


def installed(name: str):
    for folder in sorted(Path("/usr/lib").glob("*-linux-gnu")):
        if (folder / name).is_file():
            return str(folder / name)
    return None


def fault(program: str, preload: list, audit: str, expected: list):
    """What is wrong with one combination; None: nothing."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LD_", "TALUS_"))}
    environment["LD_PRELOAD"] = ":".join(preload)
    environment["TORSOCKS_LOG_LEVEL"] = "1"
    if audit:
        environment["LD_AUDIT"] = audit
    process = subprocess.Popen([program], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return f"still running after {TIMEOUT_SECONDS} s"
    if process.returncode != 0:
        return f"status {process.returncode}, said {out[-200:]!r} {err[-300:]!r}"
    for companion in expected:
        if not re.search(companion, out):
            return f"no {companion!r} in {out!r}"
    return None


def combinations(arguments):
    """(group, name, preload, audit, what must be said)"""
    talus, audit = arguments.talus, arguments.audit
    wrapped, audited = r"wrapper: [1-9]\d* calls", r"audit: [1-9]\d* objects, [1-9]\d+ bindings"
    yield "audited", "audit alone", [talus], audit, [audited]
    for group, library in (("wrapper", arguments.wrapper), ("clock", arguments.clock)):
        yield group, "before Talus", [library, talus], "", [wrapped]
        yield group, "behind Talus", [talus, library], "", [wrapped]
    yield "audited", "wrapper before", [arguments.wrapper, talus], audit, [wrapped, audited]
    yield "audited", "wrapper behind", [talus, arguments.wrapper], audit, [wrapped, audited]
    yield "clock", "two wrappers", [arguments.wrapper, talus, arguments.clock], "", [wrapped]
    for name in REAL_COMPANIONS:
        library = installed(name)
        if library is not None:
            yield "installed", name + " before Talus", [library, talus], "", []
            yield "installed", name + " behind Talus", [talus, library], "", []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("talus", "program", "wrapper", "clock", "audit"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--group", choices=("wrapper", "clock", "audited", "installed"))
    arguments = parser.parse_args()
    count = failed = 0
    for group, name, preload, audit, expected in combinations(arguments):
        if arguments.group not in (None, group):
            continue
        wrong = fault(arguments.program, preload, audit, expected)
        count += 1
        failed += wrong is not None
        print(f"{group}, {name}: {wrong or 'ok'}", flush=True)
    return SKIPPED if count == 0 else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
