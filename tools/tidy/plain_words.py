# What it owns: the rules on the words of comments and names in src/ and include/: words that were
# retired for a term of the field, phrases that hide who acts, sentences that are too long.
# The table "Retired words" of src/README.md is the only list of words; this code names none.
# It must not know the floors (floors.py) nor how a finding is printed.
# SPDX-License-Identifier: MIT
"""Checks names and comments against the table of retired words, and the length of sentences."""

import re

import tables

SENTENCE_WORDS_MAX = 30
FOLDERS = ("src/", "include/")
# A row of a table or a picture: words in columns.
TABLE_LINE = re.compile(r"\S {2,}\S|[|]|->|<-")
LABEL = re.compile(r"^\w[\w /()]{0,40}: ")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class RetiredWords:
    """The table "Retired words": | word | say | where |; `where` is names, comments or both."""

    def __init__(self, house_text):
        self.names = {}
        self.comments = {}
        self.problems = []
        for line, cells in tables.rows_of(house_text, "retired words"):
            if len(cells) != 3 or cells[2] not in ("names", "comments", "both"):
                self.problems.append((line, "retired", "write the row as | word | say | names, "
                                                       "comments or both |"))
                continue
            for word in cells[0].lower().split(", "):
                if cells[2] != "comments":
                    self.names[word] = cells[1]
                if cells[2] != "names":
                    self.comments[word] = cells[1]
        self.anywhere = re.compile("|".join(map(re.escape, self.names)), re.I)
        words = sorted(map(re.escape, self.comments), key=len, reverse=True)
        self.in_comments = re.compile(rf"(?<![\w/])(?:{'|'.join(words)})(?![\w/(]|\.\w)", re.I)

    def check_names(self, code):
        """Yields (line, rule, what to do) for identifiers with a retired word in them."""
        if not self.names or not self.anywhere.search(code):
            return
        for number, line in enumerate(code.split("\n"), 1):
            for name in IDENTIFIER.findall(line) if self.anywhere.search(line) else ():
                for part in PART.findall(name):
                    if part.lower() in self.names:
                        yield number, "retired", (f"{name}: say '{self.names[part.lower()]}', "
                                                  f"not '{part}'")

    def check_comments(self, comments):
        """Yields (line, rule, what to do) for retired words and phrases in comments."""
        if not self.comments:
            return
        for number, line in enumerate(comments.split("\n"), 1):
            for word in self.in_comments.findall(line):
                yield number, "retired", f"say '{self.comments[word.lower()]}', not '{word}'"


def paragraphs(code, comments):
    """(line, text) of each paragraph of prose in line comments.

    Tables, pictures and comments behind code end a paragraph.
    """
    start, words = 0, []
    pairs = zip(code.split("\n") + [""], comments.split("\n") + [""])
    for number, (before, line) in enumerate(pairs, 1):
        found = None if before.strip() else re.match(r"\s*//+ ?(.*)$", line)
        body = found.group(1) if found else ""
        is_prose = found and body.strip() and not TABLE_LINE.search(body)
        if words and (not is_prose or LABEL.match(body)):
            yield start, " ".join(words)
            words = []
        if is_prose:
            start = start if words else number
            words.append(body.strip())


def sentences(text):
    return re.split(r"(?<=[.!?])\s+", text)


def check_sentences(code, comments):
    """Yields (line, rule, what to do) for sentences that are too long."""
    for line, text in paragraphs(code, comments):
        for sentence in sentences(text):
            count = len(sentence.split())
            if count > SENTENCE_WORDS_MAX:
                yield line, "sentence", (f"{count} words: '{sentence[:50]}...' (at most "
                                         f"{SENTENCE_WORDS_MAX})")


def check_file(path, code, comments, retired):
    if not path.startswith(FOLDERS):
        return
    yield from retired.check_names(code)
    yield from retired.check_comments(comments)
    yield from check_sentences(code, comments)
