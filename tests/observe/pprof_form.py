# SPDX-License-Identifier: MIT
"""Owns: this side's own decoder of profiles for pprof, which shares no code with the command."""

import gzip
from collections import namedtuple

TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
         ("inuse_space", "bytes"), ("peak_objects", "count"), ("peak_space", "bytes")]
Line = namedtuple("Line", "function symbol file line first_line")
# samples: (stack of Lines, values); labels: {key: text or number} of each sample
Profile = namedtuple("Profile", "samples labels build_ids types shown")


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{field: [number or bytes]} of a message."""
    found, at = {}, 0
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(data):
    found, at = [], 0
    while at < len(data):
        value, at = number(data, at)
        found.append(value - (1 << 64) if value >> 63 else value)
    return found


def read(path):
    with gzip.open(path, "rb") as file:
        return decoded(file.read())


def decoded(data):
    profile = fields(data)
    texts = [text.decode() for text in profile[6]]

    def text(row, field):
        return texts[row.get(field, [0])[0]]

    functions = {row[1][0]: row for row in map(fields, profile.get(5, []))}
    places = {}
    for row in map(fields, profile.get(4, [])):
        places[row[1][0]] = lines = []
        for line in map(fields, row.get(4, [])):
            function = functions[line[1][0]]
            lines.append(Line(text(function, 2), text(function, 3), text(function, 4),
                              line.get(2, [0])[0], function.get(5, [0])[0]))
    samples, labels = [], []
    for row in map(fields, profile.get(2, [])):
        stack = [line for place in numbers(row.get(1, [b""])[0]) for line in places[place]]
        samples.append((stack, numbers(row[2][0])))
        labels.append({text(one, 1): text(one, 2) if 2 in one else one.get(3, [0])[0]
                       for one in map(fields, row.get(3, []))})
    types = [(text(row, 1), text(row, 2)) for row in map(fields, profile[1])]
    build_ids = [text(row, 6) for row in map(fields, profile.get(3, [])) if 6 in row]
    return Profile(samples, labels, build_ids,
                   types, text(profile, 14))


def by_function(profile):
    """{innermost function: [sums of the four sample types]}"""
    sums = {}
    for stack, values in profile.samples:
        name = stack[0].function if stack else "?"
        sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(values)), values)]
    return sums


def packed(data):
    return gzip.compress(data, mtime=0)
