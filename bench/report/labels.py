# Labels that do not overlap.
#
# Owns: the placing of labels along one line (beside the ends of curves) and around points (in a
# scatter). It is plain geometry with guessed letter widths. A browser's fonts are not known here,
# so all widths have a margin.
#
# SPDX-License-Identifier: MIT

LETTER = 6.4       # width of a letter at the charts' 12 units
HEIGHT = 14.0


def spread(wanted: list[float], distance: float, low: float, high: float) -> list[float]:
    """Places in the wanted order and distance, inside the bounds if they all fit."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    last = low - distance
    for index in order:
        last = places[index] = max(wanted[index], last + distance)
    over = last - high
    if order and over > 0:  # shift back from the end
        bound = high
        for index in reversed(order):
            places[index] = min(places[index], bound)
            bound = places[index] - distance
    return places


def overlap(one: tuple, other: tuple) -> float:
    """The common area of two boxes (left, top, right, bottom)."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def places_around(x: float, y: float, text: str, reach: float) -> list[tuple]:
    """(anchor, x, y, box) of the possible places of a label, the best first."""
    width, found = len(text) * LETTER + 2, []
    for step in (reach, reach + 12, reach + 26):
        for right, up in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)):
            left_edge = x + right * step if right > 0 else \
                x - step - width if right < 0 else x - width / 2
            middle = y + up * (step if right == 0 else step * 0.9)
            anchor = {1: "start", -1: "end", 0: "middle"}[right]
            at = {1: left_edge, -1: left_edge + width, 0: x}[right]
            found.append((anchor, at, middle,
                          (left_edge, middle - HEIGHT / 2, left_edge + width,
                           middle + HEIGHT / 2)))
    return found


def around(points: list[tuple[float, float, str]], bounds: tuple, reach: float) -> list[tuple]:
    """For each point (x, y, text) the place (anchor, x, y, box) that covers the least."""
    taken = [(x - reach, y - reach, x + reach, y + reach) for x, y, _ in points]
    chosen = []
    for x, y, text in points:
        def cost(numbered, own=(x - reach, y - reach, x + reach, y + reach)):
            number, (_, _, _, box) = numbered
            outside = (max(0, bounds[0] - box[0]) + max(0, box[2] - bounds[2])
                       + max(0, bounds[1] - box[1]) + max(0, box[3] - bounds[3]))
            covered = sum(overlap(box, other) for other in taken if other != own)
            return covered * 10 + outside * 1000 + number
        best = min(enumerate(places_around(x, y, text, reach)), key=cost)[1]
        taken.append(best[3])
        chosen.append(best)
    return chosen
