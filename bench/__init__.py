# The benchmark runner: python3 -m bench, from the repository's root.
#
# __main__.py       command line; command_line.py the options that several commands share
# workloads.py      the rows: which program with which arguments
# programs.py       rows of installed programs; redis.py the one with a client,
#                   program_inputs.py their inputs
# allocators.py     the allocators to compare, and their libraries
# rounds.py         the order of runs
# measuring.py      one run of one program under one allocator
# instructions.py   instructions of a malloc and free pair
# machine.py        the machine and its load
# summary.py        medians, ratios, geometric means
# intervals.py      the intervals of these figures
# held_out.py       beside the best rival, without the luck of the best
# self_check.py     an allocator against itself
# gate.py           python3 -m bench.gate: did Talus get worse?
# table.py          printing; progress.py during a run
# record.py         the JSON, described in results.md
# kept.py           a run as git keeps it, and the reading of both forms
# keep.py           python3 -m bench.keep: keeps a run in bench/results
# corner.py         python3 -m bench.corner: each allocator beside its best rivals
# history.py        python3 -m bench.history: the tables of all kept full runs
# readme.py         python3 -m bench.readme: README's figures and charts of one kept run
# report/           pages and charts made from the JSON
#
# SPDX-License-Identifier: MIT
"""Benchmarks of Talus against other allocators."""
