# The one picture of README: time and peak memory of a few allocators as bars.
#
# Owns: this drawing. Readers see it at half a phone's width and know none of the workloads. So it
# has bars from zero, the figures at their ends, and nothing else.
#
# SPDX-License-Identifier: MIT

from . import svg
from .wording import times

WIDTH, ROW, BAR, LEFT, RIGHT, TOP, BOTTOM = 340, 26, 16, 92, 44, 30, 10


def panel(heading: str, rows: list[tuple[str, str, float]], own: str) -> svg.Drawing:
    """Rows as (label, colour, figure), drawn in the order given. `own` is the highlighted label.
    The line at 1 is the best rival."""
    height = TOP + ROW * len(rows) + BOTTOM
    drawing = svg.Drawing(WIDTH, height, f"{heading}: " + ", ".join(
        f"{label} {times(value)}" for label, _, value in rows))
    drawing.text(0, 14, heading, "chart-title")
    widest = max(value for _, _, value in rows)
    across = svg.Scale(0.0, max(widest, 1.0), LEFT, WIDTH - RIGHT, False)
    for number, (label, colour, value) in enumerate(rows):
        middle = TOP + ROW * number + ROW / 2
        drawing.open("row" + (" own" if label == own else ""),
                     hint=f"{label}: {times(value)} times its best rival")
        drawing.text(LEFT - 8, middle + 4, label, "name strong" if label == own else "name", "end")
        drawing.add("rect", x=LEFT, y=middle - BAR / 2, width=across(value) - LEFT, height=BAR,
                    rx=2, class_=f"fill-{colour}")
        drawing.text(across(value) + 6, middle + 4, times(value), "value")
        drawing.close()
    drawing.line(across(1), TOP - 4, across(1), height - BOTTOM + 4, "one")
    return drawing
