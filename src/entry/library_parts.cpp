// SPDX-License-Identifier: MIT
// entry/library_parts: says what this is, libtalus.so, which is never unloaded (-z nodelete).
//
// Owns: the constant by which the rest knows it, and a symbol that compilers' start files would
// define. The library is linked without these: its constructors and destructors are found by
// arrays, nothing waits for it to be unloaded, and they would run code at both ends of it and in
// the middle, whose surroundings the kernel maps into each process.
#include "process/library_parts.hpp"

extern "C" {
[[gnu::weak]] extern char __libc_single_threaded;
const talus::LibraryParts talus_library_parts = {true, true, talus_register_forks,
                                                 &__libc_single_threaded};

// Weak: a sanitized build has the start files.
extern void* __dso_handle __attribute__((visibility("hidden"), weak));
void* __dso_handle = &__dso_handle;
}
