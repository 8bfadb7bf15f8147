// SPDX-License-Identifier: MIT
// entry/bindings: whose functions the names have become that the library shares with others.
//
// A program may define some of these names and leave the others to us. What is built on a function
// by its name (delete of a known size on delete, reallocarray on realloc) must then call the
// program's, or two heaps get each other's blocks.
// Owns: two tables that the linker or the loader fills in before any code runs: each is in a unit
// that defines none of its names, and libtalus.so leaves these names to the loader
// (entry/bindings.list). A library that was opened late stands behind the runtimes that the process
// has: all names are others', and nothing of ours is called by name.
// Called on: any thread, also before constructors. Must not know: what is done about it.
#ifndef TALUS_ENTRY_BINDINGS_HPP
#define TALUS_ENTRY_BINDINGS_HPP

#include <new>

#include "base/base.hpp"

namespace talus {

// Those that [new.delete] builds the other forms on, and the one that a program is the last to
// define: where that is not ours, nobody comes to us by a name.
struct OperatorBindings {
  void* (*new_one)(size_t);
  void* (*new_array)(size_t);
  void* (*new_aligned)(size_t, std::align_val_t);
  void* (*new_aligned_array)(size_t, std::align_val_t);
  void (*delete_one)(void*) noexcept;
  void (*delete_array)(void*) noexcept;
  void (*delete_aligned)(void*, std::align_val_t) noexcept;
  void (*delete_aligned_array)(void*, std::align_val_t) noexcept;
  void (*delete_last)(void*, std::align_val_t, const std::nothrow_t&) noexcept;
};
TALUS_HIDDEN extern const OperatorBindings operator_bindings;

// The same of the C library. glibc's manual lists the names that a program has to define together:
// reallocarray is none of them, and C libraries have it.
struct MallocBindings {
  void* (*calloc)(size_t, size_t) noexcept;
  void* (*realloc)(void*, size_t) noexcept;
  void (*free)(void*) noexcept;
  void* (*reallocarray)(void*, size_t, size_t) noexcept;
};
TALUS_HIDDEN extern const MallocBindings malloc_bindings;

}  // namespace talus

#endif  // TALUS_ENTRY_BINDINGS_HPP
