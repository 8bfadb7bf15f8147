# The benchmark runner: python3 -m bench, from the repository's root.
#
# __main__.py   command line, the order of runs
# workloads.py  the rows: which program with which arguments
# allocators.py what is compared, and where its library is
# measuring.py  one run of one program under one allocator
# machine.py    what machine and how busy
# summary.py    medians, ratios, geometric means
# table.py      printing
#
# SPDX-License-Identifier: MIT
"""Benchmarks of Talus against other allocators."""
