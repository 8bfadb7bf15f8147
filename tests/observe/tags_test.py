# SPDX-License-Identifier: MIT
"""Owns: a program that starts its own profile and tags what it allocates (tagged.c)."""

import gzip
import json
import os
import re
import subprocess
import tempfile
import unittest

import pprof_form
from process import program, talus
from profile_page_test import data_of

MEGABYTE = 1000000
HELD = {"": 10, "request": 30, "image": 40, "a name that is longer than a ta": 15}
SHOWN = {tag or "(no tag)": megabytes for tag, megabytes in HELD.items()}
LIVE_BYTES = 3  # its place among the measures


def bytes_by_tag(path):
    """{tag: live bytes} of a profile for pprof."""
    with gzip.open(path, "rb") as file:
        profile = pprof_form.fields(file.read())
    texts = [text.decode() for text in profile[6]]
    found = {}
    for sample in map(pprof_form.fields, profile[2]):
        labels = {texts[label[1][0]]: texts[label[2][0]] for label in
                  map(pprof_form.fields, sample.get(3, [])) if 2 in label}
        tag = labels.get("tag", "")
        found[tag] = found.get(tag, 0) + pprof_form.numbers(sample[2][0])[LIVE_BYTES]
    return found


class Tags(unittest.TestCase):
    """All forms are of one process, which waits."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.child = subprocess.Popen([program("tagged")], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        assert cls.child.stdout.readline() == "ready\n"
        cls.profile("-o", cls.path("tags.pb.gz"), cls.child.pid)

    @classmethod
    def tearDownClass(cls):
        cls.child.communicate(timeout=60)
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @staticmethod
    def profile(*words):
        done = talus("profile", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def assert_held(self, found, truth):
        self.assertEqual(set(found), set(truth))
        for tag, megabytes in truth.items():
            bytes_held = megabytes * MEGABYTE
            self.assertLess(abs(found[tag] - bytes_held), bytes_held / 7, (tag, found))

    def test_bytes_by_tag(self):
        self.assert_held(bytes_by_tag(self.path("tags.pb.gz")), HELD)

    def test_the_table(self):
        """Of the process, and of its file."""
        for word in (self.child.pid, self.path("tags.pb.gz")):
            text = self.profile("--view", "tags", word)
            rows = re.findall(r"(?m)^ *([\d.]+) MiB +\d+ +[\d.]+ MiB +\d+  (\S.*)$", text)
            self.assert_held({tag: float(size) * (1 << 20) for size, tag in rows}, SHOWN)
            self.assertEqual([tag for _, tag in rows][:2], ["image", "request"], "by live bytes")
            self.assertRegex(text, r"(?m)  image\n.*    hold < main < ")

    def test_stacks(self):
        """The tag is the outermost frame."""
        text = self.profile("--view", "tags", "--collapsed", self.child.pid)
        found = {}
        for stack, size in re.findall(r"(?m)^(.*) (\d+)$", text):
            tag = stack.split(";")[0]
            found[tag] = found.get(tag, 0) + int(size)
        self.assert_held(found, SHOWN)

    def test_speedscope(self):
        self.profile("--view", "tags", "-o", self.path("tags.json"), self.child.pid)
        with open(self.path("tags.json"), encoding="utf-8") as file:
            form = json.load(file)
        live = form["profiles"][form["activeProfileIndex"]]
        self.assertEqual(live["name"], "Live bytes")
        found = {}
        for stack, size in zip(live["samples"], live["weights"]):
            tag = form["shared"]["frames"][stack[0]]["name"]
            found[tag] = found.get(tag, 0) + size
        self.assert_held(found, SHOWN)

    def test_the_page(self):
        """Each stack has its tag in any view; in this one it is a frame, too."""
        for words, is_frame in ((("--view", "tags"), True), ((), False)):
            self.profile(*words, "-o", self.path("tags.html"), self.child.pid)
            data = data_of(self.path("tags.html"))
            found = {}
            for stack, _, *values in data["stacks"]:
                tag = data["tags"][values[-1]]
                found[tag] = found.get(tag, 0) + values[LIVE_BYTES]
                self.assertEqual(data["frames"][stack[0]][0] == (tag or "(no tag)"), is_frame)
            self.assert_held(found, HELD)

    def test_a_difference(self):
        """A file keeps tags, so nothing is left of a profile less its own file."""
        text = self.profile("--view", "tags", "--diff", self.path("tags.pb.gz"), "-o",
                            self.path("none.pb.gz"), "--text", self.child.pid)
        sizes = re.findall(r"(?m)^ +([-+]?\d+) B +-?\d+ +([-+]?\d+) B +-?\d+  (\S.*)$", text)
        self.assertEqual({tag for _, _, tag in sizes}, set(SHOWN))
        self.assertTrue(all(abs(int(size)) < 1024 for row in sizes for size in row[:2]), text)
        self.assertEqual(set(bytes_by_tag(self.path("none.pb.gz"))), set(HELD))


if __name__ == "__main__":
    unittest.main()
