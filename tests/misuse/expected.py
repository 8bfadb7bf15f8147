"""What Talus promises of each case of the misuse matrix, mode by mode.

Owns: the reading of expected.csv and the words of Talus' lines, written out a second time on
purpose. A rule holds for the cases that its fields name; the first that fits counts. Each case
needs a rule, and each rule a case. Knows nothing of how cases are run.
SPDX-License-Identifier: MIT
"""

import csv
import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("expected.csv")

FOREIGN = (r"talus: invalid pointer {pointer} passed to {call}\(\) \(not a block of this heap:"
           r" freed twice, or from another allocator\)\n")
BLOCK = r"block of \d+ bytes at 0x[0-9a-f]+, allocated by thread \d+"
FREED = r"freed by thread \d+"
# What standard error has, by the name that a rule has for it. Empty: nothing.
LINES = {
    "": "",
    "any": r"(?s:.*)",
    "double": r"talus: double free of {pointer} \(a free block of \d+ bytes\)\n",
    "used_in_realloc": (r"talus: use of the freed block {pointer} in realloc\(\)"
                        r" \(a free block of \d+ bytes\)\n"),
    "used_in_usable_size": (r"talus: use of the freed block {pointer} in malloc_usable_size\(\)"
                            r" \(a free block of \d+ bytes\)\n"),
    "inside": (r"talus: invalid free of {pointer} \(not the start of a block; it points \d+ bytes"
               r" into \d+ bytes at 0x[0-9a-f]+\)\n"),
    "foreign": FOREIGN.replace("{call}", "free"),
    "foreign_delete": FOREIGN.replace("{call}", "operator delete"),
    "foreign_realloc": FOREIGN.replace("{call}", "realloc"),
    "foreign_heap_free": FOREIGN.replace("{call}", "talus_heap_free"),
    "foreign_heap_realloc": FOREIGN.replace("{call}", "talus_heap_realloc"),
    "foreign_usable_size": FOREIGN.replace("{call}", "malloc_usable_size"),
    "mapped_double": rf"talus: double free of {{pointer}} \(a freed {BLOCK}, {FREED}\)\n",
    "mapped_realloc": rf"talus: invalid pointer {{pointer}} passed to realloc\(\)"
                      rf" \(a freed {BLOCK}, {FREED}\)\n",
    "mapped_usable_size": rf"talus: invalid pointer {{pointer}} passed to malloc_usable_size\(\)"
                          rf" \(a freed {BLOCK}, {FREED}\)\n",
    "behind": (r"talus: write behind block {pointer} \((a place of )?\d+ bytes;"
               r" found by free\(\)\)\n"),
    "after_free": (r"talus: write after free in block {pointer}"
                   r" \(byte \d+ of a place of \d+ bytes\)\n"),
    "wrong_size": (r"talus: wrong size in the free of {pointer}"
                   r" \(\d+ bytes, of a block of \d+ bytes\)\n"),
    "fault_behind": rf"talus: fault at {{pointer}}, \d+ bytes behind the live {BLOCK}\n",
    "fault_before": rf"talus: fault at {{pointer}}, \d+ bytes before the live {BLOCK}\n",
    "fault_freed": rf"talus: fault at {{pointer}}, \d+ bytes into the freed {BLOCK}, {FREED}\n",
    "write_behind": rf"talus: write at {{pointer}}, \d+ bytes behind the {BLOCK};"
                    r" noticed when freed by thread \d+\n",
    "write_before": rf"talus: write at {{pointer}}, \d+ bytes before the {BLOCK};"
                    r" noticed when freed by thread \d+\n",
}


# What holds for another mode holds for this one, but for rules of its own, which come first.
BASES = {"checked_heap": "checked"}
ANY_POINTER = "_at_any"  # behind the name of a line: it may name another pointer than the wrong one


def pattern_of(name, pointer):
    if name.endswith(ANY_POINTER) or pointer in ("", "0x0"):
        pointer = r"0x[0-9a-f]+"
    return LINES[name.removesuffix(ANY_POINTER)].replace("{pointer}", pointer)


def fits(field, value):
    """Whether a field of a rule names the value: *heap stands for all ways that end so."""
    return any(fnmatch.fnmatchcase(value, part) for part in field.split("|"))


@dataclass
class Rule:
    mode: str
    row: str
    bytes: str
    way: str
    verdict: str
    line: str
    number: int

    def holds_for(self, mode, case):
        is_of_mode = fits(self.mode, mode) or fits(self.mode, BASES.get(mode, mode))
        return (is_of_mode and fits(self.row, case.row)
                and fits(self.bytes, str(case.size)) and fits(self.way, case.way))


def read_rules():
    with FILE.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [Rule(**row, number=number) for number, row in enumerate(csv.DictReader(lines), 1)]


def fault_in(rule, result):
    """What is wrong with a result; None: it is the promised one."""
    if not fits(rule.verdict, result.key):
        return f"{result.key} ({result.detail}), not {rule.verdict}; it said {result.said!r}"
    if not any(re.fullmatch(pattern_of(name, result.pointer), result.said)
               for name in rule.line.split("|")):
        wanted = rule.line or "nothing"
        return f"{result.key} said {result.said!r} of {result.pointer}, not {wanted}"
    return None


def faults_of(mode, suite, is_whole):
    """Sentences about all cases of a suite that are not as promised, and about unused rules."""
    rules = read_rules()
    used, faults = set(), []
    for case, result in suite.items():
        rule = next((rule for rule in rules if rule.holds_for(mode, case)), None)
        if rule is None:
            faults.append(f"{case.name}: no rule for {result.key} that said {result.said!r}")
            continue
        used.add(rule.number)
        if fault := fault_in(rule, result):
            faults.append(f"{case.name}: {fault}")
    if is_whole:
        faults += [f"expected.csv: rule {rule.number} is never needed: {rule.mode} {rule.row}"
                   for rule in rules if fits(rule.mode, mode) and rule.number not in used]
    return faults
