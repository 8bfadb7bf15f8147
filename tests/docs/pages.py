# SPDX-License-Identifier: MIT
"""What the tests of pages read: code blocks, the commands in them, names of options and numbers.

Owns: how Markdown is cut into blocks and commands. It must not know what a test expects of them.
"""
import json
import re
import subprocess
from pathlib import Path

# Words that stand for others: with one of them a span is a form and no command. A process id has a
# stand-in of its own.
FORM = re.compile(r"\b(FILE|NAME|PATH|KEY|VALUE)\b")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def user_pages(root: Path) -> list:
    """README.md and the pages for users: the ones of docs/ itself, not designs and decisions."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def fenced(text: str) -> list:
    """(language, text) of each fenced block."""
    return FENCE.findall(text)


def code_lines(text: str) -> list:
    """The lines of fenced and of indented blocks, without indentation and prompt."""
    lines = [line for _, block in fenced(text) for line in block.splitlines()]
    rest = FENCE.sub("", text).splitlines()
    lines += [line[4:] for line in rest if line.startswith("    ")]
    return [line.removeprefix("$ ").strip() for line in lines]


def commands(text: str) -> list:
    """Lines of code blocks, and spans with arguments, that start the talus command."""
    spans = re.findall(r"`(talus [a-z]+ [^`\n]+)`", FENCE.sub("", text))
    found = [span for span in spans if not FORM.search(span)]
    for line in code_lines(text):
        line = re.sub(r"\s+#\s.*$", "", line)
        if re.match(r"(build/release/)?talus [a-z]", line):
            found.append(line.removeprefix("build/release/"))
    return found


def option_names(command: str) -> set:
    """The variables of all options, as the command lists them."""
    said = subprocess.run([command, "options", "--json"], check=True, capture_output=True,
                          text=True).stdout
    return {row["environment"] for row in json.loads(said)}


def statistic_names(command: str) -> set:
    """The names of all statistics, as the command lists them."""
    said = subprocess.run([command, "statistics", "--markdown"], check=True, capture_output=True,
                          text=True).stdout
    return set(re.findall(r"^\| `([a-z_.0-9]+)` \|", said, re.MULTILINE))
