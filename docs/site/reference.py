# SPDX-License-Identifier: MIT
"""The reference of a C header, from its own comments.

Owns: how a header is cut. Blocks are separated by empty lines. A block begins with its comment,
and what stands behind the comment belongs together: one text for all of it. Functions become
entries of Sphinx's C domain. (Doxygen documents the first function of such a group only.) Types,
enumerations and macros are shown as they stand.
Must not know: what the functions do.
"""
import re

COMMENT = re.compile(r"/\*(.*?)\*/\s*", re.S)
FUNCTION = re.compile(r"TALUS_API\s+(?P<signature>[^;]+?)\s*(?:TALUS_NOEXCEPT)?;")
TYPE = re.compile(r"^(?:typedef (?:struct|enum) (\w+)|struct (\w+) \{|enum (\w+))", re.M)
RST_INDENT = " " * len(".. c:function:: ")
OPTION = re.compile(r"\b(TALUS_[A-Z_]+=\w+)")


def sentences(comment):
    """The text of a comment, without the stars before its lines."""
    lines = (re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines())
    # A calculation such as count * bytes is no emphasis.
    return OPTION.sub(r"`\1`", "\n".join(lines)).replace(" * ", r" \* ")


def as_rst(text):
    """The same in the language that names several functions for one text."""
    return re.sub(r"`([^`]+)`", r"``\1``", text)


def is_declaration(block):
    """False for what only the preprocessor reads."""
    lines = [line for line in COMMENT.sub("", block).splitlines() if line.strip()]
    return any(not line.startswith(("#", 'extern "C"', "}")) for line in lines)


def entry(block):
    """One block of the header as Markdown."""
    comment = COMMENT.match(block)
    text = sentences(comment[1]) if comment else ""
    code = block[comment.end():].strip() if comment else block.strip()
    signatures = [" ".join(found["signature"].split()) for found in FUNCTION.finditer(code)]
    rest = FUNCTION.sub("", code).strip()
    out = []
    if rest:
        names = [next(filter(None, found)) for found in TYPE.findall(rest)]
        out += [f"({name})=" for name in dict.fromkeys(names)]
        out += ["```c", rest, "```", ""]
    if signatures:
        out += ["```{eval-rst}", ".. c:function:: " + f"\n{RST_INDENT}".join(signatures), "",
                *(f"   {line}" for line in as_rst(text).splitlines()), "```", ""]
    elif text:
        out += [text, ""]
    return "\n".join(out)


def page_of(header):
    """The Markdown of a whole header: its head first, then its blocks in order."""
    head = COMMENT.match(header)
    blocks = re.split(r"\n[ \t]*\n", header[head.end():])
    text = re.sub(r"^SPDX.*\n", "", sentences(head[1])).strip()
    return "\n\n".join([text, *(entry(block) for block in blocks
                                if is_declaration(block) and "#error" not in block)])
