# SPDX-License-Identifier: MIT
"""Owns: a program that starts its own profile and tags what it allocates (tagged.c)."""

import gzip
import os
import subprocess
import tempfile
import unittest

import pprof_form
from process import program, talus

MEGABYTE = 1000000
HELD = {"": 10, "request": 30, "image": 40, "a name that is longer than a ta": 15}


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
        found[tag] = found.get(tag, 0) + pprof_form.numbers(sample[2][0])[3]
    return found


class Tags(unittest.TestCase):
    def test_bytes_by_tag(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tags.pb.gz")
            with subprocess.Popen([program("tagged")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as child:
                self.assertEqual(child.stdout.readline(), "ready\n")
                done = talus("profile", "-o", path, child.pid)
                self.assertEqual(done.returncode, 0, done.stderr)
                child.stdin.close()
            found = bytes_by_tag(path)
            self.assertEqual(set(found), set(HELD))
            for tag, megabytes in HELD.items():
                truth = megabytes * MEGABYTE
                self.assertLess(abs(found[tag] - truth), truth / 7, (tag, found))


if __name__ == "__main__":
    unittest.main()
