#!/usr/bin/env python3
# Runs programs of numpy, pandas and torch on Talus: by the wheel's command, and preloaded as its
# library says. A package that no Python here has is left out. Without any the test is skipped (77).
# Arguments: the source folder, the command, the library.
# SPDX-License-Identifier: MIT
"""Programs of numpy, pandas and torch run on the wheel."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE, COMMAND, LIBRARY = (Path(word).resolve() for word in sys.argv[1:4])
PROGRAMS = SOURCE / "tests/packages/programs"
sys.path.insert(0, str(SOURCE / "tools/dist"))

import dist  # noqa: E402
import wheel  # noqa: E402

from called import call  # noqa: E402


def python_with(package):
    """The first Python here that has the package; None: none has."""
    for name in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if name and Path(name).exists():
            tried = subprocess.run([name, "-c", f"import {package}"], capture_output=True,
                                   check=False)
            if tried.returncode == 0:
                return name
    return None


def run_on_talus(package, python, folder):
    """Each way to start a program on the wheel that was unpacked to this folder."""
    program = PROGRAMS / f"use_{package}.py"
    # Libraries of mathematics else start a thread for each processor.
    plain = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1",
             "PYTHONDONTWRITEBYTECODE": "1"}
    said = [call(python, "-m", "talus", "run", python, program, env=plain)]
    library = call(python, "-c", "import talus; print(talus.library())", env=plain).strip()
    said.append(call(python, program, env={**plain, "LD_PRELOAD": library}))
    for text in said:
        assert text.startswith(f"{package} "), text
    print(said[0].strip())


def main():
    found = {package: python_with(package) for package in ("numpy", "pandas", "torch")}
    for package, python in found.items():
        if python is None:
            print(f"no Python here has {package}")
    if not any(found.values()):
        return 77
    with tempfile.TemporaryDirectory(prefix="talus-programs-") as name:
        folder = Path(name)
        made = wheel.write(folder, SOURCE, COMMAND, LIBRARY, dist.version(), 10**9)
        with zipfile.ZipFile(made) as archive:
            archive.extractall(folder)
        (folder / "talus/bin/talus").chmod(0o755)
        for package, python in found.items():
            if python is not None:
                run_on_talus(package, python, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
