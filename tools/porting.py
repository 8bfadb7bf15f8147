#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/porting.md from the contract of the operating system, src/os/contract.hpp.

Owns: how a row of the contract is read, and which calls src/ makes. The words around the tables
are in tools/porting_page.md. It must not know what a call does: that is said in the contract alone.

    tools/porting.py > docs/porting.md
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "porting_page.md"
CONTRACT = ROOT / "src" / "os" / "contract.hpp"
# The files below the contract, which implement calls or pass them on.
BELOW = ("src/os/linux/", "src/os/contract.hpp", "src/os/refusals.hpp", "src/os/complete.hpp",
         "src/os/system.hpp", "src/os/faulty_os.hpp")
GROUP = re.compile(r"^// Group (\w+): (.*)$")
ROW = re.compile(r'TALUS_OS_CALL\(\s*"(\w+)",\s*(\w+),\s*([\w*]+),\s*\((.*)\)\);$', re.DOTALL)
NUMBER = re.compile(r"TALUS_OS_ERROR\((\w+)\);")
FACT = re.compile(r"TALUS_OS_GROUP\((\w+)\);")
USE = re.compile(r"\bSystem::(\w+)")
SYSTEM_HEADER = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.MULTILINE)
LANGUAGE = re.compile(r"c(stddef|stdint)|std(def|int)\.h|new|limits|type_traits|utility|atomic|"
                      r"memory|memory_resource|talus/.*|c?string(\.h)?")


class Call:
    """A row: the group that it names, its signature, and its clause."""

    def __init__(self, group, name, result, parameters, clause):
        self.group, self.name, self.result = group, name, result
        self.parameters = " ".join(parameters.split()).replace(" * ", "* ").replace(" & ", "& ")
        self.clause = clause

    def message(self):
        """How the compiler's message begins where the call is missing."""
        return f"os: the {self.group} call {self.name}("


class Group:
    """A group: a title, what Talus does without it, and calls."""

    def __init__(self, name, title):
        self.name, self.title, self.without, self.calls = name, title, "", []


class Contract:
    """All groups in their order, the core first; error numbers; groups that have a fact."""

    def __init__(self, text):
        self.groups, self.errors, self.facts = [], [], []
        comment, row = [], ""
        for line in text.split("\n"):
            stripped = line.strip()
            if row or stripped.startswith("TALUS_OS_CALL("):
                row = f"{row} {stripped}".strip()
                if row.endswith(");"):
                    self._add(row, " ".join(comment))
                    comment, row = [], ""
            elif stripped.startswith("//"):
                comment.append(stripped[2:].strip())
                self._note(comment)
            elif stripped:
                self._end(comment)
                self.errors += NUMBER.findall(stripped)
                self.facts += FACT.findall(stripped)
                comment = []

    def _note(self, comment):
        found = GROUP.match("// " + comment[-1])
        if found:
            self.groups.append(Group(*found.groups()))
            del comment[:-1]

    def _end(self, comment):
        text = " ".join(comment)
        if text.startswith("Group ") and " Without: " in text:
            title, self.groups[-1].without = text.split(" Without: ")
            self.groups[-1].title = title.split(": ", 1)[1]

    def _add(self, row, clause):
        found = ROW.match(row)
        if not found:
            raise SystemExit(f"porting: no row: {row}")
        self.groups[-1].calls.append(Call(*found.groups(), clause))

    def calls(self):
        return [call for group in self.groups for call in group.calls]


def read_contract():
    return Contract(CONTRACT.read_text(encoding="utf-8"))


def sources():
    """(path from the root, text) of each file of src/ that stands above the contract."""
    for path in sorted((ROOT / "src").rglob("*.[ch]pp")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(BELOW):
            yield name, path.read_text(encoding="utf-8")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def used_calls():
    """The names that src/ uses of the operating system, with a file that does."""
    used = {}
    for name, text in sources():
        for call in USE.findall(without_comments(text)):
            used.setdefault(call, name)
    return used


def system_headers():
    """(file, headers) for each file above the contract that includes headers of a system."""
    rows = []
    for name, text in sources():
        if name.startswith("src/os/"):
            continue
        found = sorted(header for header in SYSTEM_HEADER.findall(text)
                       if not LANGUAGE.fullmatch(header))
        if found:
            rows.append((name, found))
    return rows


def table(calls):
    lines = ["| call | clause |", "|---|---|"]
    for call in calls:
        signature = f"{call.name}({call.parameters})"
        if call.result != "void":
            signature += f" -> {call.result}"
        clause = call.clause.replace("|", "\\|")
        lines.append(f"| `{signature}` | {clause} |")
    return "\n".join(lines)


def table_of_groups(groups):
    lines = ["| group | what it is | calls | without it |", "|---|---|---:|---|"]
    for group in groups:
        lines.append(f"| [{group.name}](#{group.name}) | {group.title} | {len(group.calls)} | "
                     f"{group.without} |")
    return "\n".join(lines)


def table_of_headers():
    lines = ["| file | headers |", "|---|---|"]
    lines += [f"| `{name}` | {' '.join(headers)} |" for name, headers in system_headers()]
    return "\n".join(lines)


def page(contract):
    core, groups = contract.groups[0], contract.groups[1:]
    text = WORDS.read_text(encoding="utf-8")
    for mark, made in {
            "@CORE@": table(core.calls),
            "@ERRORS@": ", ".join(f"`{name}`" for name in contract.errors),
            "@GROUPS@": table_of_groups(groups),
            "@CALLS@": "\n\n".join(f"### {group.name}\n\n{table(group.calls)}"
                                   for group in groups),
            "@HEADERS@": table_of_headers()}.items():
        text = text.replace(mark, made)
    return text


def main():
    sys.stdout.write(page(read_contract()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
