# All rows of installed programs but redis: solvers, compilers and linkers, interpreters, databases,
# tools for documents and media.
#
# Owns: the work of each program beyond the first five (programs.py), and the list of all. Inputs
# come from code_inputs.py and document_inputs.py.
# Invariant: a row is one process. Its output does not depend on time, addresses or thread order.
#
# SPDX-License-Identifier: MIT

import functools
from collections.abc import Callable
from pathlib import Path

from . import code_inputs, document_inputs, program_inputs, programs
from .programs import Program, installed, script

Prepare = Callable[[str, Path, float], list[str]]
find_assembler = installed("as")


@functools.cache
def made(text: Callable[[float], str | bytes], scale: float) -> bytes:
    """An input is made once for all runs."""
    found = text(scale)
    return found.encode() if isinstance(found, str) else found


def with_input(file_name: str, text: Callable[[float], str | bytes], *words: str,
               other: tuple[str, str] | None = None) -> Prepare:
    """A command of these words that reads a made file. `other`: a further file and its text."""
    def prepare(path: str, folder: Path, scale: float) -> list[str]:
        (folder / file_name).write_bytes(made(text, scale))
        if other is not None:
            (folder / other[0]).write_text(other[1])
        return [path, *words]
    return prepare


def find_linker() -> str:
    find_assembler()
    return installed("ld.bfd")()


def prepare_linker(path: str, folder: Path, scale: float) -> list[str]:
    names = []
    for number, one in enumerate(code_inputs.objects(find_assembler(), scale)):
        names.append(f"in{number}.o")
        (folder / names[-1]).write_bytes(one)
    return [path, "-r", "--build-id=none", "-o", "output.o", *names]


def assembly(scale: float) -> str:
    return code_inputs.assembly(max(50, round(code_inputs.ASSEMBLY_FUNCTIONS * scale)))


SOLVERS = (
    Program("P/z3", installed("z3"),
            with_input("input.smt2", code_inputs.smt_problem, "input.smt2")),
    Program("P/glpsol", installed("glpsol"),
            with_input("input.mod", code_inputs.linear_program, "--math", "input.mod", "-o",
                       "output.txt"), written="output.txt", prints=False),
)
BUILDERS = (
    Program("P/clang", installed("clang++", "clang"),
            with_input("input.cpp", program_inputs.cpp_source, "-xc++", "-std=c++17", "-O1", "-S",
                       "-o", "output.s", "input.cpp"), written="output.s"),
    Program("P/as", find_assembler,
            with_input("input.s", assembly, "-o", "output.o", "input.s"), written="output.o"),
    Program("P/ld", find_linker, prepare_linker, written="output.o"),
    Program("P/make", installed("make"),
            with_input("Makefile", code_inputs.makefile, "-rRn"),
            # `make test` is such a make, too: without these it is one of a surrounding make.
            environment=(("MAKEFLAGS", ""), ("MAKELEVEL", "0"))),
)
INTERPRETERS = (
    Program("P/perl", installed("perl"), script("input.pl", code_inputs.PERL, count=40),
            environment=(("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0"))),
    Program("P/gawk", installed("gawk"),
            script("input.awk", code_inputs.AWK, ("-f",), 60)),
    Program("P/ruby", installed("ruby"), script("input.rb", code_inputs.RUBY, count=60)),
    Program("P/php", installed("php"), script("input.php", code_inputs.PHP, ("-n",), 90),
            environment=(("USE_ZEND_ALLOC", "0"),)),
)
DOCUMENTS = (
    Program("P/jq", installed("jq"),
            with_input("input.json", document_inputs.json_rows, "-S", document_inputs.JQ_FILTER,
                       "input.json")),
    Program("P/xsltproc", installed("xsltproc"),
            with_input("input.xml", document_inputs.xml_rows, "style.xsl", "input.xml",
                       other=("style.xsl", document_inputs.STYLESHEET))),
    Program("P/dot", installed("dot"),
            with_input("input.dot", document_inputs.graph, "-Tplain", "input.dot")),
    Program("P/pdftotext", installed("pdftotext"),
            with_input("input.pdf", document_inputs.pdf, "-layout", "input.pdf", "-")),
    Program("P/rsvg", installed("rsvg-convert"),
            with_input("input.svg", document_inputs.drawing, "-o", "output.png", "input.svg"),
            written="output.png"),
    Program("P/troff", installed("troff"),
            with_input("input.tr", document_inputs.manuscript, "-Tps", "input.tr")),
    Program("P/gnuplot", installed("gnuplot"),
            with_input("input.gp", document_inputs.plot, "input.gp"), written="output.svg"),
)

ROWS = programs.ROWS + SOLVERS + BUILDERS + INTERPRETERS + DOCUMENTS
