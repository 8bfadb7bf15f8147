# What it owns: the units of src/ that the tools read, and the compiler's flags for them. The tools
# of clang ask here, so that each of them sees the code as the build compiles it.
# It must not know a tool, nor what it looks for.
# SPDX-License-Identifier: MIT
"""The units of the library, and how a compiler reads them."""

LANGUAGE = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-D_GNU_SOURCE"]
# The unit that contains the core, and the one with the entry points of the C library.
CORE = "src/entry/talus.cpp"
LIBC = "src/entry/libc.cpp"
# Each unit with its own flags. Together they read every header of src/.
ALL = [(CORE, []), (CORE, ["-DTALUS_AUDIT=1"]), (CORE, ["-DTALUS_FAKE_OS=1"]), (LIBC, []),
       ("src/entry/new.cpp", ["-fexceptions"]), ("src/entry/fork_order.cpp", []),
       ("src/entry/credentials.cpp", []), ("src/entry/system_call.cpp", []),
       ("src/entry/copies.cpp", []), ("src/entry/heap_tools.cpp", []),
       ("src/entry/library_parts.cpp", []),
       ("src/entry/archive.cpp", []), ("src/entry/operator_bindings.cpp", []),
       ("src/entry/malloc_bindings.cpp", []), ("src/entry/single_name.cpp", []),
       ("src/modes/profile.hpp", ["-xc++", "-Wno-pragma-once-outside-header"])]
# They show nearly all of the core, at the least cost.
MAIN = [(CORE, []), (LIBC, [])]
# What no unit contains: the input of tools/amalgamate.py.
UNREAD = {"src/entry/header_only.hpp"}


def flags_of(root, own):
    """All flags of a unit with these flags of its own."""
    return [*LANGUAGE, *own, f"-I{root}/src", f"-I{root}/include"]
