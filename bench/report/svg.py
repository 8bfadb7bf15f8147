# A small writer of SVG.
#
# Owns: elements, escaping, the shapes of marks, axes and their ticks, and files with several
# drawings side by side. It knows nothing of allocators.
# All styles come from classes (template/chart.css), so that one drawing serves light and dark.
#
# SPDX-License-Identifier: MIT

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

GAP = 24
MANTISSAS = ((1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.3, 2.6, 3, 3.5, 4, 5, 6, 7, 8, 9),
             (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))


def clean(text) -> str:
    """Text without the control characters that XML forbids."""
    return "".join(letter for letter in str(text)
                   if letter >= " " and not "\ud800" <= letter <= "\udfff"
                   and letter not in "\ufffe\uffff")


def short(value: float) -> str:
    """A coordinate: a tenth of a unit is finer than any screen shows."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value else "0"


@dataclass
class Drawing:
    width: float
    height: float
    title: str                     # the text of a screen reader in place of the picture
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, text: str | None = None, hint: str | None = None, **given) -> None:
        attributes = "".join(
            f" {name.rstrip('_').replace('_', '-')}="
            + (f'"{short(value)}"' if isinstance(value, (int, float))
               else quoteattr(clean(value)))
            for name, value in given.items() if value is not None)
        inside = escape(clean(text)) if text is not None else ""
        if hint:
            inside = f"<title>{escape(clean(hint))}</title>{inside}"
        self.parts.append(f"<{tag}{attributes}>{inside}</{tag}>" if inside
                          else f"<{tag}{attributes}/>")

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str) -> None:
        self.add("path", d=f"M{short(x1)} {short(y1)}L{short(x2)} {short(y2)}", class_=class_)

    def text(self, x: float, y: float, text: str, class_: str | None = None,
             anchor: str | None = None, **given) -> None:
        self.add("text", text, x=x, y=y, class_=class_, text_anchor=anchor, **given)

    def open(self, class_: str | None = None, hint: str | None = None, **given) -> None:
        attributes = "".join(f" {name.replace('_', '-')}={quoteattr(clean(value))}"
                             for name, value in {"class": class_, **given}.items()
                             if value is not None)
        self.parts.append(f"<g{attributes}>")
        if hint:
            self.parts.append(f"<title>{escape(clean(hint))}</title>")

    def close(self) -> None:
        self.parts.append("</g>")

    def mark(self, shape: str, x: float, y: float, size: float, class_: str,
             hint: str | None = None) -> None:
        if shape == "circle":
            self.add("circle", hint=hint, cx=x, cy=y, r=size, class_=class_)
            return
        self.add("path", hint=hint, d=shape_path(shape, x, y, size), class_=class_)

    def inline(self) -> str:
        """For a page that contains the rules."""
        return (f'<svg viewBox="0 0 {short(self.width)} {short(self.height)}" role="img" '
                f'aria-label={quoteattr(clean(self.title))}>{"".join(self.parts)}</svg>')


def shape_path(shape: str, x: float, y: float, size: float) -> str:
    """Marks of about the area of a circle with this radius."""
    corners = {
        "square": [(-.88, -.88), (.88, -.88), (.88, .88), (-.88, .88)],
        "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        "triangle": [(0, -1.25), (1.2, .9), (-1.2, .9)],
        "cross": [(-.4, -1.2), (.4, -1.2), (.4, -.4), (1.2, -.4), (1.2, .4), (.4, .4), (.4, 1.2),
                  (-.4, 1.2), (-.4, .4), (-1.2, .4), (-1.2, -.4), (-.4, -.4)],
    }[shape]
    return "M" + "L".join(f"{short(x + size * dx)} {short(y + size * dy)}"
                          for dx, dy in corners) + "Z"


def in_a_file(drawings: list[Drawing], columns: int, rules: str, heading: str = "") -> str:
    """One SVG file of its own, with the drawings in rows of this many columns."""
    rows = [drawings[start:start + columns] for start in range(0, len(drawings), columns)]
    width = max(sum(one.width for one in row) + GAP * (len(row) + 1) for row in rows)
    top = GAP + (28 if heading else 0)
    parts = []
    for row in rows:
        left = GAP
        for one in row:
            parts.append(f'<g transform="translate({short(left)} {short(top)})">'
                         + "".join(one.parts) + "</g>")
            left += one.width + GAP
        top += max(one.height for one in row) + GAP
    title = heading or "; ".join(one.title for one in drawings)
    head = Drawing(width, top, title)
    head.add("rect", x=0, y=0, width=width, height=top, rx=8, class_="paper")
    if heading:
        head.text(GAP, 34, heading, "heading")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {short(width)} {short(top)}" '
            f'width="{short(width)}" height="{short(top)}" role="img" class="chart" '
            f'aria-label={quoteattr(clean(title))}><style>{escape(rules)}</style>'
            + "".join(head.parts + parts) + "</svg>\n")


@dataclass(frozen=True)
class Scale:
    """Maps values to a range of the drawing, logarithmic or linear."""
    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = math.log(max(value, 1e-300)), math.log(low), math.log(high)
        part = (value - low) / (high - low)
        return self.start + min(max(part, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        if self.is_log:
            found = log_ticks(self.low, self.high, most)
            if len(found) > 1:
                return found
        return linear_ticks(self.low, self.high, most)


def scale(values: list[float], start: float, end: float, *, is_log: bool = True,
          margin: float = 0.06, must_show: tuple = ()) -> Scale:
    """A scale that shows all values with a margin. Logarithms need values above zero."""
    shown = [value for value in (*values, *must_show) if value > 0 or not is_log] or [1.0]
    low, high = min(shown), max(shown)
    if is_log:
        air = max((high / low) ** margin, 1.03)
        return Scale(low / air, high * air, start, end, True)
    air = max((high - low) * margin, abs(high) * 0.01, 1e-12)
    return Scale(low - air, high + air, start, end, False)


def log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in MANTISSAS:
        found = [one for decade in decades for mantissa in mantissas
                 if low <= (one := mantissa * 10.0 ** decade) <= high]
        if len(found) <= most:
            return found
    step = math.ceil(len(found) / most)
    return found[::step]


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]
