# Typical ratios as dots with their intervals, one row for each allocator.
#
# Owns: the two kinds of panel: each allocator beside its best rival at each workload, and the
# subject beside each other allocator. Left of the line at 1 is good in both.
# A row without all workloads states the number of its workloads.
#
# SPDX-License-Identifier: MIT

from . import svg
from .figures import Mean
from .wording import span, tick, times

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 480, 24, 116, 84, 38, 34


def panel(rows: list[tuple[str, Mean]], marks: dict, heading: str, left_word: str,
          right_word: str, whole: int) -> svg.Drawing:
    """Rows as (allocator, mean), drawn in the order given."""
    height = TOP + ROW * max(len(rows), 1) + BOTTOM
    drawing = svg.Drawing(WIDTH, height, heading + ": " + (
        "; ".join(f"{name} {times(mean.value)}" for name, mean in rows) or "no figures"))
    drawing.text(0, 14, heading, "chart-title")
    if not rows:
        drawing.text(LEFT, TOP + 16, "no workload was measured with both", "muted")
        return drawing
    bounds = [value for _, mean in rows for value in (mean.value, *(mean.interval or ()))]
    scale = svg.scale(bounds, LEFT, WIDTH - RIGHT, must_show=(1.0,))
    floor = height - BOTTOM
    for value in scale.ticks(6):
        at = scale(value)
        drawing.line(at, TOP - 8, at, floor, "grid")
        drawing.text(at, floor + 14, tick(value), "tick", "middle")
    drawing.line(scale(1), TOP - 10, scale(1), floor, "one")
    if scale(1) - LEFT > 60:
        drawing.text(scale(1) - 6, floor + 29, "← " + left_word, "good", "end")
    if WIDTH - RIGHT - scale(1) > 60:
        drawing.text(scale(1) + 6, floor + 29, right_word + " →", "bad", "start")
    for number, (name, mean) in enumerate(rows):
        draw_row(drawing, scale, TOP + ROW * number + ROW / 2, name, mean, marks[name], whole)
    return drawing


def draw_row(drawing: svg.Drawing, scale: svg.Scale, y: float, name: str, mean: Mean,
             mark: tuple[str, str], whole: int) -> None:
    colour, shape = mark
    few = f" ({mean.count} of {whole})" if mean.count < whole else ""
    interval = f", 95 % interval {span(mean.interval)}" if mean.interval else ", no interval"
    drawing.open("row" + (" own" if colour == "subject" else ""), data_allocator=name,
                 hint=f"{name}: {times(mean.value)}{interval}, over {mean.count} workloads")
    drawing.add("rect", x=0, y=y - ROW / 2, width=WIDTH, height=ROW, rx=4, class_="band")
    drawing.text(LEFT - 12, y + 4, name, "name", "end")
    if mean.interval:
        low, high = map(scale, mean.interval)
        drawing.add("rect", x=low, y=y - 3, width=max(high - low, 1), height=6, rx=3,
                    class_=f"interval fill-{colour}")
    drawing.mark(shape, scale(mean.value), y, 5, f"dot fill-{colour}")
    drawing.text(WIDTH - RIGHT + 12, y + 4, times(mean.value), "value")
    if few:
        drawing.text(WIDTH - 6, y + 4, f"{mean.count}/{whole}", "tick", "end")
    drawing.close()
