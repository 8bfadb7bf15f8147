# Every sample of one workload, one row for each allocator.
#
# Owns: the strip plot: a dot for each run (hollow: noisy), a bar for the interval, a stroke for the
# median. A kept run has no dots. Rows are in the order of the medians, the best at the top. Failed
# runs have no dot; their rows say so. `talus compare` has simpler plots of its own
# (tools/talus/compare/strip_plot.hpp).
#
# SPDX-License-Identifier: MIT

from dataclasses import replace

from . import svg
from .figures import TIME, Figures
from .wording import figure as shown
from .wording import tick

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 440, 20, 112, 76, 26, 22
LOG_FROM = 5.0     # from this ratio of largest to smallest value, the axis is logarithmic


def draw(figures: Figures, workload: str, figure: str, marks: dict) -> svg.Drawing:
    ranked = figures.ranked(workload, figure)
    absent = [name for name in figures.record.allocators
              if name not in ranked and (workload, name) in figures.failed]
    height = TOP + ROW * max(len(ranked) + len(absent), 1) + BOTTOM
    word = "Time" if figure == TIME else "Peak memory"
    what = "every run" if figures.record.kept_run is None else "medians and intervals"
    drawing = svg.Drawing(WIDTH, height, f"{word} of {workload}, {what}: " + "; ".join(
        f"{name} {shown(figures.median(workload, name, figure), figure)}" for name in ranked))
    drawing.text(0, 13, f"{word}, {what}", "chart-title")
    cells = [figures.cells[workload, name] for name in ranked]
    values = ([sample[figure] for cell in cells for sample in cell.measured]
              or ends_of(cells, figure))
    above = [value for value in values if value > 0]
    is_log = bool(above) and len(above) == len(values) and max(above) / min(above) > LOG_FROM
    scale = svg.scale(values or [1.0], LEFT, WIDTH - RIGHT, is_log=is_log)
    floor = height - BOTTOM
    unit, name = unit_of(figure, above)
    in_unit = replace(scale, low=scale.low / unit, high=scale.high / unit)
    for value in in_unit.ticks(4):
        drawing.line(in_unit(value), TOP - 4, in_unit(value), floor, "grid")
        drawing.text(in_unit(value), floor + 15, tick(value) + name, "tick", "middle")
    for number, name in enumerate(ranked):
        draw_row(drawing, scale, TOP + ROW * number + ROW / 2, figures, (workload, name), figure,
                 marks[name])
    for number, name in enumerate(absent, len(ranked)):
        y = TOP + ROW * number + ROW / 2
        drawing.text(LEFT - 10, y + 4, name, "name", "end")
        outcome = figures.failed[workload, name][0]["outcome"].replace("_", " ")
        drawing.text(LEFT + 4, y + 4, outcome, "bad")
    return drawing


def ends_of(cells: list, figure: str) -> list[float]:
    """The ends of a kept run's axis. Of a very wide interval, as two distant runs give, only a
    part."""
    found = []
    for cell in cells:
        median = cell.median[figure]
        low, high = cell.interval(figure) or (median, median)
        found += [max(low, median / 3), min(high, median * 3)]
    return found


def unit_of(figure: str, values: list[float]) -> tuple[float, str]:
    """The unit of the axis and its name, so that the ticks are round numbers."""
    if figure == TIME or not values:
        return 1.0, ""
    middle = sorted(values)[len(values) // 2]
    return next(((size, name) for size, name in ((float(1 << 20), " GiB"), (1024.0, " MiB"))
                 if middle >= size), (1.0, " KiB"))


def draw_row(drawing: svg.Drawing, scale: svg.Scale, y: float, figures: Figures, key: tuple,
             figure: str, mark: tuple[str, str]) -> None:
    cell, colour = figures.cells[key], mark[0]
    drawing.open("row" + (" own" if colour == "subject" else ""), data_allocator=key[1])
    drawing.text(LEFT - 10, y + 4, key[1], "name", "end")
    interval = cell.interval(figure)
    if interval:
        low, high = map(scale, interval)
        drawing.add("rect", x=low, y=y - 6, width=max(high - low, 1), height=12, rx=3,
                    class_=f"interval fill-{colour}")
    middle = scale(cell.median[figure])
    drawing.line(middle, y - 7, middle, y + 7, f"median edge-{colour}")
    drawing.open(f"runs edge-{colour} fill-{colour}")  # short markup: a page has thousands of dots
    for number, sample in enumerate(cell.measured):
        noisy = sample["is_noisy"]
        where = f"round {sample['round']}" if sample["round"] is not None else "a run"
        beside = sample.get("foreign_cores")
        drawing.add("circle", cx=scale(sample[figure]), cy=y + (number % 3 - 1) * 3, r=2.6,
                    class_="noisy" if noisy else None,
                    hint=f"{where}: {shown(sample[figure], figure)}"
                    + (f", noisy: {beside} cores of other work" if noisy else ""))
    drawing.close()
    drawing.text(WIDTH - RIGHT + 8, y + 4, shown(cell.median[figure], figure)
                 + cell.mark(figure), "value")
    drawing.close()
