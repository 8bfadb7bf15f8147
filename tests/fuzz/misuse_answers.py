"""What must become of a planned mistake (misuse_acts.cpp), in each mode.

Owns: the answers, and the words of the lines that tests/misuse does not have. An answer is a name
of a line, for a stop at the call itself; `late NAME` is a stop after the call came back. `silent`
is no stop; then no two live blocks overlap, and all hold what was written. Knows nothing of how
processes are run.
SPDX-License-Identifier: MIT
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "misuse"))

import expected  # noqa: E402

MEDIUM_BYTES_MAX = 128 * 1024  # larger blocks have a slab or a range of their own
SMALL_BYTES_MAX = 32 * 1024  # in instances those above this
HARDENED_SLAB_BYTES_MAX = 256 * 1024 - 8  # of requests
FACTORED_BYTES_MAX = 16 * 1024  # the default looks at the slab for larger ones only when they leave

FREE = r"\(a free block of {usable} bytes\)\n"
NEVER = r"\(no call returned this block of \d+ bytes\)\n"
LINES = {name: expected.LINES[name] for name in (
    "inside", "foreign", "foreign_delete", "foreign_realloc", "foreign_usable_size",
    "mapped_double", "mapped_realloc", "mapped_usable_size")} | {
    "double": "talus: double free of {pointer} " + FREE,
    "double_other_size": "talus: double free of {pointer} " + FREE.replace("{usable}", r"\d+"),
    "used_in_realloc": r"talus: use of the freed block {pointer} in realloc\(\) " + FREE,
    "used_in_usable_size":
        r"talus: use of the freed block {pointer} in malloc_usable_size\(\) " + FREE,
    "used_in_recallocarray":
        r"talus: use of the freed block {pointer} in recallocarray\(\) " + FREE,
    "foreign_expand": expected.FOREIGN.replace("{call}", "talus_expand"),
    "mapped_expand": expected.LINES["mapped_realloc"].replace("realloc", "talus_expand"),
    "foreign_recallocarray": expected.FOREIGN.replace("{call}", "recallocarray"),
    "never_given": r"talus: invalid pointer {pointer} passed to \w+\(\) " + NEVER,
    "wrong_size": r"talus: wrong size in the free of {pointer} \({usable} bytes,"
                  r" of a block of \d+ bytes\)\n",
    # Where the first byte behind is the trailer's own, the size is not known.
    "behind": r"talus: write behind block {pointer} \(({usable}|a place of \d+) bytes;"
              r" found by \w+\(\)\)\n",
    "after_free": r"talus: write after free in block {pointer} \(byte \d+ of a place of \d+"
                  r" bytes\)\n",
    "mapped_recallocarray": expected.LINES["mapped_realloc"].replace("realloc", "recallocarray"),
    "mismatched": r"talus: mismatched free of {pointer} \(a block of {usable} bytes from [\w ]+"
                  r"(\[\])?, passed to [\w ]+(\[\])?\)\n",
}

# Options that an act needs.
OPTIONS = {"sized_wrong": {"TALUS_CHECK_SIZES": "1"}, "kind_wrong": {"TALUS_CHECK_KINDS": "1"}}

# Since the first free the range may have become another slab's, or nothing's.
STALE = ["double", "double_other_size", "foreign", "never_given", "inside"]
STALE_REALLOC = ["used_in_realloc", "foreign_realloc", "foreign_expand", "never_given", "inside"]

STALE_LOOK = ["used_in_usable_size", "foreign_usable_size", "never_given", "inside"]
STALE_RECALLOC = ["used_in_recallocarray", "foreign_recallocarray", "never_given", "inside"]
MAPPED_DOUBLE = ["mapped_double"]
# After TALUS_QUARANTINE_BYTES of freed addresses another block may have this one, or none.
MAPPED_STALE = ["mapped_double", "inside", "foreign"]

# By mode and act: [(holds for this block, answers)]. The first that holds counts.
ALL = "all"
SLAB = "slab"
SMALL = "small"  # at most FACTORED_BYTES_MAX
HEAP = "heap"  # of an instance
LARGE = "large"  # in mode hardened: has pages of its own
# Of a large block the page map has the ends alone.
INSIDE = {"realloc_inside": [(SLAB, ["inside"]), (ALL, ["inside", "foreign_realloc"])],
          "usable_size_inside": [(SLAB, ["inside"]), (ALL, ["inside", "foreign_usable_size"])]}
# A slab of few blocks may go with the block.
AT_ONCE = [(HEAP, STALE), (SMALL, ["double"]), (ALL, ["double", "foreign"])]
ANSWERS = {
    "none": {
        "double_at_once": [(ALL, ["double", "foreign", "late double", "silent"])],
        **INSIDE,
        "free_inside": [(SMALL, ["inside"]), (ALL, None)],
        "free_foreign": [(ALL, ["foreign"])],
        "free_never_given": [(ALL, None)],
    },
    "checked": {
        "double_at_once": AT_ONCE,
        "double_batch": AT_ONCE,
        "double_later": [(ALL, STALE)],
        "double_other": [(ALL, STALE)],
        "double_child": [(ALL, STALE)],
        "double_together": [(ALL, STALE)],
        "free_moved": [(ALL, STALE)],
        "realloc_freed": [(ALL, STALE_REALLOC)],
        "expand_freed": [(ALL, STALE_REALLOC)],
        "usable_size_freed": [(ALL, STALE_LOOK)],
        "recallocarray_freed": [(ALL, STALE_RECALLOC)],
        **INSIDE,
        "free_inside": [(SLAB, ["inside"]), (ALL, ["inside", "foreign"])],
        "free_foreign": [(ALL, ["foreign"])],
        "free_never_given": [(ALL, ["never_given"])],
        "sized_wrong": [(ALL, ["wrong_size"])],
        "kind_wrong": [(ALL, ["mismatched"])],
    },
    "hardened": {
        **{act: [(HEAP, STALE), (LARGE, MAPPED_DOUBLE), *AT_ONCE[1:]]
           for act in ("double_at_once", "double_batch")},
        **{act: [(HEAP, STALE), (LARGE, MAPPED_DOUBLE), (ALL, STALE)]
           for act in ("double_later", "double_other", "double_child", "double_together",
                       "free_moved")},
        "realloc_freed": [(HEAP, STALE_REALLOC), (LARGE, ["mapped_realloc"]),
                          (ALL, STALE_REALLOC)],
        "expand_freed": [(HEAP, STALE_REALLOC), (LARGE, ["mapped_expand"]), (ALL, STALE_REALLOC)],
        "usable_size_freed":
            [(HEAP, STALE_LOOK), (LARGE, ["mapped_usable_size"]), (ALL, STALE_LOOK)],
        "recallocarray_freed":
            [(HEAP, STALE_RECALLOC), (LARGE, ["mapped_recallocarray"]), (ALL, STALE_RECALLOC)],
        **INSIDE,
        "free_inside": [(ALL, ["inside", "foreign"])],
        "free_foreign": [(ALL, ["foreign"])],
        "free_never_given": [(ALL, ["never_given", "inside", "foreign"])],
        "sized_wrong": [(ALL, ["wrong_size"])],
        "kind_wrong": [(LARGE, None), (ALL, ["mismatched"])],
        "write_behind": [(HEAP, None), (LARGE, None), (ALL, ["behind"])],
        # Found when the block serves again, which it may never do.
        "write_freed": [(HEAP, None), (LARGE, None), (ALL, ["late after_free", "silent"])],
    },
    "mapped": {
        **{act: [(HEAP, None), (ALL, MAPPED_DOUBLE)] for act in ("double_at_once", "double_batch")},
        **{act: [(HEAP, None), (ALL, MAPPED_STALE)]
           for act in ("double_later", "double_other", "double_child", "double_together",
                       "free_moved")},
        "realloc_freed": [(HEAP, None), (ALL, ["mapped_realloc", "inside", "foreign_realloc"])],
        "expand_freed": [(HEAP, None), (ALL, ["mapped_expand", "inside", "foreign_expand"])],
        "usable_size_freed":
            [(HEAP, None), (ALL, ["mapped_usable_size", "inside", "foreign_usable_size"])],
        "free_inside": [(HEAP, None), (ALL, ["inside"])],
        **INSIDE,
        "free_foreign": [(ALL, ["foreign"])],
    },
}


def answers_to(mode, act, usable, maker):
    """The names of answers; None: anything may happen."""
    slab_bytes_max = SMALL_BYTES_MAX if maker == "heap" else MEDIUM_BYTES_MAX
    holds = {ALL: True, SLAB: usable <= slab_bytes_max, SMALL: usable <= FACTORED_BYTES_MAX,
             HEAP: maker == "heap", LARGE: usable > HARDENED_SLAB_BYTES_MAX}
    for kind, answers in ANSWERS[mode][act]:
        if holds[kind]:
            return answers
    raise KeyError(f"{mode} {act} {usable} {maker}")


def name_of_line(mode, said, pointer, usable, answers):
    """Which of the answers has this line; "": none."""
    for answer in answers:
        name = answer.removeprefix("late ")
        if name == "silent":
            continue
        # A hardened block is smaller than its place, whose size these lines say.
        is_any = mode == "hardened" and name not in ("behind", "wrong_size")
        pattern = LINES[name].replace("{pointer}", pointer)
        pattern = pattern.replace("{usable}", r"\d+" if is_any else str(usable))
        if re.fullmatch(pattern, said):
            return name
    return ""
