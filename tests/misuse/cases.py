"""The rows of the misuse matrix, and the cases in which each is tried.

Owns: names, titles and crossings of rows. A case is a row, a size and a way; a way is a thread, a
process, an entry point and a state of the heap. The rows themselves are functions of the program
(frees.c, writes.c, looks.c), and self_test.py compares the names. Knows no allocator.
SPDX-License-Identifier: MIT
"""

import itertools
from dataclasses import dataclass

SIZES = (24, 64, 5 << 10, 40 << 10, 300 << 10, 4 << 20)
SIZE_TITLES = ("24", "64", "5 KiB", "40 KiB", "300 KiB", "4 MiB")

# Arguments of the program, each with the usual one first, which a way's name leaves out.
AXES = (("own", "other", "gone"), ("process", "child"), ("malloc", "new", "aligned", "heap"),
        ("fresh", "warm"))
PLAIN = "own"


def way_name(parts):
    """(thread, place, entry, state) as a name: what is unusual, or "own"."""
    unusual = [part for part, axis in zip(parts, AXES) if part != axis[0]]
    return "-".join(unusual) or PLAIN


def way_parts(name):
    words = name.split("-")
    return tuple(next((word for word in words if word in axis), axis[0]) for axis in AXES)


USUAL = ("own", "other", "gone", "child", "other-child", "warm", "new", "aligned", "heap",
         "other-heap")
WAYS = {
    # Each thread, in the process and in a child, on a fresh and on a used heap.
    "crossed": (*(way_name((thread, place, "malloc", state)) for thread, place, state
                  in itertools.product(AXES[0], AXES[1], AXES[3])),
                "new", "other-new", "aligned", "other-aligned", "heap", "other-heap"),
    "usual": USUAL,
    # realloc and the like are calls of C.
    "c": tuple(way for way in USUAL if "new" not in way),
    "cxx": ("new", "other-new", "gone-new", "child-new", "new-warm"),
    # The row says by which calls.
    "fixed": ("own", "other", "child", "warm"),
    "pair": ("own", "child", "aligned", "heap"),
}


@dataclass(frozen=True)
class Row:
    name: str
    ways: str   # a key of WAYS
    group: str  # free, mismatch, write, look
    title: str

    @property
    def is_access(self):
        """Whether the mistake is a read or a write of the program itself, not a call."""
        return self.group == "write" or self.name == "read_after_free"


ROWS = (
    Row("double_free", "crossed", "free", "`free(p); free(p)`"),
    Row("double_free_between", "crossed", "free", "`free(p); free(q); free(p)`"),
    Row("double_free_late", "usual", "free", "a second free after 4000 calls"),
    Row("double_free_crossed", "usual", "free", "a second free by another thread"),
    Row("double_free_concurrent", "pair", "free", "two threads free a block at once"),
    Row("interior_8", "crossed", "free", "`free(p + 8)`"),
    Row("interior_16", "crossed", "free", "`free(p + 16)`"),
    Row("interior_middle", "crossed", "free", "free of the middle of a block"),
    Row("free_stack", "usual", "free", "free of a local variable"),
    Row("free_stack_forged", "usual", "free", "the same, with a forged header"),
    Row("free_never_given", "usual", "free", "free of memory that was never given out"),
    Row("free_moved", "c", "free", "free of the old pointer after realloc moved the block"),
    Row("realloc_freed_same", "c", "free", "realloc of a freed block, to the same size"),
    Row("realloc_freed_grow", "c", "free", "realloc of a freed block, to a larger size"),
    Row("realloc_interior", "c", "free", "`realloc(p + 16)`"),
    Row("usable_size_freed", "usual", "free", "`malloc_usable_size` of a freed block"),
    Row("usable_size_interior", "usual", "free", "`malloc_usable_size(p + 16)`"),
    Row("sized_delete_smaller", "cxx", "mismatch", "sized delete with a third of the size"),
    Row("sized_delete_larger", "cxx", "mismatch", "sized delete with three times the size"),
    Row("free_of_new", "fixed", "mismatch", "`free` of a block of `new`"),
    Row("free_of_new_array", "fixed", "mismatch", "`free` of a block of `new[]`"),
    Row("delete_of_malloc", "fixed", "mismatch", "`delete` of a block of `malloc`"),
    Row("delete_of_new_array", "fixed", "mismatch", "`delete` of a block of `new[]`"),
    Row("overflow_1", "usual", "write", "1 byte behind the requested size"),
    Row("overflow_16", "usual", "write", "16 bytes behind the requested size"),
    Row("overflow_80", "usual", "write", "80 bytes behind the requested size"),
    Row("overflow_4096", "usual", "write", "4 KiB behind the requested size"),
    Row("overflow_1_usable", "usual", "write", "1 byte behind the usable size"),
    Row("overflow_80_usable", "usual", "write", "80 bytes behind the usable size"),
    Row("overflow_4096_usable", "usual", "write", "4 KiB behind the usable size"),
    Row("string_end", "usual", "write", "a 0 behind a string that fills its block"),
    Row("string_end_usable", "usual", "write", "a 0 behind the usable size"),
    Row("underrun_1", "usual", "write", "1 byte before the block"),
    Row("underrun_16", "usual", "write", "16 bytes before the block"),
    Row("metadata_up_1k", "usual", "write", "1 KiB from the block upward"),
    Row("metadata_up_64k", "usual", "write", "64 KiB from the block upward"),
    Row("metadata_down_1k", "usual", "write", "1 KiB from the block downward"),
    Row("metadata_down_64k", "usual", "write", "64 KiB from the block downward"),
    Row("write_after_free", "usual", "write", "the whole freed block is written"),
    Row("write_after_free_8", "usual", "write", "8 bytes of a freed block are written"),
    Row("write_after_reuse", "usual", "write", "a write by the old pointer after the next malloc"),
    Row("uninitialised_read", "usual", "look", "a new block shows what a freed one had"),
    Row("read_after_free", "usual", "look", "a freed block shows what it had"),
    Row("address_base", "usual", "look", "the low 21 bits of an address, over processes"),
    Row("address_reuse", "usual", "look", "the next malloc returns the freed block"),
    Row("address_order", "usual", "look", "fresh blocks are at equal distances"),
)
BY_NAME = {row.name: row for row in ROWS}


@dataclass(frozen=True)
class Case:
    row: str
    size: int
    way: str

    @property
    def name(self):
        return f"{self.row} {self.size} {self.way}"

    @property
    def arguments(self):
        return [self.row, str(self.size), *way_parts(self.way)]


def all_cases(pattern=""):
    """Each case whose name has the pattern in it."""
    cases = (Case(row.name, size, way) for row in ROWS for size in SIZES for way in WAYS[row.ways])
    return [case for case in cases if pattern in case.name]
