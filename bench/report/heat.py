# The heat map: for every workload and allocator, the ratio to its best rival.
#
# Owns: the bands of the colours, the text of a cell, and the map as an SVG for other pages. In the
# report it is a table (template/heat.html.j2), which can be sorted, searched and read aloud. Each
# cell has its number, so that colour is never the only information.
#
# SPDX-License-Identifier: MIT

from dataclasses import dataclass

from . import svg
from .figures import Figures
from .wording import times

# The colour of a cell is the first bound at or above its ratio. Larger ratios have the last colour.
BOUNDS = (1.0, 1.05, 1.15, 1.35, 1.75, 2.5, 5.0)
WORDS = ("best", *(f"≤{bound:g}" for bound in BOUNDS[1:]), "more")
CELL_WIDTH, CELL_HEIGHT, LEFT, HEAD = 46, 20, 118, 104


@dataclass(frozen=True)
class HeatCell:
    text: str
    band: int | None        # None: no ratio
    ratio: float | None
    hint: str
    is_failed: bool


def band(ratio: float) -> int:
    return sum(ratio > bound + 1e-12 for bound in BOUNDS)


def cell(figures: Figures, workload: str, allocator: str, figure: str) -> HeatCell:
    failed = figures.failed.get((workload, allocator), [])
    where = f"{workload}, {allocator}"
    if figures.cell(workload, allocator) is None:
        if failed:
            outcome = failed[0]["outcome"].replace("_", " ")
            return HeatCell(outcome, None, None, f"{where}: {failed[0].get('reason') or outcome}",
                            True)
        return HeatCell("–", None, None, f"{where}: not run", False)
    ratio = figures.ratio_to_best(workload, allocator, figure)
    best = figures.best(workload, allocator, figure)
    own = figures.cells[workload, allocator]
    mark = own.mark(figure)
    lost = (f"; {len(failed)} runs failed" if failed else "") + (
        "" if own.is_whole(figure) else "; cannot return memory on request")
    if ratio is None:
        if best is None and figures.median(workload, allocator, figure) > 0:
            return HeatCell("–" + mark, None, None, f"{where}: nothing to compare with{lost}",
                            False)
        return HeatCell("0" + mark, None, None, f"{where}: too small to compare{lost}", False)
    hint = f"{where}: {times(ratio)} times {best}{lost}"
    is_fair = ratio >= 1 or figures.may_be_best(workload, allocator, figure)
    return HeatCell(times(ratio) + mark, band(ratio) if is_fair else None, ratio, hint, False)


def columns(figures: Figures) -> list[str]:
    """The subject first, so that a narrow screen shows it too."""
    subject = figures.record.subject
    return [subject, *(name for name in figures.record.allocators if name != subject)]


def draw(figures: Figures, workloads: list[str], figure: str, heading: str) -> svg.Drawing:
    names = columns(figures)
    drawing = svg.Drawing(LEFT + CELL_WIDTH * len(names), HEAD + CELL_HEIGHT * len(workloads),
                          heading)
    drawing.text(0, 14, heading, "chart-title")
    for column, name in enumerate(names):
        x = LEFT + CELL_WIDTH * (column + 0.5)
        drawing.text(x - 4, HEAD - 8, name,
                     "name strong" if name == figures.record.subject else "name",
                     transform=f"rotate(-50 {svg.short(x - 4)} {HEAD - 8})")
    for row, workload in enumerate(workloads):
        y = HEAD + CELL_HEIGHT * row
        drawing.text(LEFT - 8, y + 14, workload, "name", "end")
        for column, name in enumerate(names):
            one = cell(figures, workload, name, figure)
            look = "gone" if one.band is None else f"fill-heat-{one.band}"
            x = LEFT + CELL_WIDTH * column
            drawing.add("rect", x=x, y=y, width=CELL_WIDTH - 1, height=CELL_HEIGHT - 1,
                        class_=look, hint=one.hint)
            drawing.text(x + CELL_WIDTH / 2, y + 14, one.text,
                         f"heat-text on-{one.band}", "middle")
    drawing.add("rect", x=LEFT - 1, y=HEAD - 1, width=CELL_WIDTH + 1,
                height=CELL_HEIGHT * len(workloads) + 1, class_="frame")
    return drawing
