// SPDX-License-Identifier: MIT
// api/extended: functions that the C library does not have.
//
// They align at an offset, give zeroed memory and keep it zeroed, and resize strictly in place or
// without the contents. They also work on many blocks at once and copy text.
//
// Owns: errno and argument checks of these functions, as api/entry does for the others. Invariants:
// a call that fails leaves its arguments unchanged, except where talus.h says that the block is
// freed. Calls that succeed, and calls that free, keep errno. Called on: any thread.
#ifndef TALUS_API_EXTENDED_HPP
#define TALUS_API_EXTENDED_HPP

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "talus/talus.h"
#include "base/base.hpp"
#include "os/bytes.hpp"
#include "paths/aligned_at.hpp"
#include "paths/batch.hpp"
#include "paths/free.hpp"
#include "paths/resize.hpp"
#include "instances/reshape.hpp"
#include "api/entry.hpp"

namespace talus::core::api {

// Zero up to the usable size, which calloc of the C library does not promise.
inline void* calloc_whole(size_t alignment, size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (!is_power_of_two(alignment)) return invalid_argument();
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  return or_enomem(allocate_zeroed_whole(alignment, total));
}

// Null acts as calloc_whole; size zero frees and returns null.
inline void* rezalloc(void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) return or_enomem(allocate_zeroed_whole(block_alignment, bytes));
  if (bytes == 0) {
    free_block(pointer);
    return nullptr;
  }
  return or_enomem(reallocate_zeroed(pointer, bytes));
}

inline void* recalloc(void* pointer, size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  return api::rezalloc(pointer, total);
}

// Null is an answer here, not an error: errno is unchanged.
inline void* expand_in_place(void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) return nullptr;
  return expand(pointer, bytes) ? pointer : nullptr;
}

// The old block is gone in any case.
inline void* realloc_no_preserve(void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) return api::malloc(bytes);
  if (bytes == 0) {
    free_block(pointer);
    return nullptr;
  }
  return or_enomem(reallocate_empty(pointer, bytes));
}

inline void* aligned_realloc(void* pointer, size_t alignment, size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) return invalid_argument();
  if (pointer == nullptr) return allocate_at(alignment, bytes);
  if (bytes == 0) {
    free_block(pointer);
    return nullptr;
  }
  if (alignment <= block_alignment) return or_enomem(reallocate(pointer, bytes));
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return out_of_memory();
  return or_enomem(reallocate_aligned(pointer, alignment, bytes));
}

// Blocks start at multiples of 16, so other offsets are impossible.
inline void* memalign_at(size_t alignment, size_t offset, size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) return invalid_argument();
  const size_t within = offset % alignment;
  if (within == 0) return allocate_at(alignment, bytes);
  if (within % block_alignment != 0 || alignment > slice_bytes) return invalid_argument();
  return or_enomem(allocate_aligned_at(AlignedPlace{alignment, within}, bytes));
}

inline talus_block allocate_at_least(size_t alignment, size_t bytes) noexcept {
  void* block = aligned_alloc(alignment, bytes);
  return {block, usable_size(block)};
}

inline size_t malloc_batch(size_t bytes, size_t count, void** blocks) noexcept {
  const size_t made = allocate_batch(bytes, count, blocks);
  if (made != count) errno = ENOMEM;
  return made;
}
inline void free_batch(void* const* blocks, size_t count) noexcept { free_many(blocks, count); }

// A copy of `bytes` bytes with a zero after them.
inline char* copy_text(const char* text, size_t bytes) noexcept {
  char* copy = static_cast<char*>(api::malloc(bytes + 1));
  if (copy == nullptr) return nullptr;
  copy_bytes(copy, text, bytes);
  copy[bytes] = '\0';
  return copy;
}
inline char* strdup(const char* text) noexcept { return copy_text(text, strlen(text)); }
inline char* strndup(const char* text, size_t bytes_max) noexcept {
  return copy_text(text, strnlen(text, bytes_max));
}

// If the path cannot be resolved, errno is the one of realpath. libc may set it on success too.
inline char* realpath(const char* path, char* resolved) noexcept {
  const int errno_before = errno;
  char found[PATH_MAX];
  char* result = ::realpath(path, resolved != nullptr ? resolved : found);
  if (result == nullptr) return nullptr;
  errno = errno_before;
  return resolved != nullptr ? resolved : api::strdup(found);
}

}  // namespace talus::core::api

#endif  // TALUS_API_EXTENDED_HPP
