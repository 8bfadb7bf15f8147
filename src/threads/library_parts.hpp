// SPDX-License-Identifier: MIT
// threads/library_parts: what libtalus.so has, and no other object with this code.
//
// There is one constant. It is weak and empty where threads/threads.hpp is compiled, and filled in
// libtalus.so (entry/library_parts.cpp). Weak names that only libtalus.so defines would not do:
// some linkers (gold) give such a name an address in programs without the library.
//
// Owns: nothing. Called on: any thread, at any time.
#ifndef TALUS_THREADS_LIBRARY_PARTS_HPP
#define TALUS_THREADS_LIBRARY_PARTS_HPP

#include "base/base.hpp"

namespace talus::core {

// The type of libc's function that registers fork handlers.
using RegisterForks = int(void (*before)(), void (*in_parent)(), void (*in_child)(), void* object);

struct LibraryParts {
  // The linker marks it so that it is never unloaded.
  bool stays_loaded = false;
  // It interposes libc's functions that change credentials. So it learns of such changes, and of
  // filters of system calls.
  bool guards_credentials = false;
  // It interposes libc's __register_atfork, and calls the original through this. Null: it does not.
  RegisterForks* register_forks = nullptr;
  // Not 0 while libc knows of only one thread. Null: libc does not tell.
  const char* single_threaded = nullptr;
};

}  // namespace talus::core

extern "C" {
extern TALUS_HIDDEN const talus::core::LibraryParts talus_library_parts;
// In libtalus.so alone (entry/fork_order.cpp).
TALUS_HIDDEN talus::core::RegisterForks talus_register_forks;
}

#endif  // TALUS_THREADS_LIBRARY_PARTS_HPP
