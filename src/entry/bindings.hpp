// SPDX-License-Identifier: MIT
// entry/bindings: whose functions the shared names of the library are bound to.
//
// A program may define some of these names and leave the others to Talus. Some functions are built
// on another by its name: delete of a known size on delete, reallocarray on realloc. They must then
// call the program's function, or two heaps get each other's blocks.
//
// Owns: two tables that the linker or the loader fills in before any code runs. Each is in a unit
// that defines none of its names, and libtalus.so leaves these names to the loader
// (entry/bindings.list). A library that was opened late comes after the process's runtimes. All
// names then belong to other objects, and no call reaches Talus by name. Called on: any thread,
// also before constructors. Must not know: what is done about it.
#ifndef TALUS_ENTRY_BINDINGS_HPP
#define TALUS_ENTRY_BINDINGS_HPP

#include <new>

#include "base/base.hpp"
#include "api/libc_names.hpp"

namespace talus::core {

// The forms on which [new.delete] builds the others, and the one that a program defines last. If
// the last one is not Talus', no call reaches Talus by a name.
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

// The same for the C library. glibc's manual lists the names that a program must define together.
// reallocarray is not one of them, and C libraries have it.
struct MallocBindings {
  void* (*malloc)(size_t);
  void* (*aligned_alloc)(size_t, size_t)TALUS_LIBC_NOEXCEPT;
  void* (*calloc)(size_t, size_t)TALUS_LIBC_NOEXCEPT;
  void* (*realloc)(void*, size_t)TALUS_LIBC_NOEXCEPT;
  void (*free)(void*) TALUS_LIBC_NOEXCEPT;
  void* (*reallocarray)(void*, size_t, size_t)TALUS_LIBC_NOEXCEPT;
};
TALUS_HIDDEN extern const MallocBindings malloc_bindings;

}  // namespace talus::core

// Talus' own functions, whatever their names are bound to (entry/libc.cpp).
extern "C" {
TALUS_HIDDEN void* talus_own_malloc(size_t) TALUS_LIBC_NOEXCEPT;
TALUS_HIDDEN void* talus_own_calloc(size_t, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_HIDDEN void* talus_own_realloc(void*, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_HIDDEN void* talus_own_reallocarray(void*, size_t, size_t) TALUS_LIBC_NOEXCEPT;
TALUS_HIDDEN void talus_own_free(void*) TALUS_LIBC_NOEXCEPT;
}

#endif  // TALUS_ENTRY_BINDINGS_HPP
