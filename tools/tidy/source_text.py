# What it owns: the split of source text into code, comments, strings and docstrings with unchanged
# line numbers, and the length of functions. Rules on code never fire on a comment or a string, and
# rules on comments never fire on code, because both use this file.
# It must not know any rule. It is a heuristic on purpose: a compiler front end would take seconds.
# SPDX-License-Identifier: MIT
"""Lines of C++ and of hash-comment languages, taken apart."""

import ast
import functools
import re

CPP_TOKEN = re.compile(
    r"""(?P<line>//(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*)
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>\b\d(?:[\w.]|'\w)*)
      | (?P<char>'(?:[^'\\\n]|\\.)+')""",
    re.VERBOSE | re.DOTALL)


def blanked(text):
    """The text with everything but its newlines turned into spaces."""
    return re.sub(r"[^\n]", " ", text) if "\n" in text else " " * len(text)


@functools.lru_cache(maxsize=None)  # each rule on the whole tree asks for the same files
def split_cpp(text):
    """Returns (code, comments, strings): same shape as text, each with the other parts blanked.

    Strings keep their quotes in the code but lose their content, except on include lines.
    """
    code, comments, strings, at = [], [], [], 0
    for token in CPP_TOKEN.finditer(text):
        between = text[at:token.start()]
        code.append(between)
        hidden = blanked(between)
        comments.append(hidden)
        strings.append(hidden)
        body, kind = token.group(), token.lastgroup
        hidden = blanked(body)
        if kind in ("line", "block"):
            code.append(hidden)
            comments.append(body)
            strings.append(hidden)
        elif kind == "number" or is_include_operand(text, token.start()):
            code.append(body)
            comments.append(hidden)
            strings.append(hidden)
        else:
            strings.append(body if kind != "char" else hidden)
            code.append(body[0] + blanked(body[1:-1]) + body[-1] if kind != "raw"
                        else '"' + blanked(body[1:-1]) + '"')
            comments.append(blanked(body))
        at = token.end()
    code.append(text[at:])
    comments.append(blanked(text[at:]))
    return "".join(code), "".join(comments), "".join(strings)


# Text that may stand before and within a directive: blanks, continued lines, comments.
GAP = r"(?:[ \t]|\\\n|/\*(?:[^*]|\*(?!/))*\*/)*"
INCLUDE_BEFORE = re.compile(rf"^{GAP}#{GAP}include(?:_next)?{GAP}\Z", re.MULTILINE)
GAP_LENGTH_MAX = 200


def is_include_operand(text, start):
    if "include" not in text[max(0, start - GAP_LENGTH_MAX):start]:
        return False
    return INCLUDE_BEFORE.search(text[max(0, start - GAP_LENGTH_MAX):start]) is not None


def hash_comments(text):
    """Comments of shell, CMake, Make and Python text; a # inside quotes is not one."""
    lines = []
    for line in text.split("\n"):
        found = re.match(r"""((?:[^"'#\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')*)(\#.*)?$""", line)
        if found and found.group(2):
            lines.append(" " * len(found.group(1)) + found.group(2))
        else:
            lines.append(line if line.lstrip().startswith("#") else "")
    return "\n".join(lines)


def hash_code(text, comments):
    """The text without its comments: the other part of hash_comments()."""
    pairs = zip(text.split("\n"), comments.split("\n"))
    return "\n".join(line[:len(line) - len(comment.lstrip())] for line, comment in pairs)


@functools.lru_cache(maxsize=1)
def parsed(text):
    """The tree of a Python text; an empty one if it has an error."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def lines_in_strings(text):
    """The lines of a Python text that begin inside a string of three quotes."""
    return {number for found in re.finditer(r'("""|\'\'\').*?\1', text, re.DOTALL)
            for number in range(text.count("\n", 0, found.start()) + 2,
                                text.count("\n", 0, found.end()) + 2)}


def scopes(node):
    """Yields a module, and each class and function in it or in one of these."""
    yield node
    for child in node.body:
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from scopes(child)


def docstrings(text):
    """The docstrings of a Python text, in its shape; all other text is blanked."""
    lines = text.split("\n")
    shown = [""] * len(lines)
    for node in scopes(parsed(text)):
        first = node.body[0] if node.body else None
        value = first.value if isinstance(first, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            for number in range(value.lineno - 1, value.end_lineno):
                shown[number] = lines[number].replace('"""', "   ")
    return "\n".join(shown)


# A type's keyword, name and a function's name: the function returns or takes the type.
RETURNED = r"(?!\s+[\w:]+(?:<[^(){}]*>)?[\s*&]+(?:const\s+)?[\w:~]+\s*\()"
NOT_A_FUNCTION = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:inline\s+)?"
    rf"(?:namespace|(?:class|struct|union|enum)\b{RETURNED}|extern\s*\"\s*\"\s*$)\b"
    r"|=\s*$|^\s*extern\s*\"\s*\"\s*$",
    re.DOTALL)
ATTRIBUTES = re.compile(
    r"\[\[.*?\]\]|\balignas\s*\([^()]*\)|\b__attribute__\s*\(\(.*?\)\)", re.DOTALL)
# After the parameters (@), a colon that is not part of a name, and a name right before the brace.
MEMBER_BRACE = re.compile(r"@[^;]*?(?<!:):(?!:)[^;]*[\w>(,]\s*$", re.DOTALL)


def opens_function(header):
    """Whether the text before a brace is the head of a function, not of a type or value."""
    if "(" not in header:
        return False
    without_attributes = ATTRIBUTES.sub(" ", header)
    if NOT_A_FUNCTION.search(without_attributes):
        return False
    return re.search(r"\)[^;]*$", without_attributes, re.DOTALL) is not None


def collapsed(text, pairs):
    """The text with an @ in place of each outermost pair of such brackets and its content."""
    count = 1
    while count:
        text, count = re.subn(pairs, "@", text)
    return text


def initialises_member(header):
    """Whether the brace after the head of a constructor initializes a member: `A() : a{`."""
    return MEMBER_BRACE.search(collapsed(ATTRIBUTES.sub(" ", header), r"\([^()]*\)")) is not None


def cpp_functions(code):
    """Yields (first line, lines, head) of each outermost function in C++ code without comments."""
    plain = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: blanked(m.group()), code,
                   flags=re.MULTILINE)
    depth_scopes, header_start, function_depth, member_depth = [], 0, None, None
    start_line = 0
    for token in re.finditer(r"[{};]", plain):
        char, at = token.group(), token.start()
        if char == "{":
            if function_depth is None and member_depth is None:
                # Only initialized members have braces here.
                header = collapsed(plain[header_start:at], r"\{[^{}]*\}")
                is_function = opens_function(header)
                if is_function and initialises_member(header):
                    member_depth = len(depth_scopes)
                elif is_function:
                    function_depth = len(depth_scopes)
                    lead = len(header) - len(header.lstrip())
                    start_line = plain.count("\n", 0, header_start + lead) + 1
                    function_head = " ".join(header.split())
            depth_scopes.append(at)
        elif char == "}" and depth_scopes:
            depth_scopes.pop()
            if function_depth is not None and len(depth_scopes) == function_depth:
                end_line = plain.count("\n", 0, at) + 1
                yield start_line, end_line - start_line + 1, function_head
                function_depth = None
        if member_depth is None:
            header_start = at + 1
        elif len(depth_scopes) == member_depth:
            member_depth = None  # the head continues after the member


def statements(node):
    """Yields each statement inside a module or a statement. Expressions hold no functions."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(node, field, ())
        for child in children if isinstance(children, list) else ():
            yield child
            yield from statements(child)


def python_functions(text):
    """Yields (first line, lines, name) of each function of a Python file."""
    for node in statements(parsed(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def head_comment(lines, is_cpp):
    """The lines of the comment block that opens a file, after a shebang and blank lines.

    In a language with hash comments the docstring that follows belongs to it.
    """
    head, closing = [], None
    for line in lines[1:] if lines and lines[0].startswith("#!") else lines:
        stripped = line.strip()
        if closing:
            head.append(line)
            closing = None if closing in stripped else closing
        elif is_cpp and stripped.startswith("/*"):
            head.append(line)
            closing = None if "*/" in stripped[2:] else "*/"
        elif not is_cpp and re.match(r'[rR]?"""', stripped):
            head.append(line)
            closing = None if stripped.count('"""') > 1 else '"""'
        elif stripped.startswith("//" if is_cpp else "#"):
            head.append(line)
        elif stripped:
            break
    return head
