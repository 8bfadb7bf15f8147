// SPDX-License-Identifier: MIT
// entry/library_parts: says that this is libtalus.so, which is never unloaded (-z nodelete).
//
// The library is linked without compilers' start files. Arrays list its constructors and
// destructors, and no code waits for its unloading. The start files would run code at both ends of
// the library and in its middle. The kernel would then map the pages around that code into each
// process.
//
// Owns: the constant by which the rest knows the library, and a symbol that start files would
// define.
#include "threads/library_parts.hpp"

extern "C" {
[[gnu::weak]] extern char __libc_single_threaded;
const talus::core::LibraryParts talus_library_parts = {true, true, talus_register_forks,
                                                       &__libc_single_threaded};

// Weak: a sanitized build has the start files.
extern void* __dso_handle __attribute__((visibility("hidden"), weak));
void* __dso_handle = &__dso_handle;
}
