# What it owns: stand-ins of C libraries that this machine does not have. The linker reads from them
# which names and versions a C library has, and writes what it read into libtalus.so. So the objects
# are those of the machine's own compiler, and the library serves glibc 2.17 and musl.
# It must not know what the library does.
# SPDX-License-Identifier: MIT
"""Stand-ins of old and other C libraries, to link with."""

import subprocess

# What libtalus.so needs of a C library: tests/asm/allowed_undefined.txt without the weak names.
# Without a stand-in a weak name has no version: it is found where the program's C library has it.
FUNCTIONS = """abort __errno_location sigaction strlen strnlen mmap munmap mremap madvise fputs
 memset memmove memcmp dl_iterate_phdr""".split()
LATER = {"realpath": (2, 3), "memcpy": (2, 14), "getauxval": (2, 16), "__getauxval": (2, 16)}
OBJECTS = ("environ", "__environ")
THREADS = ("pthread_key_create", "pthread_key_delete", "pthread_setspecific")
# The first version of glibc on each machine.
FIRST = {"x86_64": (2, 2, 5), "aarch64": (2, 17)}
OLDEST = (2, 17)  # what is served, on each machine


def node(version):
    return "GLIBC_" + ".".join(map(str, version))


def assembly(functions, objects):
    """Symbols of both kinds, at one place."""
    lines = [".section .note.GNU-stack,\"\",%progbits", ".text"]
    for name in functions:
        lines += [f".globl {name}", f".type {name},%function", f"{name}:"]
    lines += [".byte 0", ".data", ".balign 8"]
    for name in objects:
        lines += [f".globl {name}", f".type {name},%object", f".size {name},8", f"{name}:"]
    return "\n".join([*lines, ".quad 0", ""])


def versions(names):
    """A version script: `names` has the version of each name."""
    script = ""
    for version in sorted(set(names.values())):
        listed = " ".join(f"{name};" for name in sorted(names) if names[name] == version)
        script += f"{node(version)} {{ {listed} }};\n"
    return script


def write(folder, compiler, name, functions, objects=(), script=None):
    """One stand-in by the machine's compiler. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    source = folder / f"{name}.s"
    source.write_text(assembly(functions, objects))
    words = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", path, source]
    if script is not None:
        (folder / f"{name}.map").write_text(script)
        words.append(f"-Wl,--version-script={folder / name}.map")
    subprocess.run([str(word) for word in words], check=True)
    return path


def glibc(folder, compiler, machine):
    """glibc 2.17, where threads have a library of their own. Returns the paths, for TALUS_LIBC.

    pthread_atfork is in no shared library of glibc: it comes from an archive, here and there.
    """
    first = FIRST[machine]
    names = {name: first for name in (*FUNCTIONS, *OBJECTS)}
    names.update({name: max(first, version) for name, version in LATER.items()})
    assert max(names.values()) <= OLDEST
    threads = {name: first for name in THREADS}
    said = subprocess.run([compiler, "-print-file-name=libc_nonshared.a"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return [write(folder, compiler, "libpthread.so.0", THREADS, (), versions(threads)),
            said.strip(),
            write(folder, compiler, "libc.so.6", (*FUNCTIONS, *LATER), OBJECTS, versions(names))]


def musl(folder, compiler, machine):
    """musl, which has one library and no versions, under Alpine's name for it.

    Every musl takes a name that begins with `libc.` for itself. Returns the paths, for TALUS_LIBC.
    """
    names = (*FUNCTIONS, *LATER, *THREADS, "pthread_atfork")
    return [write(folder, compiler, f"libc.musl-{machine}.so.1", names, OBJECTS)]
