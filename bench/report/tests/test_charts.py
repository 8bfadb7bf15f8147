# Tests of the drawings: they are well-formed XML, show all measured values, and keep different
# values distinguishable.
#
# SPDX-License-Identifier: MIT

import re
import unittest
import xml.etree.ElementTree as xml

from bench import workloads
from bench.report import charts, figures, labels, notes, palette, record, svg

from .made_up import everything, record as made_record, sample

SVG = "{http://www.w3.org/2000/svg}"


def drawn(data: dict) -> charts.Charts:
    return charts.Charts(figures.compute(record.from_data(data)))


class Files(unittest.TestCase):
    def setUp(self):
        self.files = drawn(everything()).files()

    def test_all_are_sound_and_alone(self):
        self.assertEqual({"means.svg", "versus.svg", "heat-time.svg", "heat-memory.svg",
                          "time-memory.svg", "curves.svg"}, set(self.files))
        for name, text in self.files.items():
            with self.subTest(name):
                root = xml.fromstring(text)
                self.assertEqual(f"{SVG}svg", root.tag)
                self.assertNotIn("var(", text)
                self.assertNotRegex(text.replace("http://www.w3.org/2000/svg", ""),
                                    r"https?:|url\(")
                self.assertIn("prefers-color-scheme: dark", text)

    def test_no_coordinate_is_lost(self):
        for name, text in self.files.items():
            self.assertNotRegex(text, r'="(nan|inf|-inf)|[ML ]nan', name)

    def test_heat_has_a_text_for_each_cell(self):
        chart = drawn(everything())
        root = xml.fromstring(chart.files()["heat-time.svg"])
        cells = [one for one in root.iter(f"{SVG}text") if "heat-text" in one.get("class", "")]
        self.assertEqual(len(chart.record.workloads) * len(chart.record.allocators), len(cells))

    def test_every_class_of_a_drawing_has_a_colour(self):
        used = set(re.findall(r"(?:fill|edge)-((?:series|heat|subject)[\w-]*)",
                              "".join(re.sub(r"<style>.*?</style>", "", text, flags=re.S)
                                      for text in self.files.values())))
        self.assertTrue(used)
        self.assertLessEqual(used, set(palette.COLOURS))


class Strips(unittest.TestCase):
    def test_each_run_is_a_dot_and_noisy_ones_are_hollow(self):
        chart = drawn(everything())
        time = xml.fromstring(chart.strips("B4")[0].inline())
        dots = [one for group in time.iter("g") if group.get("class").startswith("runs")
                for one in group]
        self.assertEqual(17, len(dots))
        self.assertEqual(1, sum(one.get("class") == "noisy" for one in dots))

    def test_failures_have_a_row(self):
        self.assertIn("crash", drawn(everything()).strips("B5")[0].inline())

    def test_zero_one_sample_and_nothing(self):
        for samples in ([sample("V", "talus", 0.0, 0)], [sample("V", "talus", 0.0),
                                                        sample("V", "a", 0.0)],
                        [sample("V", "talus", outcome="crash", reason="\x00\x1b[0m")]):
            chart = drawn(made_record(samples))
            for drawing in chart.strips("V"):
                xml.fromstring(drawing.inline())
            for text in chart.files().values():
                xml.fromstring(text)


class Scales(unittest.TestCase):
    def test_ticks_are_inside_and_few(self):
        for low, high in ((0.17, 1.0), (1, 10.8), (0.9, 1.1), (1, 1e6), (0.999, 1.001)):
            scale = svg.scale([low, high], 0, 100)
            ticks = scale.ticks(6)
            self.assertTrue(2 <= len(ticks) <= 7, (low, high, ticks))
            self.assertTrue(all(scale.low <= tick <= scale.high for tick in ticks))

    def test_equal_values_have_a_scale(self):
        for is_log in (True, False):
            scale = svg.scale([5.0, 5.0], 0, 100, is_log=is_log)
            self.assertAlmostEqual(50, scale(5.0))
            self.assertTrue(scale.ticks(4))


class Labels(unittest.TestCase):
    def test_spread_keeps_order_distance_and_bounds(self):
        places = labels.spread([50, 51, 52, 99, 98], 10, 0, 100)
        ordered = sorted(places)
        self.assertTrue(all(two - one >= 10 - 1e-9 for one, two in zip(ordered, ordered[1:])))
        self.assertTrue(0 <= ordered[0] and ordered[-1] <= 100)
        self.assertLess(places[4], places[3])

    def test_labels_of_a_cluster_do_not_lie_on_each_other(self):
        points = [(200 + 4 * number, 200 + 3 * number, "allocator") for number in range(6)]
        boxes = [spot[3] for spot in labels.around(points, (0, 0, 500, 500), 9)]
        shared = sum(labels.overlap(one, other) for index, one in enumerate(boxes)
                     for other in boxes[index + 1:])
        self.assertLess(shared, 100)


class Marks(unittest.TestCase):
    def test_no_two_allocators_look_alike(self):
        names = ["talus", *palette.KNOWN, *(f"other{number}" for number in range(12))]
        marks = palette.marks(names, "talus")
        self.assertEqual(len(names), len(set(marks.values())))

    def test_every_benchmark_has_a_note(self):
        numbers = {row.name.split("/")[0] for row in workloads.WORKLOADS
                   if row.name[0] in "BC" and row.name[1:2]}
        self.assertEqual(set(), numbers - set(notes.NOTES))


class Contrast(unittest.TestCase):
    """The numbers in the heat map are small: 4.5 to 1, as for any text."""

    def luminance(self, colour: str) -> float:
        parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                  for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(self, one: str, other: str, theme: int) -> float:
        light, dark = sorted((self.luminance(palette.COLOURS[name][theme])
                              for name in (one, other)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    def test_cells_and_text(self):
        pairs = [(f"heat-ink-{band}" if f"heat-ink-{band}" in palette.COLOURS else "ink",
                  f"heat-{band}") for band in range(8)]
        pairs += [(ink, paper) for ink in ("ink", "soft", "link", "good", "bad", "subject")
                  for paper in ("page", "card")]
        for ink, paper in pairs:
            for theme in (0, 1):
                with self.subTest(f"{ink} on {paper}, {'dark' if theme else 'light'}"):
                    self.assertGreaterEqual(self.contrast(ink, paper, theme), 4.5)


if __name__ == "__main__":
    unittest.main()
