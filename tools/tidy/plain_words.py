# What it owns: the rules on the words of names, comments, docstrings and strings. They find words
# that were retired for a term of the field, phrases that hide who acts, and long sentences.
# The table "Retired words" of src/README.md is the only list of words; this code names none.
# It must not know the floors (floors.py) nor how a finding is printed.
# SPDX-License-Identifier: MIT
"""Checks names and prose against the table of retired words, and the length of sentences."""

import re

import source_text
import tables

SENTENCE_WORDS_MAX = 30
FOLDERS_OF_NAMES = ("src/", "include/", "tests/", "tools/", "examples/")
# Names of benchmarks stand in kept results; CMake names no types.
FOLDERS = FOLDERS_OF_NAMES + ("bench/", "cmake/")
COMMENT_LINE = re.compile(r"\s*(?://+|#+|/\*+|\*(?!/)) ?(.*?)(?:\s*\*/\s*)?$")
NO_PROSE = re.compile(r"SPDX-|!/|cppcheck|clang-format|NOLINT|noqa")
# A row of a table or a picture: words in columns.
TABLE_LINE = re.compile(r"\S {2,}\S|[|]|->|<-")
LABEL = re.compile(r"^\w[\w /()]{0,40}: ")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# A sentence or a clause whose subject is a relative without antecedent; a question may have it.
RELATIVE = re.compile(r"(?:^|[.;:] )Who(?:ever)? (?!.*\?)|[.;] who (?!.*\?)")
# Letters in lower case, and a blank for all else: finds most texts that have none of the words.
LETTERS = {at: chr(at).lower() if chr(at).isalpha() else " " for at in range(128)}
# Between the words of a phrase: blanks, or the end of a line and the mark of the next comment line.
GAP = r"(?: |[ ]*\n[ ]*(?://+|#+|\*)?[ ]*)"


class RetiredWords:
    """The table "Retired words": | word | say | where |; `where` is names, comments or both.

    `word_*` is how a name begins: free functions and types, not `store_word`.
    """

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
        self.openings = {word[:-1]: say for word, say in self.names.items() if word.endswith("*")}
        self.names = {word: say for word, say in self.names.items() if not word.endswith("*")}
        self.lowered = [*self.names, *self.openings]
        self.anywhere = re.compile("|".join(map(re.escape, self.lowered)), re.I)
        words = sorted(self.comments, key=len, reverse=True)
        choice = "|".join(GAP.join(map(re.escape, word.split())) for word in words)
        self.spaced_words = [f" {word} " for word in words]
        # A word in quotes is cited: the name of an option or of a file.
        self.in_prose = re.compile(rf"(?<![\w/`\"])(?:{choice})(?![\w/(]|\.\w)", re.I)

    def check_names(self, code):
        """Yields (line, rule, what to do) for identifiers with a retired word in them."""
        lowered = code.lower()
        if not any(word in lowered for word in self.lowered):
            return
        for number, line in enumerate(code.split("\n"), 1):
            for name in IDENTIFIER.findall(line) if self.anywhere.search(line) else ():
                for opening, say in self.openings.items():
                    if name.startswith(opening):
                        yield number, "retired", f"{name}: say '{say}', not '{opening}'"
                for part in PART.findall(name):
                    if part.lower() in self.names:
                        yield number, "retired", (f"{name}: say '{self.names[part.lower()]}', "
                                                  f"not '{part}'")

    def check_prose(self, prose):
        """Yields (line, rule, what to do) for retired words and phrases of comments or strings."""
        letters = f" {' '.join(prose.translate(LETTERS).split())} "
        if not any(word in letters for word in self.spaced_words):
            return
        for found in self.in_prose.finditer(prose):
            word = " ".join(re.sub(r"[^\w ]", " ", found.group()).split())
            yield prose.count("\n", 0, found.start()) + 1, "retired", (
                f"say '{self.comments[word.lower()]}', not '{word}'")


def paragraphs(code, prose, line_of_prose=COMMENT_LINE):
    """(line, text) of each paragraph in line comments, or in docstrings.

    Tables, pictures and comments behind code end a paragraph.
    """
    start, words = 0, []
    pairs = zip(code.split("\n") + [""], prose.split("\n") + [""])
    for number, (before, line) in enumerate(pairs, 1):
        found = None if before.strip() or not line else line_of_prose.match(line)
        body = found.group(1).strip() if found else ""
        is_prose = body and not TABLE_LINE.search(body) and not NO_PROSE.match(body)
        if words and (not is_prose or LABEL.match(body)):
            yield start, " ".join(words)
            words = []
        if is_prose:
            start = start if words else number
            words.append(body)


def sentences(text):
    return re.split(r"(?<=[.!?])\s+", text)


def check_sentences(found):
    """Yields (line, rule, what to do) for sentences of paragraphs that are too long, or have no
    subject."""
    for line, text in found:
        for sentence in sentences(text):
            count = len(sentence.split())
            if count > SENTENCE_WORDS_MAX:
                yield line, "sentence", (f"{count} words: '{sentence[:50]}...' (at most "
                                         f"{SENTENCE_WORDS_MAX})")
            if "who" in sentence.lower() and RELATIVE.search(sentence):
                yield line, "relative", (f"'{sentence[:50]}...': say which thread or which caller, "
                                         "not 'who'")


def check_cpp(path, code, comments, strings, retired):
    """Yields the findings of a C or C++ file that was split into these parts."""
    if path.startswith(FOLDERS_OF_NAMES):
        yield from retired.check_names(code)
        yield from retired.check_prose(strings)
    if path.startswith(FOLDERS):
        yield from retired.check_prose(comments)
        yield from check_sentences(paragraphs(code, comments))


def check_hash(path, text, comments, retired):
    """Yields the findings of a Python, shell, CMake or Make file with these comments."""
    if not path.startswith(FOLDERS):
        return
    if path.endswith(".py"):
        hidden = source_text.lines_in_strings(text)
        comments = "\n".join("" if number in hidden else line
                             for number, line in enumerate(comments.split("\n"), 1))
        docstrings = source_text.docstrings(text)
        yield from retired.check_prose(docstrings)
        yield from check_sentences(paragraphs("\n" * docstrings.count("\n"), docstrings,
                                              re.compile(r"(.*)$")))
    yield from retired.check_prose(comments)
    yield from check_sentences(paragraphs(source_text.hash_code(text, comments), comments))
