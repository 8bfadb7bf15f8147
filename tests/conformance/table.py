#!/usr/bin/env python3
"""Runs the conformance suite on several allocators and writes a Markdown table.

Rows are probes, columns allocators: the libc's own, the three that distributions package, and the
library given with --talus. A library that is not installed is left out and named. Below the table
stand the figures that probes measured and the reasons of each failure; what the text above it says
of outcomes is taken from them, see table_test.py. With --retention the page
is the one of retention.py: its probes, its columns, figures in each cell. Only the standard
library.
SPDX-License-Identifier: MIT
"""

import argparse
import datetime
import os
import platform
import re
import sys
import textwrap
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import retention  # noqa: E402
import run  # noqa: E402

LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                   "/usr/lib", "/usr/local/lib")
PACKAGED = (
    ("jemalloc", ("libjemalloc.so.2",)),
    ("mimalloc", ("libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc.so")),
    ("gperftools", ("libtcmalloc_minimal.so.4",)),
)
CELLS = {"passed": "pass", "failed": "**fail**", "skipped": "skip"}
REASONS_PER_FAILURE = 2


def find_library(names):
    for folder in LIBRARY_FOLDERS:
        for name in names:
            path = Path(folder) / name  # a name that is a path from the root stays what it is
            if path.is_file():
                return path
    return None


def choose_allocators(arguments):
    """(column, library or None) pairs; None is the libc's own allocator."""
    chosen = []
    if arguments.talus:
        chosen.append(("talus", run.resolve_preload(arguments.talus)))
    chosen.append(("glibc", None))
    packaged = PACKAGED
    if arguments.retention:
        packaged = retention.columns(PACKAGED, Path(arguments.peers).absolute())
    for name, files in packaged:
        library = find_library(files)
        if library is None:
            print(f"{name} is not installed: left out")
        else:
            chosen.append((name, library))
    for pair in arguments.also:
        name, _, path = pair.partition("=")
        chosen.append((name, run.resolve_preload(path)))
    left_out = arguments.skip.split(",")
    return [(name, library) for name, library in chosen if name not in left_out]


def run_all(arguments, programs):
    suites = {}
    for name, library in choose_allocators(arguments):
        print(f"== {name}")
        extra = run.form_environment(arguments.soak)
        if name == "talus" and arguments.talus_static:
            extra["CONFORMANCE_STATIC_LIB"] = str(Path(arguments.talus_static).absolute())
        timeout = arguments.timeout or run.form_timeout(arguments.soak)
        results = run.run_suite(programs, library, timeout, extra)
        print(run.count_line(results))
        suites[name] = results
    return suites


def table_lines(suites):
    names = list(suites)
    lines = ["| probe | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    by_probe = {name: {r["probe"]: r for r in results} for name, results in suites.items()}
    for probe in sorted(next(iter(by_probe.values()))):
        cells = [CELLS[by_probe[name][probe]["outcome"]] for name in names]
        lines.append(f"| {probe} | " + " | ".join(cells) + " |")
    totals = [run.count_line(suites[name]).replace(", ", "<br>") for name in names]
    lines.append("| **all** | " + " | ".join(totals) + " |")
    seconds = [f"{sum(r['seconds'] for r in suites[name]):.0f} s" for name in names]
    lines.append("| time | " + " | ".join(seconds) + " |")
    return lines


def figure_lines(suites):
    names = list(suites)
    rows = {}
    for name, results in suites.items():
        for result in results:
            for figure, value in result["figures"]:
                rows.setdefault((result["probe"], figure), {})[name] = value
    lines = ["| probe | figure | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for (probe, figure), values in sorted(rows.items()):
        cells = [values.get(name, "-") for name in names]
        lines.append(f"| {probe} | {figure} | " + " | ".join(cells) + " |")
    return lines


# A probe prints its condition, then what happened (probe.hpp). Readers need the latter.
CONDITION = re.compile(r"^expected .*?(?<! ): ")


def shown(reason):
    """A reason as one Markdown cell: no condition, bars, links or local paths, not too long."""
    words = [
        word.rsplit("/", 1)[-1] if word.startswith("/") and len(word) > 1 else word
        for word in CONDITION.sub("", reason).split()
    ]
    return " ".join(words).replace("|", "/").replace("<", "&lt;").replace("](", "] (")[:200]


def failure_lines(suites):
    lines = []
    for name, results in suites.items():
        failed = [result for result in results if result["outcome"] == "failed"]
        if not failed:
            continue
        lines += [f"### {name}", ""]
        for result in failed:
            reasons = [shown(reason) for reason in result["reasons"][:REASONS_PER_FAILURE]]
            lines.append(f"- `{result['probe']}`: " + "; ".join(reasons))
        lines.append("")
    return lines or ["Nothing."]


def write_report(path, suites, introduction, table):
    today = datetime.date.today().isoformat()
    machine = f"Linux {platform.release().split('-')[0]}, {platform.machine()}, " \
              f"{os.cpu_count()} processors, {' '.join(platform.libc_ver())}"
    lines = [introduction.rstrip(), "", f"Run of {today} on {machine}.", ""]
    lines += table
    lines += ["", "## Figures", ""] + figure_lines(suites)
    lines += ["", "## What failed", ""] + failure_lines(suites)
    Path(path).write_text("\n".join(lines).rstrip() + "\n")


INTRODUCTION = """# Conformance

For readers who compare how allocators follow the standards.

The sentences below say how many probes each allocator fails. Each row is a small program of
`tests/conformance` that checks what a program may expect of its allocator. It runs with the
allocator preloaded, and the head of its source says what it checks and how.
`tests/conformance/table.py` writes this file; do not edit it by hand."""

ENDING = """\
Skips are calls a library does not have, or a probe that needs what was not given: an archive for
static linking, a preload. All columns are of one run. Some outcomes depend on how threads meet:
`start_interposer` has both hung and passed under gperftools."""

# What is known of failures, for the sentence that begins with the probe's name. It is told only
# where the run has that failure.
EXAMINED = {
    ("glibc", "cxx_wrapping_new"): "is a fault of libstdc++ up to 12, whose own aligned `new` "
                                   "rounds the size up without looking for overflow",
    ("glibc", "fork_copy_on_write"): "asks for more than glibc sets out to give: its lists run "
                                     "through free blocks",
    ("glibc", "memory_idle_release"): "asks for more than glibc sets out to give: nothing leaves "
                                      "an idle process",
    ("talus", "memory_drift"): "asks about a day, of which a short run says little",
}
EXAMINED_COLUMNS = {"talus": "Talus", "glibc": "glibc"}


def known_failures(name, failed):
    """Sentences about what is known, then one that names the failures of which nothing is."""
    sentences = [f"`{probe}` {EXAMINED[name, probe]}." for probe in failed
                 if (name, probe) in EXAMINED]
    unknown = [f"`{probe}`" for probe in failed if (name, probe) not in EXAMINED]
    if unknown:
        sentences.append(f"Not explained here: {', '.join(unknown)}.")
    return sentences


def outcome_text(name, results):
    """How a column did, in words: nothing but what its results say."""
    failed = [result["probe"] for result in results if result["outcome"] == "failed"]
    asked = sum(result["outcome"] != "skipped" for result in results)
    count = str(len(failed)) if failed else "none"
    sentences = [f"{EXAMINED_COLUMNS[name]} fails {count} of {asked} probes."]
    return " ".join(sentences + known_failures(name, failed))


def introduction(suites):
    texts = [outcome_text(name, suites[name]) for name in EXAMINED_COLUMNS if name in suites]
    paragraphs = [textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
                  for text in texts]
    return "\n\n".join([INTRODUCTION, *paragraphs, ENDING])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of the built probes")
    parser.add_argument("--talus", help="libtalus.so, for a column of its own")
    parser.add_argument("--talus-static", help="libtalus.a, for the static link probe")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=LIB",
                        help="a further allocator; may be repeated")
    parser.add_argument("--only", help="glob or part of the names of the probes to run")
    parser.add_argument("--timeout", type=float, help="seconds each probe may take")
    parser.add_argument("--retention", action="store_true",
                        help="the page on retained memory, with its own columns")
    parser.add_argument("--peers", default="build/peers",
                        help="folder of the built peers, for --retention (default %(default)s)")
    parser.add_argument("--skip", default="", metavar="NAMES",
                        help="columns to leave out, copied by commas")
    parser.add_argument("--soak", action="store_true", help="the full forms of the probes")
    parser.add_argument("--out", help="the file to write (conformance.md, retention.md)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    programs = run.find_programs(arguments.programs, arguments.only)
    if not programs:
        sys.exit("table.py: no programs match")
    if arguments.retention:
        programs = retention.only_promised(programs)
    suites = run_all(arguments, programs)
    if arguments.retention:
        out = arguments.out or "retention.md"
        write_report(out, suites, retention.INTRODUCTION, retention.table_lines(suites))
    else:
        out = arguments.out or "conformance.md"
        write_report(out, suites, introduction(suites), table_lines(suites))
    print(f"written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
