// SPDX-License-Identifier: MIT
// door/stays_loaded: says that this is libtalus.so, which is never unloaded (-z nodelete).
//
// Owns: one symbol, which process/threads.hpp looks for, and one that compilers' start files would
// define. The library is linked without these: its constructors and destructors are found by
// arrays, nothing waits for it to be unloaded, and they would run code at both ends of it and in
// the middle, whose surroundings the kernel maps into each process.
extern "C" {
extern const char talus_stays_loaded __attribute__((visibility("hidden")));
const char talus_stays_loaded = 1;
// Weak: a sanitized build has the start files.
extern void* __dso_handle __attribute__((visibility("hidden"), weak));
void* __dso_handle = &__dso_handle;
}
