# Draws resident over live memory against time from the tables of the probe memory_drift.
#
#   CONFORMANCE_SOAK=1 CONFORMANCE_CSV=talus.csv LD_PRELOAD=libtalus.so .../memory_drift
#   python3 -B -m bench.drift_chart talus=talus.csv glibc=glibc.csv --out drift.svg
#
# Owns: the reading of the tables (seconds, live bytes, resident bytes), and the drawing. Each curve
# is an allocator. The dashed line is the promise, 1.3 times live memory. Style and colours come
# from bench/report. It needs only Python itself.
#
# SPDX-License-Identifier: MIT

import argparse
import csv
import sys
from pathlib import Path

from .report import charts, labels, palette, svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 420, 44, 120, 46, 44
PROMISE = 1.3
SUBJECT = "talus"
LABEL_HEIGHT = 15


def read_table(path: Path) -> list[tuple[float, float]]:
    """(minutes, resident / live) of each row, without the rows before the first live block."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        return [(float(row["seconds"]) / 60, int(row["resident_bytes"]) / live)
                for row in rows if (live := int(row["live_bytes"])) > 0]
    except (KeyError, TypeError, ValueError):
        sys.exit(f"drift_chart: {path} is not a table of memory_drift")


def minutes(value: float) -> str:
    return f"{value:g}"


def draw_axes(drawing: svg.Drawing, across: svg.Scale, up: svg.Scale, heading: str) -> None:
    floor, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in across.ticks(12):
        drawing.line(across(value), TOP, across(value), floor, "grid")
        drawing.text(across(value), floor + 16, minutes(value), "tick", "middle")
    for value in up.ticks(8):
        drawing.line(LEFT, up(value), edge, up(value), "grid")
        drawing.text(LEFT - 6, up(value) + 4, f"{value:g}", "tick", "end")
    drawing.line(LEFT, up(PROMISE), edge, up(PROMISE), "one")
    drawing.text(LEFT + 6, up(PROMISE) - 5, f"promise at the end: {PROMISE:g}", "axis")
    drawing.text(0, 14, heading, "chart-title")
    drawing.text(0, 33, "↑ resident / live memory", "axis")
    drawing.text((LEFT + edge) / 2, HEIGHT - 8, "minutes", "axis", "middle")


def draw(tables: dict[str, list[tuple[float, float]]], heading: str) -> svg.Drawing:
    every = [one for points in tables.values() for one in points]
    ends = {name: points[-1][1] for name, points in tables.items()}
    drawing = svg.Drawing(WIDTH, HEIGHT, f"{heading}; at the end: " + ", ".join(
        f"{name} {value:.2f}" for name, value in ends.items()))
    floor, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    across = svg.Scale(0, max(time for time, _ in every), LEFT, edge, False)
    up = svg.Scale(min(1.0, *(ratio for _, ratio in every)) if len(every) > 1 else 1.0,
                   max(PROMISE * 1.1, *(ratio for _, ratio in every)), floor, TOP, False)
    draw_axes(drawing, across, up, heading)
    marks = palette.marks(list(tables), SUBJECT)
    names = sorted(tables, key=lambda name: name == SUBJECT)  # draws the subject on top
    heights = labels.spread([up(ends[name]) for name in names], LABEL_HEIGHT, TOP, floor)
    for name, label in zip(names, heights):
        colour, _ = marks[name]
        drawing.open("curve" + (" own" if name == SUBJECT else ""), data_allocator=name)
        drawing.add("path", class_=f"path edge-{colour}",
                    hint=f"{name}: {ends[name]:.2f} at the end",
                    d="M" + "L".join(f"{svg.short(across(time))} {svg.short(up(ratio))}"
                                     for time, ratio in tables[name]))
        drawing.add("path", class_="leader",
                    d=f"M{edge} {svg.short(up(ends[name]))}L{edge + 6} {svg.short(label)}h4")
        drawing.text(edge + 14, label + 4, f"{name} {ends[name]:.2f}", "name")
        drawing.close()
    return drawing


def main() -> int:
    parser = argparse.ArgumentParser(description="resident over live memory against time")
    parser.add_argument("tables", nargs="+", metavar="NAME=CSV", help="an allocator and its table")
    parser.add_argument("--out", default="docs/benchmarks/drift.svg", help="the file to write")
    parser.add_argument("--heading", default="Memory of a key-value trace whose sizes drift")
    arguments = parser.parse_args()
    tables = {}
    for pair in arguments.tables:
        name, _, path = pair.partition("=")
        points = read_table(Path(path)) if path else []
        if len(points) < 2:
            sys.exit(f"drift_chart: nothing to draw in '{pair}'")
        tables[name] = points
    text = svg.in_a_file([draw(tables, arguments.heading)], 1,
                         palette.written_out(charts.rules()))
    Path(arguments.out).write_text(text, encoding="utf-8")
    print(f"written to {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
