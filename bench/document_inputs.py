# The inputs of document and media tools: texts made here, none stored.
#
# Owns: the texts and the amount of work at scale 1 (about a second under glibc).
# Invariant: a text depends on its scale alone: no clock, no unseeded random numbers, no fonts of
# the machine.
#
# SPDX-License-Identifier: MIT

import itertools
import json
import math
import random

XML_ROWS = 30_000
GRAPH_NODES = 900
PDF_PAGES = 1500
SHAPES = 3000
PARAGRAPHS = 20_000
JSON_ROWS = 30_000
WORDS = ("allocator block class demand edge free guard heap idle join keep list memory node order "
         "page queue range slab thread unit value wide zone").split()


def sentence(draws: random.Random, words: int) -> str:
    return " ".join(draws.choice(WORDS) for _ in range(words))


def xml_rows(scale: float) -> str:
    draws = random.Random(1)
    rows = [f'<row id="r{at}" kind="{draws.choice(WORDS)}"><name>{sentence(draws, 3)}</name>'
            f'<size>{draws.randrange(1000)}</size><note>{sentence(draws, 8)}</note></row>'
            for at in range(max(50, round(XML_ROWS * scale)))]
    return "<rows>\n" + "\n".join(rows) + "\n</rows>\n"


STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="html" indent="yes"/>
<xsl:key name="by-kind" match="row" use="@kind"/>
<xsl:template match="/rows"><html><body>
<xsl:for-each select="row[generate-id() = generate-id(key('by-kind', @kind)[1])]">
<xsl:sort select="@kind"/><h2><xsl:value-of select="@kind"/>: <xsl:value-of
select="sum(key('by-kind', @kind)/size)"/></h2><table><xsl:apply-templates
select="key('by-kind', @kind)"><xsl:sort select="size" data-type="number"/></xsl:apply-templates>
</table></xsl:for-each></body></html></xsl:template>
<xsl:template match="row"><tr><td><xsl:value-of select="name"/></td><td><xsl:value-of
select="concat(substring-before(note, ' '), translate(note, 'aeiou', 'AEIOU'))"/></td></tr>
</xsl:template></xsl:stylesheet>
"""


def json_rows(scale: float) -> str:
    draws = random.Random(2)
    return json.dumps([{"id": at, "kind": draws.choice(WORDS), "text": sentence(draws, 6),
                        "sizes": [draws.randrange(1000) for _ in range(draws.randrange(6))]}
                       for at in range(max(50, round(JSON_ROWS * scale)))])


JQ_FILTER = ("group_by(.kind) | map({kind: .[0].kind, count: length, "
             "sum: (map(.sizes | add // 0) | add), longest: (map(.text | ascii_upcase) | max), "
             "words: (map(.text | split(\" \")[0]) | unique)})")


def graph(scale: float) -> str:
    draws = random.Random(3)
    nodes = max(10, round(GRAPH_NODES * min(1.0, scale)))
    lines = [f'n{at} [shape={draws.choice(("box", "circle", "diamond"))} label="{at}" '
             "width=0.5 height=0.4 fixedsize=true]" for at in range(nodes)]
    lines += [f"n{draws.randrange(at)} -> n{at}" for at in range(1, nodes) for _ in range(2)]
    return "digraph g {\n" + "\n".join(lines) + "\n}\n"


def pdf(scale: float) -> bytes:
    """Pages of lines in a font that every reader has built in."""
    draws = random.Random(4)
    pages = max(1, round(PDF_PAGES * scale))
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>",
              b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
                  pages, b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(pages))),
              b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"]
    for at in range(pages):
        lines = "".join(f"({sentence(draws, 9)}) Tj 0 -12 Td\n" for _ in range(58))
        stream = f"BT /F 9 Tf 40 800 Td\n{lines}ET\n".encode()
        bodies.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                      b"/Resources << /Font << /F 3 0 R >> >> >>" % (5 + 2 * at))
        bodies.append(b"<< /Length %d >>\nstream\n" % len(stream) + stream + b"endstream")
    parts = [b"%PDF-1.4\n"]
    parts += [b"%d 0 obj\n" % number + body + b"\nendobj\n"
              for number, body in enumerate(bodies, 1)]
    places = list(itertools.accumulate(map(len, parts)))
    table = b"".join(b"%010d 00000 n \n" % place for place in places[:-1])
    return (b"".join(parts) + b"xref\n0 %d\n0000000000 65535 f \n" % len(places) + table
            + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
            % (len(places), places[-1]))


def drawing(scale: float) -> str:
    """Paths, gradients and groups; no text, which would need the machine's fonts."""
    draws = random.Random(5)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900">']
    for at in range(max(20, round(SHAPES * scale))):
        x, y, size = draws.randrange(900), draws.randrange(900), draws.randrange(5, 60)
        corners = " ".join(f"{x + size * math.cos(one):.1f},{y + size * math.sin(one):.1f}"
                           for one in (0, 1.3, 2.5, 3.8, 5.1))
        if at % 10 == 0:
            parts.append(f'<linearGradient id="g{at}"><stop offset="0" '
                         f'stop-color="#{at % 4096:03x}"/><stop offset="1" '
                         'stop-color="#fff"/></linearGradient>')
        parts.append(f'<g opacity="0.{draws.randrange(3, 9)}"><polygon points="{corners}" '
                     f'fill="url(#g{at // 10 * 10})"/></g>')
    return "".join(parts) + "</svg>\n"


def manuscript(scale: float) -> str:
    """Plain requests of troff: no macro package is needed."""
    draws = random.Random(6)
    parts = [".ll 60n\n.hy\n.de PP\n.sp\n.ti +3n\n..\n"]
    for at in range(max(20, round(PARAGRAPHS * scale))):
        parts.append(f".PP\n.ds N{at % 500} part {at}\n{sentence(draws, 40)} "
                     f"\\*[N{at % 500}] \\fI{sentence(draws, 5)}\\fR\n")
    return "".join(parts)


PLOT_SAMPLES = 150_000


def plot(scale: float) -> str:
    samples = max(200, round(PLOT_SAMPLES * scale))
    return (f"set terminal svg size 800,600\nset output 'output.svg'\nset samples {samples}\n"
            "unset key\nunset xtics\nunset ytics\nunset border\n"
            "plot sin(x) * cos(7 * x), x ** 2 / 40 - 1, exp(-x * x) * sin(90 * x), "
            "atan(x) * cos(31 * x) with points\n")
