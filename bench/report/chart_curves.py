# Memory overhead against operations per second, as micromalloc publishes its benchmarks.
#
# Owns: the rows of each chart, the points, and the drawing. The horizontal axis is peak resident
# memory over peak requested memory; the vertical axis is operations per second. A curve is an
# allocator, a point a number of threads. Rows of a series of thread numbers are named "B1/500@4".
# Without a series each allocator has one point and no curve. The best place is the upper left.
#
# SPDX-License-Identifier: MIT

import statistics

from ..kept import operations_per_s
from . import labels, svg
from .figures import Figures, base_name
from .wording import amount, tick

NUMBERS = ("B1", "B2", "B3", "B3s")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 380, 44, 104, 40, 44


def threads_of(workload: str, otherwise) -> int | None:
    _, has_threads, count = workload.partition("@")
    if has_threads and count.isdigit():
        return int(count)
    return otherwise if isinstance(otherwise, int) else None


def point(figures: Figures, workload: str, allocator: str) -> tuple | None:
    """(threads, overhead, operations per second): medians over the counted runs."""
    cell = figures.cell(workload, allocator)
    if cell is None:
        return None
    if figures.record.kept_run is not None:
        speed = figures.record.kept_run.speeds.get((workload, allocator))
        threads = threads_of(workload, figures.record.setting("threads"))
        return (threads, cell.summed.overhead, speed) if speed and cell.summed.overhead else None
    pairs = [(sample["rss_kib"] * 1024 / sample["result"]["peak_requested_bytes"], speed)
             for sample in cell.counted
             if sample["result"].get("peak_requested_bytes", 0) > 0
             and sample["rss_kib"] > 0 and (speed := operations_per_s(sample))]
    if not pairs:
        return None
    threads = threads_of(workload, cell.counted[0]["result"].get("threads"))
    return (threads, statistics.median(one for one, _ in pairs),
            statistics.median(two for _, two in pairs))


def curves(figures: Figures) -> dict[str, dict[str, list[tuple]]]:
    """By chart and allocator, the points with the fewest threads first."""
    charts: dict[str, dict[str, list[tuple]]] = {}
    for workload in figures.record.workloads:
        base = base_name(workload)
        if base.split("/")[0] not in NUMBERS:
            continue
        for allocator in figures.record.allocators:
            found = point(figures, workload, allocator)
            if found:
                charts.setdefault(base, {}).setdefault(allocator, []).append(found)
    for chart in charts.values():
        for allocator, points in chart.items():
            by_threads = {one[0]: one for one in points}  # a series may repeat the base row
            chart[allocator] = sorted(by_threads.values(), key=lambda one: one[0] or 0)
    return charts


def draw(heading: str, chart: dict[str, list[tuple]], marks: dict) -> svg.Drawing:
    every = [one for points in chart.values() for one in points]
    drawing = svg.Drawing(WIDTH, HEIGHT, f"{heading}: " + "; ".join(
        f"{name} " + ", ".join(f"{amount(speed)}/s at {overhead:.2f} with {threads or '?'} threads"
                               for threads, overhead, speed in points)
        for name, points in chart.items()))
    floor, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    across = svg.scale([one[1] for one in every], LEFT, edge)
    up = svg.scale([one[2] for one in every], floor, TOP)
    for value in across.ticks(6):
        drawing.line(across(value), TOP, across(value), floor, "grid")
        drawing.text(across(value), floor + 16, tick(value), "tick", "middle")
    for value in up.ticks(6):
        drawing.line(LEFT, up(value), edge, up(value), "grid")
        drawing.text(LEFT - 6, up(value) + 4, amount(value), "tick", "end")
    drawing.text(0, 14, heading, "chart-title")
    drawing.text(0, 31, "↑ operations per second", "axis")
    drawing.text((LEFT + edge) / 2, HEIGHT - 8, "peak memory / requested memory", "axis",
                 "middle")
    drawing.text(LEFT + 6, TOP + 13, "↖ better", "good")
    names = sorted(chart, key=lambda name: marks[name][0] == "subject")
    ends = labels.spread([up(chart[name][-1][2]) for name in names], 15, TOP, floor)
    for name, label in zip(names, ends):
        draw_curve(drawing, across, up, name, chart[name], marks[name], label)
    return drawing


def draw_curve(drawing: svg.Drawing, across: svg.Scale, up: svg.Scale, name: str,
               points: list[tuple], mark: tuple[str, str], label: float) -> None:
    colour, shape = mark
    is_own = colour == "subject"
    drawing.open("curve" + (" own" if is_own else ""), data_allocator=name)
    spots = [(across(overhead), up(speed)) for _, overhead, speed in points]
    if len(spots) > 1:
        drawing.add("path", class_=f"path edge-{colour}", d="M" + "L".join(
            f"{svg.short(x)} {svg.short(y)}" for x, y in spots))
    x, y = spots[-1]
    edge = WIDTH - RIGHT
    drawing.add("path", class_="leader",
                d=f"M{svg.short(x)} {svg.short(y)}L{edge + 2} {svg.short(label)}h4")
    for number, ((threads, overhead, speed), (x, y)) in enumerate(zip(points, spots)):
        size = (5.5 if is_own else 4.5) * (1 if number == len(spots) - 1 else 0.75)
        drawing.mark(shape, x, y, size, f"dot fill-{colour}",
                     f"{name}, {threads or '?'} thread{'s' if threads != 1 else ''}: "
                     f"{amount(speed)} operations per second, {overhead:.2f} times the memory "
                     "asked for")
    drawing.text(edge + 10, label + 4, name, "name")
    drawing.close()
