# SPDX-License-Identifier: MIT
"""Owns: which free memory live blocks hold back, of a program that pins pages (pinning.cpp)."""

import json
import re
import unittest

import pprof_form
from one_program import OneProgram
from process import talus

PINS, PIN_BYTES, PAGE = 10000, 256, 4096
DENSE_BYTES = 40000 * 490


class Pins(OneProgram):
    PROGRAM = "pinning"
    OPTIONS = {"TALUS_PROFILE": "4KiB", "TALUS_HELPER": "0", "TALUS_THP": "never"}

    def resident_after(self, letter):
        return int(self.child.ask(letter))

    # About 600 of the blocks are sampled, so the estimates are off by 4 % (one deviation).
    def test_what_pins_and_what_a_purge_would_give(self):
        path = self.path("pins.pb.gz")
        before = self.resident_after("p")
        text = self.profile("--view", "pins", "-o", path, "--text")
        why = talus("why", self.child.pid).stdout
        seen = json.loads(talus("why", "--json", self.child.pid).stdout)
        self.resident_after("f")
        # Free pages between samples go, too: what stays lies on pages with samples.
        self.assertLess(seen["parts"]["free"]["sample_room_bytes"],
                        seen["sample_areas"]["room_bytes"] / 3)
        given = before - self.resident_after("p")
        self.assertGreater(given, PINS * PAGE * 0.9, "the program pins what it says")

        profile = pprof_form.read(path)
        self.assertEqual(profile.types, [*pprof_form.TYPES, ("pinned_space", "bytes"),
                                         ("purgeable_space", "bytes")])
        self.assertEqual(profile.shown, "pinned_space")
        sums = pprof_form.by_function(profile)
        pinned, purgeable = sums["pin_page"][6:]
        self.assertAlmostEqual(pinned / (PINS * (PAGE - PIN_BYTES)), 1, delta=0.2)
        self.assertAlmostEqual(purgeable / given, 1, delta=0.2)
        self.assertLess(abs(sums["hold_dense"][6]), DENSE_BYTES / 10)
        self.assertEqual(sums["fill_between"][2:4], [0, 0])

        rows = re.findall(r"(?m)^ +([\d.]+) MiB +[\d.]+ MiB .*  (\w+) < main", text)
        self.assertEqual(rows[0][1], "pin_page")
        self.assertAlmostEqual(float(rows[0][0]) * (1 << 20) / pinned, 1, delta=0.01)

        site = seen["sites"][0]
        self.assertTrue(site["name"].startswith("pin_page < main"), site)
        self.assertAlmostEqual(site["pinned_bytes"] / pinned, 1, delta=0.01)
        self.assertEqual(len(seen["sites"]), 3)
        self.assertRegex(why, r"(?m)^  pin_page < main.* [\d.]+ MiB +[\d.]+ MiB$")
        self.assertRegex(why, r"(?m)^  Of them [\d.]+ MiB lie beside blocks of pin_page")
        self.assertEqual([line for line in why.splitlines() if len(line) > 80], [])

    def test_a_file_for_speedscope(self):
        path = self.path("heap.json")
        self.profile("-o", path)
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        # As https://www.speedscope.app/file-format-schema.json requires it.
        self.assertEqual(data["$schema"], "https://www.speedscope.app/file-format-schema.json")
        frames = data["shared"]["frames"]
        for frame in frames:
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
            self.assertIsInstance(frame["name"], str)
        for profile in data["profiles"]:
            self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue",
                                            "samples", "weights"})
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], ("bytes", "none"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(sum(profile["weights"]), profile["endValue"] - profile["startValue"])
            self.assertTrue(all(0 <= place < len(frames) for stack in profile["samples"]
                                for place in stack))
        shown = data["profiles"][data["activeProfileIndex"]]
        self.assertEqual(shown["name"], "Live bytes")
        dense = sum(weight for stack, weight in zip(shown["samples"], shown["weights"])
                    if frames[stack[-1]]["name"] == "hold_dense")
        self.assertAlmostEqual(dense / DENSE_BYTES, 1, delta=0.15)
        outer = {frames[stack[0]]["name"] for stack in shown["samples"]}
        self.assertNotIn("hold_dense", outer, "the outermost frame is first")


if __name__ == "__main__":
    unittest.main()
