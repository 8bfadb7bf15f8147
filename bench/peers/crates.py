# Sources from the crate registry, pinned by Cargo.lock.
#
# Owns: the search for the folder of a locked crate. Cargo fetches and checks the crates and
# compiles nothing. Each family builds the C or C++ source in its crate.
#
# SPDX-License-Identifier: MIT

import json
from dataclasses import dataclass
from pathlib import Path

from building import Build, PeerMissing

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "Cargo.toml"
QUICK_MANIFEST = HERE / "quick/Cargo.toml"  # the needs of a quick run, for older Cargos


@dataclass(frozen=True)
class Crate:
    name: str
    version: str      # with the part after the plus sign, often the version of the source
    folder: Path

    def describe(self) -> str:
        return f"crate {self.name} {self.version}"


def find(build: Build, name: str, manifest: Path = MANIFEST) -> Crate:
    for package in locked_packages(build.run, manifest):
        if package["name"] == name:
            return Crate(name, package["version"], Path(package["manifest_path"]).parent)
    raise PeerMissing(f"Cargo.lock does not contain {name}")


_packages: dict[Path, list[dict]] = {}


def locked_packages(run, manifest: Path) -> list[dict]:
    """Fetches once in a process. A failure is reported again to the next peer that needs a
    crate."""
    if manifest not in _packages:
        run(["cargo", "fetch", "--quiet", "--locked", "--manifest-path", manifest])
        metadata = run(["cargo", "metadata", "--format-version", "1", "--locked", "--offline",
                        "--manifest-path", manifest])
        _packages[manifest] = json.loads(metadata)["packages"]
    return _packages[manifest]
