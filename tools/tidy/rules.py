# What it owns: the rules on one file that need only its path and its text: limits, heads, names,
# banned text, edge tags of PROTOCOL blocks and links in documents.
# Each rule yields (line, rule, what to do), so a finding always says how to fix it.
# It must not know the floors (floors.py) nor how files are found (tidy.py).
# SPDX-License-Identifier: MIT
"""Rules on the text of one file."""

import functools
import os
import re
import source_text

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
COLUMNS_MAX = 100
HEAD_LINES_MIN = 3
BANNED_STEMS = {"util", "utils", "common", "internal", "misc"}

CPP_ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp",
               ".tpp", ".S")
HASH_ENDINGS = (".py", ".sh", ".cmake", ".mk")
HASH_NAMES = ("CMakeLists.txt", "Makefile", "GNUmakefile")
# Make needs tabs at the head of a recipe.
TAB_NAMES = ("Makefile", "GNUmakefile")


def kind_of(path):
    """How a file is read: 'cpp', 'hash', 'doc' or None."""
    name = os.path.basename(path)
    if name.endswith(CPP_ENDINGS):
        return "cpp"
    if name.endswith(HASH_ENDINGS) or name in HASH_NAMES:
        return "hash"
    if name == "README.md" or (name.endswith(".md") and (path.startswith("docs/")
                                                         or "/" not in path)):
        return "doc"
    return None


def check_name(path):
    stem = os.path.basename(path).split(".")[0].lower()
    if stem in BANNED_STEMS:
        yield 1, "file-name", f"name the file after what it owns, not '{stem}'"


def names_file(code, path):
    """Whether a listing, without its comments, names the file in the right folder."""
    name = re.escape(os.path.basename(path))
    for word in re.findall(rf"(?<![\w.-])(?:[\w.${{}}-]*/)*{name}(?![\w.-])", code):
        written = word.rsplit("}/", 1)[-1]  # the part after a variable
        if ("/" + path).endswith("/" + os.path.normpath(written)):
            return True
    return False


@functools.lru_cache(maxsize=None)  # the same few listings are asked for each test
def listing_without_comments(listing):
    """The text of a CMakeLists.txt; None: there is no such file."""
    if not os.path.isfile(listing):
        return None
    with open(listing, encoding="utf-8") as file:
        text = file.read()
    return source_text.hash_code(text, source_text.hash_comments(text))


def check_test_is_built(root, path):
    """Yields a finding for a test file that no CMakeLists.txt above it names: it would never
    run."""
    if not (path.startswith("tests/") and path.endswith("_test.cpp")):
        return
    folder = os.path.dirname(path)
    while folder:
        code = listing_without_comments(os.path.join(root, folder, "CMakeLists.txt"))
        if code is not None and names_file(code, path):
            return
        folder = os.path.dirname(folder)
    yield 1, "never-built", "name it in a CMakeLists.txt, or delete it"


def check_limits(path, lines):
    name = os.path.basename(path)
    if len(lines) > FILE_LINES_MAX:
        yield FILE_LINES_MAX + 1, "file-length", (
            f"{len(lines)} lines: split it by what its parts own (at most {FILE_LINES_MAX})")
    tabs_allowed = name in TAB_NAMES or name.endswith(".mk")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, "columns", f"{len(line)} columns: break it (at most {COLUMNS_MAX})"
        if "\t" in line and not (tabs_allowed and line.startswith("\t")):
            yield number, "tab", "write spaces"


def check_functions(path, text, code):
    if path.endswith(".py"):
        found = source_text.python_functions(text)
    elif kind_of(path) == "cpp":
        found = source_text.cpp_functions(code)
    else:
        return
    for line, count, head in found:
        if count > FUNCTION_LINES_MAX:
            yield line, "function-length", (
                f"{count} lines: split '{head[-60:]}' (at most {FUNCTION_LINES_MAX})")


def check_head(lines, is_cpp, is_test=False):
    head = source_text.head_comment(lines, is_cpp)
    # A test's head says in one sentence what it tests. The tested file says the rest.
    if len(head) < (HEAD_LINES_MIN - 1 if is_test else HEAD_LINES_MIN):
        yield 1, "head", (f"open the file with a comment of at least {HEAD_LINES_MIN} lines: "
                          "what it owns, why, what it must not know")
    licence = "SPDX-License-" + "Identifier: MIT"
    if not any(licence in line for line in head):
        yield 1, "spdx", f"write '{licence}' into the comment that opens the file"


def check_banned(code, comments):
    todo_lines = comments.split("\n") if "TODO" in comments else []
    for number, line in enumerate(todo_lines, 1):
        if re.search(r"\bTODO\b(?!\s*\(#\d+\)|:?\s*#\d+)", line):
            yield number, "todo", "give the number of its issue: TO" + "DO(#12)"
    for match in re.finditer(r"^[ \t]*#[ \t]*if[ \t]+0\b", code, re.MULTILINE):
        line = code.count("\n", 0, match.start()) + 1
        yield line, "if-0", "delete the dead code; git remembers it"


PROTOCOL_HEAD = re.compile(r"^\s*//+\s*PROTOCOL\s+\w+")
EDGE_TAGS = re.compile(r"\[(E\d+(?:[ ,/+]+E\d+)*)\]")


def protocol_edges(lines):
    """Returns ({edge: line of its definition}, lines of all PROTOCOL blocks)."""
    edges, block_lines, in_block, in_edges = {}, set(), False, False
    for number, line in enumerate(lines, 1):
        if PROTOCOL_HEAD.match(line):
            in_block, in_edges = True, False
        elif not re.match(r"^\s*//", line):
            in_block = False
        if not in_block:
            continue
        block_lines.add(number)
        key = re.match(r"^\s*// {0,2}([A-Za-z][\w-]*)", line)
        if key and not re.fullmatch(r"E\d+", key.group(1)):
            in_edges = key.group(1) == "edges"
        if in_edges:
            defined = re.match(r"^\s*//\s*(?:edges:?\s+)?(E\d+)\b", line)
            if defined:
                edges.setdefault(defined.group(1), number)
    return edges, block_lines


def check_edges(lines):
    edges, block_lines = {}, set()
    if any("PROTOCOL" in line for line in lines):
        edges, block_lines = protocol_edges(lines)
    if not block_lines:
        return
    used = {}
    for number, line in enumerate(lines, 1):
        if number in block_lines or "//" not in line:
            continue
        for group in EDGE_TAGS.findall(line[line.index("//"):]):
            for edge in re.findall(r"E\d+", group):
                used.setdefault(edge, []).append(number)
    for edge, number in edges.items():
        ends = len(used.get(edge, []))
        if ends < 2:
            yield number, "edge", (f"mark both ends of {edge} in the code with // [{edge}]: "
                                   f"found {ends}")
    for edge, numbers in used.items():
        if edge not in edges:
            yield numbers[0], "edge", f"define {edge} under 'edges' of the PROTOCOL block"


LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
LINK_DEFINITION = re.compile(r"^\s{0,3}\[[^\]^][^\]]*\]:\s*<?([^\s>]+)>?")


def without_fences(text):
    """The lines of a document with code fences and code spans blanked."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark.group(1)
            lines.append("")
        elif mark and line.strip().startswith(fence) and line.strip() == line.strip()[0] * len(
                line.strip()):
            fence = None
            lines.append("")
        else:
            lines.append("" if fence else re.sub(r"`[^`]*`", "", line))
    return lines


def check_links(root, path, text):
    for number, line in enumerate(without_fences(text), 1):
        targets = LINK.findall(line) + LINK_DEFINITION.findall(line)
        for target in targets:
            # A web address, an anchor, or a C++ array new with its size.
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|#|//|\d+$", target):
                continue
            plain = target.split("#")[0].split("?")[0]
            base = root if plain.startswith("/") else os.path.join(root, os.path.dirname(path))
            if plain and not os.path.exists(os.path.join(base, plain.lstrip("/"))):
                yield number, "link", f"no such file: {target}"


def check_doc_paths(root, comments):
    """Yields a finding if a comment names a document of docs/ that does not exist."""
    lines = comments.split("\n") if "docs/" in comments else []
    for number, line in enumerate(lines, 1):
        for target in re.findall(r"(?<![\w/.-])docs/[\w./-]+\.md\b", line):
            if not os.path.exists(os.path.join(root, target)):
                yield number, "link", f"no such document: {target}"
