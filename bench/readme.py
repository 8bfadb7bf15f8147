# The figures of README and docs/benchmarks, all of one kept run.
#
#   python3 -B -m bench.readme            # writes the blocks and the charts
#   python3 -B -m bench.readme --check    # says what differs, and writes nothing
#
# Owns: the run that is shown, the content of each block between "<!-- generated: NAME -->" and
# "<!-- end -->", and the list of charts. It does not own the prose around the blocks. A test fails
# if a page or a chart differs from the kept run.
#
# SPDX-License-Identifier: MIT

import argparse
import datetime
import re
import sys
from pathlib import Path

from . import allocators, kept
from .history import number, table
from .report import chart_picture, charts, figures, palette, record, svg

ROOT = Path(__file__).resolve().parent.parent
SHOWN = "full/2026-11-26-2-scale-1.json"
CHARTS = "docs/benchmarks"
PICTURE = "picture.svg"
BESIDE_IN_PICTURE = ("glibc", "jemalloc", "mimalloc3")
PAGES = ("README.md", "docs/benchmarks/README.md")
LABELS = {"talus": "Talus", "mimalloc2": "mimalloc 2", "mimalloc3": "mimalloc 3",
          "tcmalloc": "TCMalloc"}
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)


def label(name: str) -> str:
    return LABELS.get(name, name)


class Shown:
    """The kept run with all results made from it."""

    def __init__(self, path: Path):
        self.path = path
        self.result = kept.read(path)
        self.charts = charts.Charts(figures.compute(record.read(path)))
        subject = self.result.subject
        self.names = [subject, *allocators.rivals_of(subject, self.result.allocators)]
        self.summaries = {name: self.result.summary(name) for name in self.names}

    def beside(self, name: str) -> tuple[float, float]:
        """Time and memory beside the best."""
        found = self.summaries[name]
        return found["geometric_mean_time_to_best"], found["geometric_mean_rss_to_leanest"]

    def run_line(self) -> str:
        facts = self.result.facts
        machine, settings = facts["machine"], facts["settings"]
        day = datetime.date.fromisoformat(facts["started"][:10])
        commit = (facts.get("commit") or {}).get("id", "unknown")[:7]
        return (f"The run shown is [`{self.path.stem}`](BENCHbench/results.md) of {day.day} "
                f"{day:%B %Y}: {len(self.result.workloads)} workloads, scale "
                f"{settings['scale']:g}, medians of {settings['repeat']} rounds, Talus {commit} "
                f"against {len(self.names) - 1} allocators, {machine['cores']} processors "
                f"({machine['processor']}).\n")

    def means(self) -> str:
        found = self.summaries[self.result.subject]
        rivals = self.names[1:]
        rows = [[word, *(number(found[f"geometric_mean_{figure}"][name]) for name in rivals)]
                for word, figure in (("time", "time"), ("memory", "rss"))]
        return table(["Talus divided by", *map(label, rivals)], rows)

    def beside_the_best(self) -> str:
        rows = []
        for at, word in enumerate(("time", "memory")):
            values = [number(self.beside(name)[at]) for name in self.names]
            least = min(values, key=float)
            rows.append([word, *(f"**{one}**" if one == least else one for one in values)])
        return table(["[beside the best](BENCHdocs/benchmarks/README.md#beside-the-best)",
                      *map(label, self.names)], rows)

    def picture_rows(self) -> list[str]:
        return [self.result.subject, *(name for name in BESIDE_IN_PICTURE if name in self.names)]

    def picture_alt(self) -> str:
        return "; ".join(f"{label(name)} {number(time)} time, {number(memory)} memory"
                         for name in self.picture_rows() for time, memory in [self.beside(name)])

    def picture(self) -> str:
        drawings = [chart_picture.panel(heading, [
            (label(name), self.charts.marks[name][0], self.beside(name)[at])
            for name in self.picture_rows()], label(self.result.subject))
            for at, heading in enumerate(("Time, beside the best", "Peak memory, beside the best"))]
        return svg.in_a_file(drawings, 2, palette.written_out(charts.rules()))

    def blocks(self) -> dict[str, str]:
        """The blocks by name. BENCH stands for the path from a page to the root."""
        return {"picture": f"![{self.picture_alt()}](BENCH{CHARTS}/{PICTURE})\n",
                "run": self.run_line(), "means": self.means(), "beside": self.beside_the_best()}

    def files(self) -> dict[str, str]:
        """The charts, by their path from the root."""
        drawn = {name: text for name, text in self.charts.files().items()
                 if name not in ("means.svg", "curves.svg")}
        drawn[PICTURE] = self.picture()
        return {f"{CHARTS}/{name}": text for name, text in drawn.items()}


def filled(page: str, text: str, blocks: dict[str, str]) -> str:
    """The page with its blocks up to date. Raises an error for an unknown block."""
    way = "../" * page.count("/")

    def fill(found: re.Match) -> str:
        if found[2] not in blocks:
            raise ValueError(f"{page}: no block is named {found[2]!r}; there are "
                             f"{', '.join(blocks)}")
        return found[1] + blocks[found[2]].replace("BENCH", way) + found[4]
    return BLOCK.sub(fill, text)


def wanted(root: Path, shown: Shown) -> dict[str, str]:
    """All files with their up-to-date content, by path from the root."""
    blocks, files = shown.blocks(), shown.files()
    for page in PAGES:
        files[page] = filled(page, (root / page).read_text(encoding="utf-8"), blocks)
    missing = [name for name in ("picture", "means", "beside")
               if f"<!-- generated: {name} -->" not in files["README.md"]]
    if missing:
        raise ValueError(f"README.md: lacks the block {', '.join(missing)}")
    return files


def differing(root: Path, files: dict[str, str]) -> list[str]:
    return [name for name, text in files.items()
            if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text]


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.readme",
        description=f"Write README's figures and the charts of {CHARTS} from one kept run.")
    parser.add_argument("--check", action="store_true", help="only say what differs")
    arguments = parser.parse_args(given)
    try:
        files = wanted(ROOT, Shown(kept.FOLDER / SHOWN))
    except ValueError as error:
        print(f"bench.readme: {error}", file=sys.stderr)
        return 2
    different = differing(ROOT, files)
    for name in different:
        print(f"{'differs' if arguments.check else 'written'}: {name}")
        if not arguments.check:
            (ROOT / name).write_text(files[name], encoding="utf-8")
    return 1 if different and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
