// SPDX-License-Identifier: MIT
// override.hpp: malloc and its family by their usual names, in a program that includes Talus.
//
// With the library preloaded or linked, malloc is Talus' already, and no program needs this file.
// It is for programs that have Talus by the header alone. Include it last, after all headers of the
// system, in each unit that is to use Talus. Only calls are replaced: `malloc(100)`, not `&malloc`
// and not `std::malloc(100)`, which does not compile then. A block of the C library's own, such as
// from getline, must not come to free() in such a unit.
// For operator new and delete: talus/new_delete.hpp.
//
// Owns: the list of names.
#ifndef TALUS_OVERRIDE_HPP
#define TALUS_OVERRIDE_HPP

// First, so that the declarations of the system do not meet the macros below.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "talus/talus.hpp"

namespace talus {
// So that a call with the namespace in front, talus::free(block), still compiles.
using ::talus_calloc;
using ::talus_free;
using ::talus_malloc;
using ::talus_realloc;
}  // namespace talus

#define malloc(bytes) talus_malloc(bytes)
#define calloc(count, bytes) talus_calloc(count, bytes)
#define realloc(pointer, bytes) talus_realloc(pointer, bytes)
#define reallocarray(pointer, count, bytes) talus_reallocarray(pointer, count, bytes)
#define reallocf(pointer, bytes) talus_reallocf(pointer, bytes)
#define recallocarray(pointer, old_count, count, bytes) \
  talus_recallocarray(pointer, old_count, count, bytes)
#define free(pointer) talus_free(pointer)
#define freezero(pointer, bytes) talus_freezero(pointer, bytes)
#define free_sized(pointer, bytes) talus_free_sized(pointer, bytes)
#define free_aligned_sized(pointer, alignment, bytes) \
  talus_free_aligned_sized(pointer, alignment, bytes)
#define aligned_alloc(alignment, bytes) talus_aligned_alloc(alignment, bytes)
#define memalign(alignment, bytes) talus_memalign(alignment, bytes)
#define posix_memalign(result, alignment, bytes) talus_posix_memalign(result, alignment, bytes)
#define valloc(bytes) talus_valloc(bytes)
#define pvalloc(bytes) talus_pvalloc(bytes)
#define malloc_usable_size(pointer) talus_usable_size(pointer)
#define strdup(text) talus_strdup(text)
#define strndup(text, bytes_max) talus_strndup(text, bytes_max)
#define realpath(path, resolved) talus_realpath(path, resolved)

#endif  // TALUS_OVERRIDE_HPP
