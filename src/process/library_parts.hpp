// SPDX-License-Identifier: MIT
// process/library_parts: what libtalus.so has and no other object with this code in it.
//
// Owns: nothing. There is one constant, weak and with nothing in it where process/threads.hpp is
// compiled, and not in libtalus.so (entry/library_parts.cpp). Not told by names that libtalus.so
// alone defines: some linkers (gold) give such a weak name an address in programs without it.
// Called on: any thread, at any time.
#ifndef TALUS_PROCESS_LIBRARY_PARTS_HPP
#define TALUS_PROCESS_LIBRARY_PARTS_HPP

#include "base/base.hpp"

namespace talus {

// What handlers of forks are registered by, as libc has it.
using RegisterForks = int(void (*before)(), void (*in_parent)(), void (*in_child)(), void* object);

struct LibraryParts {
  // It is linked so that it is never unloaded.
  bool stays_loaded = false;
  // It stands before libc's functions that change credentials, and thus learns of them, and of
  // filters of system calls.
  bool guards_credentials = false;
  // It stands before libc's __register_atfork, and calls that by this. Null: it does not.
  RegisterForks* register_forks = nullptr;
  // Not 0 while libc knows of no thread but one. Null: libc does not tell.
  const char* single_threaded = nullptr;
};

}  // namespace talus

extern "C" {
extern TALUS_HIDDEN const talus::LibraryParts talus_library_parts;
// In libtalus.so alone (entry/fork_order.cpp).
TALUS_HIDDEN talus::RegisterForks talus_register_forks;
}

#endif  // TALUS_PROCESS_LIBRARY_PARTS_HPP
