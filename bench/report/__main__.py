# python3 -m bench.report: writes the page and the charts of one result.
#
# Owns: the command line and its messages. Exit status: 0 all written, 2 no readable result, a
# missing library, or a folder that cannot be written.
#
# SPDX-License-Identifier: MIT

import argparse
import importlib
import sys
from pathlib import Path

from . import record

LOCK = Path(__file__).resolve().parent / "requirements.lock"


def parse_arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.report",
        description="Write a benchmark result as one HTML page and as SVG charts.")
    parser.add_argument("result", type=Path, metavar="RESULT.json",
                        help="a result of python3 -m bench")
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="folder of report.html and the charts (default: RESULT-report)")
    return parser.parse_args(given)


def complain(text: str) -> int:
    print(f"bench.report: {text}", file=sys.stderr)
    return 2


def main(given: list[str] | None = None) -> int:
    arguments = parse_arguments(given)
    try:
        read = record.read(arguments.result)
    except record.NoResult as error:
        return complain(f"{arguments.result}: {error}")
    try:
        page = importlib.import_module(".page", __package__)
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "markupsafe"):
            raise
        return complain(f"{error.name} is missing; what the report needs is installed with\n"
                        f"  python3 -m pip install -r {LOCK}")
    from . import charts, figures
    drawn = charts.Charts(figures.compute(read))
    folder = arguments.out or arguments.result.with_name(arguments.result.stem + "-report")
    files = {"report.html": page.render(drawn), **drawn.files()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}")
    for name, text in files.items():
        print(f"{folder / name} ({len(text.encode()) / 1024:.0f} KiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
