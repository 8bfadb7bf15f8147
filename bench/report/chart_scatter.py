# Time against memory: one point for each allocator, typical ratios to its best rival at each
# workload.
#
# Owns: this drawing in any size (the page has one for wide and one for narrow screens). The best
# corner is the lower left. The stairs join the allocators that no other beats in both.
#
# SPDX-License-Identifier: MIT

from . import labels, svg
from .figures import Mean
from .wording import tick, times

LEFT, RIGHT, TOP, BOTTOM = 52, 18, 34, 46


def unbeaten(points: dict[str, tuple[float, float]]) -> list[str]:
    """Names that no other allocator beats in both, the fastest first."""
    return sorted((name for name, (x, y) in points.items()
                   if not any(a <= x and b <= y and (a, b) != (x, y)
                              for a, b in points.values())),
                  key=lambda name: points[name])


def draw_frame(drawing: svg.Drawing, across: svg.Scale, up: svg.Scale) -> None:
    floor, edge = drawing.height - BOTTOM, drawing.width - RIGHT
    for value in across.ticks(7 if drawing.width > 500 else 5):
        drawing.line(across(value), TOP, across(value), floor, "grid")
        drawing.text(across(value), floor + 16, tick(value), "tick", "middle")
    for value in up.ticks(7):
        drawing.line(LEFT, up(value), edge, up(value), "grid")
        drawing.text(LEFT - 8, up(value) + 4, tick(value), "tick", "end")
    drawing.text((LEFT + edge) / 2, drawing.height - 8,
                 "time, times the best rival at each workload", "axis", "middle")
    drawing.text(0, 14, "↑ peak memory, times the best rival at each workload", "axis")
    radius = min(edge - LEFT, floor - TOP) * 0.42
    short = svg.short
    drawing.add("path", class_="corner",
                d=f"M{LEFT} {short(floor)}V{short(floor - radius)}A{short(radius)} "
                  f"{short(radius)} 0 0 1 {short(LEFT + radius)} {short(floor)}Z")
    drawing.text(LEFT + 10, floor - 12, "↙ fast and small", "good")


def draw(means: dict[str, tuple[Mean, Mean]], marks: dict, width: float,
         height: float) -> svg.Drawing:
    """Means as (time, memory) by allocator."""
    points = {name: (time.value, memory.value) for name, (time, memory) in means.items()}
    drawing = svg.Drawing(width, height, "Time against memory: " + "; ".join(
        f"{name} {times(x)} time, {times(y)} memory" for name, (x, y) in points.items()))
    floor, edge = height - BOTTOM, width - RIGHT
    times_shown, memories_shown = (
        [value for pair in means.values()
         for value in (pair[side].value, *(pair[side].interval or ()))] for side in (0, 1))
    across = svg.scale(times_shown, LEFT, edge, margin=0.04, must_show=(1.0,))
    up = svg.scale(memories_shown, floor, TOP, margin=0.04, must_show=(1.0,))
    draw_frame(drawing, across, up)
    front = [(across(points[name][0]), up(points[name][1])) for name in unbeaten(points)]
    if len(front) > 1:
        path = f"M{svg.short(front[0][0])} {svg.short(front[0][1])}"
        for x, y in front[1:]:
            path += f"H{svg.short(x)}V{svg.short(y)}"
        drawing.add("path", d=path, class_="front")
    placed = sorted(points, key=lambda name: marks[name][0] != "subject")
    spots = labels.around([(across(points[name][0]), up(points[name][1]), name)
                           for name in placed], (LEFT, TOP - 6, edge + RIGHT, floor), 9)
    for name, (anchor, x, y, _) in reversed(list(zip(placed, spots))):
        draw_point(drawing, across, up, name, means[name], marks[name], (anchor, x, y))
    return drawing


def draw_point(drawing: svg.Drawing, across: svg.Scale, up: svg.Scale, name: str,
               mean: tuple[Mean, Mean], mark: tuple[str, str], label: tuple) -> None:
    colour, shape = mark
    time, memory = mean
    is_own = colour == "subject"
    x, y = across(time.value), up(memory.value)
    drawing.open("point" + (" own" if is_own else ""), data_allocator=name,
                 hint=f"{name}: {times(time.value)} time, {times(memory.value)} memory")
    if time.interval:
        drawing.line(across(time.interval[0]), y, across(time.interval[1]), y,
                     f"whisker edge-{colour}")
    if memory.interval:
        drawing.line(x, up(memory.interval[0]), x, up(memory.interval[1]),
                     f"whisker edge-{colour}")
    anchor, at, middle = label
    if abs(at - x) + abs(middle - y) > 24:
        drawing.line(x, y, at, middle, "leader")
    drawing.mark(shape, x, y, 7 if is_own else 5.5, f"dot fill-{colour}")
    drawing.text(at, middle + 4, name, "name", anchor)
    drawing.close()
