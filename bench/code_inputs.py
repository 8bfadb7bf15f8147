# The inputs of compilers, linkers, solvers and interpreters: texts made here, none stored.
#
# Owns: the texts and the amount of work at scale 1 (about a second under glibc).
# Invariant: a text depends on its scale alone: no clock, no unseeded random numbers.
#
# SPDX-License-Identifier: MIT

import functools
import math
import random
import subprocess
import tempfile
from pathlib import Path

ASSEMBLY_FUNCTIONS = 40_000
OBJECTS = 24
OBJECT_FUNCTIONS = 2000
MAKE_TARGETS = 20_000
CLAUSES = 500
SOURCES = 180


def assembly(functions: int, name: str = "f") -> str:
    """Functions of a few instructions, in directives that every GNU assembler knows."""
    parts = []
    for at in range(functions):
        parts.append(f".section .text.{name}{at}\n.globl {name}{at}\n.type {name}{at}, %function\n"
                     f"{name}{at}:\n.long {at}, {at * 7919 % 65537}\n"
                     f".quad {name}{at * 31 % functions}\n"
                     f".L{name}{at}:\n.long .L{name}{at} - {name}{at}\n"
                     f".size {name}{at}, . - {name}{at}\n"
                     f".section .rodata.{name}{at}\n.string \"text {at} of {name}\"\n")
    return "".join(parts)


@functools.cache
def objects(assembler: str, scale: float) -> tuple[bytes, ...]:
    """Object files for a linker. They are made once, without any preload."""
    made = []
    functions = max(10, round(OBJECT_FUNCTIONS * scale))
    with tempfile.TemporaryDirectory(prefix="talus-bench-") as folder:
        source, made_file = Path(folder) / "in.s", Path(folder) / "out.o"
        for number in range(OBJECTS):
            source.write_text(assembly(functions, f"o{number}_"))
            subprocess.run([assembler, "-o", str(made_file), str(source)], check=True,
                           stdin=subprocess.DEVNULL, capture_output=True)
            made.append(made_file.read_bytes())
    return tuple(made)


def makefile(scale: float) -> str:
    """Targets with variables, patterns and functions of make. None runs a command."""
    count = max(100, round(MAKE_TARGETS * scale))
    parts = ["all: target0\n.PHONY: all\nCOMMON := $(foreach n,1 2 3 4 5 6 7 8,dir$(n)/x)\n"]
    for at in range(count):
        inner = " ".join(f"target{child}" for child in (2 * at + 1, 2 * at + 2) if child < count)
        parts.append(f"FLAGS{at} = $(sort $(COMMON) -I{at} -D{at % 97}=$(words $(COMMON)))\n"
                     f"target{at}: {inner}\n\t@: $(subst dir,d,$(FLAGS{at})) "
                     f"$(patsubst %,lib%.a,$^)\n.PHONY: target{at}\n")
    return "".join(parts)


def smt_problem(scale: float) -> str:
    """Bit vectors and arrays: each part is solved anew."""
    parts = ["(set-logic QF_ABV)\n"]
    draws = random.Random(8)
    for part in range(max(1, round(CLAUSES * scale))):
        parts.append("(push)\n(declare-fun a () (Array (_ BitVec 8) (_ BitVec 16)))\n")
        parts += [f"(declare-fun x{at} () (_ BitVec 16))\n" for at in range(12)]
        for at in range(12):
            other, third = draws.randrange(12), draws.randrange(12)
            parts.append(f"(assert (= (bvadd x{at} (bvmul x{other} #x{draws.randrange(65536):04x}))"
                         f" (select (store a #x{part % 256:02x} x{third}) "
                         f"((_ extract 7 0) x{other}))))\n")
        parts.append(f"(assert (bvult x0 #x{1000 + part:04x}))\n(check-sat)\n(pop)\n")
    return "".join(parts)


def linear_program(scale: float) -> str:
    """Goods from sources to sinks at the least cost, in glpsol's language."""
    draws = random.Random(46)
    count = max(4, round(SOURCES * math.sqrt(scale)))
    parts = [f"set S := 1..{count};\nset T := 1..{count};\nparam cost{{S,T}};\nparam need{{T}};\n"
             "var sent{S,T} >= 0;\nminimize all: sum{s in S, t in T} cost[s,t] * sent[s,t];\n"
             "s.t. made{s in S}: sum{t in T} sent[s,t] <= 60;\n"
             "s.t. got{t in T}: sum{s in S} sent[s,t] >= need[t];\nsolve;\ndata;\nparam need :=\n"]
    parts += [f"{at + 1} {draws.randrange(20, 59)}\n" for at in range(count)]
    parts.append(";\nparam cost : " + " ".join(str(at + 1) for at in range(count)) + " :=\n")
    for source in range(count):
        costs = " ".join(str(draws.randrange(10, 900)) for _ in range(count))
        parts.append(f"{source + 1} {costs}\n")
    parts.append(";\nend;\n")
    return "".join(parts)


PERL = """
use strict; use warnings;
my ($rounds, $state, $sum) = ($ARGV[0], 12345, 0);
sub draw { $state = ($state * 1103515245 + 12345) % 2147483648; return int($state / 65536) % $_[0] }
my @kept;
for my $round (1 .. $rounds) {
  my (%table, @rows);
  for my $at (1 .. 4000) {
    my $key = 'key' . draw(3000);
    push @{$table{$key}}, {at => $at, text => 'x' x draw(60), list => [1 .. draw(8)]};
  }
  for my $key (sort keys %table) {
    my $line = join ',', map { $_->{text} . $_->{at} . scalar @{$_->{list}} } @{$table{$key}};
    $line =~ s/x{5,}(\\d+)/<$1>/g;
    push @rows, split /,/, $line;
  }
  $sum = ($sum * 31 + length(join '', sort @rows)) % 1000000007;
  $kept[$round % 6] = \\%table;
}
print "sum $sum ", scalar @kept, "\\n";
"""

AWK = """
function draw(limit) { state = (state * 16807) % 2147483647; return state % limit }
BEGIN {
  state = 12345
  for (round = 1; round <= ARGV[1]; round++) {
    delete table
    for (at = 1; at <= 6000; at++) {
      key = "key" draw(4000)
      table[key] = table[key] at "," substr("abcdefghijklmnopqrstuvwxyz", draw(20) + 1, draw(12))
    }
    for (at = 0; at < 4000; at++) {
      key = "key" at
      if (!(key in table)) continue
      count = split(table[key], parts, ",")
      gsub(/[aeiou]+/, "<&>", table[key])
      sum = (sum * 31 + length(table[key]) + count) % 1000000007
    }
  }
  print "sum", sum
}
"""

RUBY = """
rounds, state, sum, kept = ARGV[0].to_i, 12345, 0, []
draw = lambda { |limit| state = (state * 1103515245 + 12345) % 2147483648; state / 65536 % limit }
Row = Struct.new(:at, :text, :list)
rounds.times do |round|
  table = Hash.new { |all, key| all[key] = [] }
  3000.times { |at| table["key#{draw.(2000)}"] << Row.new(at, "x" * draw.(80), [at] * draw.(9)) }
  lines = table.map { |key, rows| key + "=" + rows.map { |one| one.text + one.at.to_s }.join(",") }
  text = lines.sort.join("\\n").gsub(/x{6,}(\\d)/) { "<#{$1}>" }
  sum = (sum * 31 + text.size + text.split("\\n").map(&:size).max) % 1_000_000_007
  kept[round % 5] = table
end
puts "sum #{sum} #{kept.size}"
"""

PHP = """<?php
$state = 12345; $sum = 0; $kept = [];
function draw($limit) {
  global $state;
  $state = ($state * 1103515245 + 12345) % 2147483648;
  return intdiv($state, 65536) % $limit;
}
for ($round = 0; $round < (int) $argv[1]; $round++) {
  $table = [];
  for ($at = 0; $at < 6000; $at++) {
    $table['key' . draw(4000)][] = ['at' => $at, 'text' => str_repeat('x', draw(70)) . $at];
  }
  ksort($table);
  $text = json_encode($table);
  $back = json_decode($text, true);
  $lines = [];
  foreach ($back as $key => $rows) $lines[] = $key . implode(',', array_column($rows, 'text'));
  $sum = ($sum * 31 + crc32(implode("\\n", $lines)) + count($back)) % 1000000007;
  $kept[$round % 5] = $back;
}
echo "sum $sum ", count($kept), "\\n";
"""
