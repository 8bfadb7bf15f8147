# What it owns: which versions of glibc a listing of symbols names, by readelf or objdump.
# It must not know which version is served.
# SPDX-License-Identifier: MIT
"""Reads versions of glibc."""

import re


def newest(listing):
    """The newest version, as a tuple of numbers. A ValueError: the listing names none."""
    return max(tuple(map(int, text.split(".")))
               for text in re.findall(r"GLIBC_(\d[\d.]*)", listing))
