# Draws the times of single calls by percentile: a panel for each load and kind of call.
#
# Owns: the drawing. Each curve is an allocator, from the median over 99, 99.9 and 99.99 % to the
# worst call; the last step is dashed, since one call is chance. bench.tail has the figures. Style
# and colours come from bench/report.
#
# SPDX-License-Identifier: MIT

from .report import charts, labels, palette, svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 470, 250, 44, 104, 34, 30
SUBJECT = "talus"
KINDS = ("malloc", "free")
SHARES = {"p50": "50 %", "p99": "99 %", "p999": "99.9 %", "p9999": "99.99 %"}
LABEL_HEIGHT = 13
NS_PER_US = 1e3


def curve(one, kind: str) -> list[float]:
    """In microseconds; the clock's step is the least that a call can take."""
    return [max(ns, 1.0) / NS_PER_US
            for ns in (*(one.shares[kind, share] for share in SHARES), one.worst_of(kind))]


def panel(title: str, by_name: dict, kind: str, up: svg.Scale) -> svg.Drawing:
    curves = {name: curve(one, kind) for name, one in by_name.items()}
    drawing = svg.Drawing(WIDTH, HEIGHT, f"{title}, {kind}, us at 99.99 %: " + ", ".join(
        f"{name} {points[-2]:.2g}" for name, points in curves.items()))
    floor, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    names = [*SHARES.values(), "worst"]
    places = [LEFT + 14 + (edge - LEFT - 14) * at / (len(names) - 1) for at in range(len(names))]
    drawing.text(0, 13, f"{title}: {kind}", "chart-title")
    for value in up.ticks(7):
        drawing.line(LEFT, up(value), edge, up(value), "grid")
        drawing.text(LEFT - 6, up(value) + 4, f"{value:g}", "tick", "end")
    for place, name in zip(places, names):
        drawing.line(place, TOP, place, floor, "grid")
        drawing.text(place, floor + 16, name, "tick", "middle")
    marks = palette.marks(list(curves), SUBJECT)
    order = sorted(curves, key=lambda name: name == SUBJECT)  # draws the subject on top
    heights = labels.spread([up(curves[name][-1]) for name in order], LABEL_HEIGHT, TOP, floor)
    for name, label in zip(order, heights):
        colour, shape = marks[name]
        dots = list(zip(places, map(up, curves[name])))
        drawing.open("curve" + (" own" if name == SUBJECT else ""), data_allocator=name)
        drawing.add("path", class_=f"path edge-{colour}",
                    d="M" + "L".join(f"{svg.short(x)} {svg.short(y)}" for x, y in dots[:-1]))
        drawing.add("path", class_=f"path edge-{colour}", stroke_dasharray="3 3",
                    d="M" + "L".join(f"{svg.short(x)} {svg.short(y)}" for x, y in dots[-2:]))
        for (x, y), value, share in zip(dots, curves[name], names):
            drawing.mark(shape, x, y, 3, f"fill-{colour}", f"{name}, {share}: {value:.3g} us")
        drawing.add("path", class_="leader",
                    d=f"M{edge} {svg.short(dots[-1][1])}L{edge + 6} {svg.short(label)}h4")
        drawing.text(edge + 14, label + 4, name, "name")
        drawing.close()
    return drawing


def draw(found: dict, titles: dict[str, str]) -> str:
    """The file. `found` has the figures by load and allocator. One scale serves all panels."""
    every = [value for by_name in found.values() for one in by_name.values()
             for kind in KINDS for value in curve(one, kind)]
    up = svg.scale(every, HEIGHT - BOTTOM, TOP)
    panels = [panel(titles[load], by_name, kind, up)
              for load, by_name in found.items() for kind in KINDS]
    return svg.in_a_file(panels, len(KINDS), palette.written_out(charts.rules()),
                         "Microseconds of single calls")
