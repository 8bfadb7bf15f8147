# Keeps a run in git: its compact form, without samples.
#
#   python3 -B -m bench.keep build/release/bench/result.json full/2026-11-26-5
#
# Owns: the place of a kept run and the limit on the size of all kept runs. kept.py has the content
# of a kept run. bench/results.md has its purpose, and a test requires that row.
#
# SPDX-License-Identifier: MIT

import argparse
import sys
from pathlib import Path

from . import kept

BYTES_MAX = 1_000_000  # of all kept runs together


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.json"))


def keep(source: Path, name: str, folder: Path = kept.FOLDER) -> Path:
    """Writes the compact form. Raises ValueError with the reason if it cannot."""
    target = folder / f"{name.removesuffix('.json')}.json"
    if folder.resolve() not in target.resolve().parents:
        raise ValueError(f"{target} is outside of {folder}")
    if target.exists():
        raise ValueError(f"{target} exists: a kept run is never changed; take another name")
    result = kept.read(source)
    if result.samples is None:
        raise ValueError(f"{source} is a kept run already")
    text = kept.text_of(kept.keep(result))
    size = size_of(folder) + len(text.encode())
    if size > BYTES_MAX:
        raise ValueError(f"all kept runs would have {size} bytes (at most {BYTES_MAX}): "
                         "delete runs that no document cites")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.keep",
        description="Keep a result of python3 -m bench in bench/results, without its samples.")
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    parser.add_argument("name", help="its name in bench/results: full/2026-11-26-5, or "
                        "decisions/0018-what-was-tried")
    arguments = parser.parse_args(given)
    try:
        target = keep(arguments.result, arguments.name)
    except (ValueError, OSError) as error:
        print(f"bench.keep: {error}", file=sys.stderr)
        return 2
    print(f"{target} ({target.stat().st_size / 1024:.0f} KiB of "
          f"{size_of(kept.FOLDER) / 1024:.0f} in all)\n"
          "Say in bench/results.md what it is. After a full run:\n"
          "  python3 -B -m bench.history > docs/benchmarks/runs.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
