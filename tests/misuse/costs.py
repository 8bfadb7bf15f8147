#!/usr/bin/env python3
"""Measures what allocators and modes cost in real programs, and keeps the least of each.

    costs.py --rounds 5 --allocator NAME=LIBRARY[,VARIABLE=VALUE...] ... --keep

The allocators take turns in each round, so that a busy machine slows all alike. Time is user and
system time of the processor, memory the largest resident size. Other work only adds to either, so
the least of all rounds counts. The first allocator is 1 in the
tables of docs/hardening.md (page.py). A program that fails is no figure. Standard library only.
SPDX-License-Identifier: MIT
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the source folder stays clean

import run  # noqa: E402

KEPT = Path(__file__).resolve().parent / "costs.json"
PYTHON = r"""
import json, random
random.seed(1)
rows = [{"id": i, "name": str(random.random()), "tags": [str(j * i) for j in range(8)]}
        for i in range(6000)]
text = json.dumps(rows)
for _ in range(3):
    rows = sorted(json.loads(text), key=lambda row: row["name"])
print(len(rows), rows[0]["id"])
"""
SQL = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO t SELECT i, 'row ' || (i * 7919 % 60000), i * 0.5 FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(length(x.b)) FROM t x JOIN t y ON x.b = y.b;
SELECT b, group_concat(a) FROM t GROUP BY substr(b, 1, 6) ORDER BY 1 LIMIT 5;
"""
PERL = r"""
my %h; my $sum = 0;
for my $i (1 .. 120000) { $h{"key" . ($i * 7919 % 50000)} .= "v$i,"; }
for my $k (sort keys %h) { $sum += length($h{$k}) + scalar(split /,/, $h{$k}); }
print "$sum\n";
"""
LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  static void* blocks[4096];
  unsigned state = 1;
  for (int i = 0; i < 6000000; i++) {
    state = state * 1664525 + 1013904223;
    void** place = &blocks[state >> 20];
    free(*place);
    *place = malloc(16 + (state >> 9) % 500);
    *(char*)*place = 1;
  }
  puts("done");
  return 0;
}
"""
# Starts a program and tells its time and memory. Python's own memory would count for its children.
SPAWN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec * 1e-6; }
int main(int count, char** words) {
  struct rusage used;
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    if (words[1][0] != 0) setenv("LD_PRELOAD", words[1], 1);
    execvp(words[2], words + 2);
    _exit(127);
  }
  if (count < 3 || wait4(child, &status, 0, &used) != child) return 1;
  fprintf(stderr, "\ncost %.6f %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime),
          used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
"""
SOURCE = "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n" + "".join(
    f"long f{i}(std::map<std::string, long>& m, std::vector<long> v) {{ std::sort(v.begin(), "
    f"v.end()); for (long x : v) m[std::to_string(x + {i})] += {i}; return m.size(); }}\n"
    for i in range(12))


def programs(folder):
    """{title: (command, environment)}; the files that they need are in the folder."""
    for name, text in (("p.py", PYTHON), ("s.sql", SQL), ("p.pl", PERL), ("l.c", LOOP),
                       ("m.c", SPAWN), ("s.cpp", SOURCE)):
        (folder / name).write_text(text, encoding="utf-8")
    for source, name in (("l.c", "loop"), ("m.c", "spawn")):
        subprocess.run(["cc", "-O1", "-fno-builtin", folder / source, "-o", folder / name],
                       check=True)
    return {"malloc loop": ([folder / "loop"], {}),
            "python3": ([sys.executable, folder / "p.py"], {"PYTHONMALLOC": "malloc"}),
            "sqlite3": (["sqlite3", ":memory:", f".read {folder / 's.sql'}"], {}),
            "perl": (["perl", folder / "p.pl"], {}),
            "g++": (["g++", "-std=c++17", "-O1", "-c", folder / "s.cpp", "-o", "/dev/null"], {})}


def measure(spawn, command, environment):
    """(seconds of the processor, KiB at most, what it printed)."""
    environment = dict(environment)
    library = environment.pop("LD_PRELOAD", "")
    done = subprocess.run([str(word) for word in (spawn, library, *command)], env=environment,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    cost = re.search(rb"\ncost ([\d.]+) (\d+)\n$", done.stderr)
    if done.returncode != 0 or cost is None:
        raise RuntimeError(f"{command[0]}: status {done.returncode}: {done.stderr[-200:]}")
    return float(cost[1]), int(cost[2]), done.stdout


def measure_all(allocators, rounds, seconds):
    """{program: {allocator: (least seconds, least KiB)}}; rounds end with the time."""
    found = {}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        cases = programs(Path(name))
        spawn = Path(name) / "spawn"
        done = 0
        while done < rounds and (done == 0 or time.monotonic() < end):
            for title, (command, variables) in cases.items():
                texts = set()
                for allocator in allocators:
                    environment = allocator.environment() | variables
                    used, kib, text = measure(spawn, command, environment)
                    texts.add(text)
                    found.setdefault(title, {}).setdefault(allocator.name, []).append((used, kib))
                if len(texts) != 1:
                    raise RuntimeError(f"{title} prints something else under another allocator")
            done += 1
            print(f"round {done}", file=sys.stderr, flush=True)
    return done, {title: {name: [round(min(column), 4) for column in zip(*runs)]
                          for name, runs in by_name.items()} for title, by_name in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--allocator", action="append", required=True, type=run.parse_allocator,
                        metavar="NAME=LIBRARY[,VARIABLE=VALUE...]", help="the first is 1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=600, help="no round begins after these")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}")
    arguments = parser.parse_args()
    done, least = measure_all(arguments.allocator, arguments.rounds, arguments.seconds)
    result = {"date": datetime.date.today().isoformat(), "rounds": done,
              "processors": os.cpu_count(),
              "allocators": [one.describe() for one in arguments.allocator], "least": least}
    text = json.dumps(result, indent=1) + "\n"
    if arguments.keep:
        KEPT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
