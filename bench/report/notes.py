# The work of each workload, for readers who do not know the names.
#
# Owns: one title and one sentence for each benchmark number of workloads.py; the heads of the
# programs have the full text. A workload without a note shows the name that its program reports, so
# a new one needs no change here.
#
# SPDX-License-Identifier: MIT

from .figures import Figures, base_name

NOTES = {
    "B1": ("Same thread", "Each thread allocates many blocks of random size, then frees them. "
           "The bare path of allocate and free, without sharing."),
    "B2": ("Separate threads", "Threads fill and empty one shared table, so another thread frees "
           "most blocks."),
    "B3": ("Server (larson)", "Like a server: threads replace random blocks for a fixed time and "
           "pass them to their successors."),
    "B3s": ("Server, sized delete", "The server workload in C++, whose delete passes the size."),
    "B4": ("Short-lived threads (mstress)", "Threads that live for one iteration grow private "
           "heaps and exchange blocks."),
    "B5": ("Many sizes (rptest)", "Loops free some blocks and allocate others of many "
           "sizes; some are sent to another thread."),
    "B6": ("Long-running program (alloc-test)", "Random traffic in which a few places see most "
           "of the activity, every byte written and read."),
    "B7": ("Bursts of one size (sh6bench)", "Bursts of small blocks of equal size, most of them "
           "freed soon, in both directions."),
    "B8": ("Bursts in a large heap (sh8bench)", "Bursts of small blocks in a large heap, while "
           "each thread also frees blocks of another thread."),
    "B9": ("Producers and consumers (xmalloc-test)", "Some threads only allocate, others only "
           "free their blocks."),
    "B10": ("Cache lines", "Do small blocks of different threads share a cache line and slow each "
            "other down?"),
    "B11": ("Large blocks (malloc-large)", "One thread replaces blocks of 5 to 25 MiB."),
    "B12": ("Thread births (mleak)", "Thousands of threads, each with one block."),
    "B13": ("Single size (glibc simple)", "Allocations of one size, then the same number of frees, "
            "repeatedly, untouched."),
    "B14": ("Private slots (glibc thread)", "Each thread replaces random blocks of its own for a "
            "fixed time; mostly small, sometimes large."),
    "B15": ("Uniform sizes (mtmalloc table)", "A malloc and free of random size up to the limit, "
            "with 2 to 32 threads."),
    "B16": ("In order of age (smmalloc perf01)", "Five threads replace a hundred thousand small "
            "blocks each, oldest first."),
    "B17": ("Moving window (smmalloc perf02)", "One thread, a moving queue of ten thousand small "
            "blocks."),
    "B18": ("Growing sizes", "Blocks that grow from nothing to a quarter megabyte; every other "
            "one is freed at once."),
    "B19": ("Heavy threads", "Hundreds of chains of short threads, all at once on one small "
            "table of blocks."),
    "B20": ("Linked lists", "Lists of numbers, one small block for each number, built, "
            "copied and destroyed."),
    "P/lua": ("Lua", "A real program: the Lua interpreter runs a script of tables and strings."),
    "P/python": ("Python", "A real program: the Python interpreter runs a script of objects."),
    "P/sqlite": ("SQLite", "A real program: a database in memory is filled and queried."),
    "P/g++": ("g++", "A real program: the compiler on one large source file."),
    "P/node": ("Node.js", "A real program: JavaScript, whose own heap leaves malloc less to do."),
    "P/z3": ("z3", "A real program: a solver of bit vectors and arrays."),
    "P/glpsol": ("glpsol", "A real program: a solver of linear problems."),
    "P/clang": ("clang", "A real program: the other compiler on the same source file."),
    "P/as": ("as", "A real program: an assembler with thousands of sections."),
    "P/ld": ("ld", "A real program: a linker that makes one object of 24."),
    "P/make": ("make", "A real program: thousands of targets, variables and functions."),
    "P/perl": ("Perl", "A real program: hashes, strings and patterns."),
    "P/gawk": ("gawk", "A real program: tables and patterns in awk."),
    "P/ruby": ("Ruby", "A real program: hashes, strings and patterns of objects."),
    "P/php": ("PHP", "A real program: arrays and JSON."),
    "P/jq": ("jq", "A real program: a query of a large JSON file."),
    "P/xsltproc": ("xsltproc", "A real program: an XML file becomes HTML."),
    "P/dot": ("Graphviz", "A real program: a graph is laid out."),
    "P/pdftotext": ("pdftotext", "A real program: the text of a PDF file."),
    "P/rsvg": ("rsvg", "A real program: a picture is drawn from shapes."),
    "P/troff": ("troff", "A real program: paragraphs are set."),
    "P/gnuplot": ("gnuplot", "A real program: curves of many points."),
    "P/redis": ("redis", "A real program: a server under load from a client."),
    "Cb": ("Large buffers", "Buffers of 32 KiB to 8 MiB in a loop, and sizes with a jump in "
           "cost."),
    "Cd": ("Growing arrays", "Arrays that grow by realloc, a little each time or by half."),
    "Ce": ("Aligned blocks", "posix_memalign for many alignments: time, and space lost to "
           "rounding."),
    "Cf": ("Zeroed blocks", "calloc of small, recycled and huge blocks: does it write more "
           "zeros than necessary?"),
    "Cg": ("Many more threads than cores", "64 threads replace random blocks of their own."),
    "Ch": ("Burst, then idle", "A burst of work, then nothing: how much memory does the idle "
           "process keep?"),
    "Ci": ("Idle consumers", "Hundreds of threads each free some megabytes of others' blocks and "
           "then sleep."),
    "Cj": ("Forking", "A large process that allocates in several threads and forks repeatedly."),
    "Ck": ("Returning memory", "One thread returns memory to the system; how long do another "
           "thread's small requests wait?"),
    "Cl": ("Few survivors", "Changing sizes and few survivors, as in a cache after a long run: "
           "fragmentation."),
    "Cn": ("Columns", "Buffers just at or above a power of two, written and read side by "
           "side: memory for each byte, and how often they share cache sets."),
    "Co": ("A heap filled at once", "One or two threads fill 2 GB with small blocks, free them in "
           "order, and fill it again."),
    "Cp": ("Replaced at random", "Random blocks of one table are replaced, large ones by one "
           "thread, smaller ones by several."),
    "Cq": ("A small process", "Two threads with a few megabytes in blocks of a few sizes."),
    "Cm": ("The longest calls", "Single calls under five loads: how long does one in ten "
           "thousand take?"),
}


def note(figures: Figures, workload: str) -> tuple[str, str]:
    """(title, sentence); the sentence may be empty."""
    base = base_name(workload)
    found = NOTES.get(base) or NOTES.get(base.split("/")[0])
    if found:
        threads = workload[len(base) + 1:]
        with_threads = f", {threads} thread{'' if threads == '1' else 's'}" if threads else ""
        return found[0] + with_threads, found[1]
    for sample in figures.record.samples:
        if sample["workload"] == workload and sample["result"].get("benchmark"):
            return str(sample["result"]["benchmark"]), ""
    return workload, ""
