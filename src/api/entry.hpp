// SPDX-License-Identifier: MIT
// api/entry: the contracts of the C library, C23, BSD and POSIX, on top of the heap.
//
// Each function is the body of one exported name; the entry points only name it.
//
// Owns: errno and argument checks; nothing else sets errno. Invariants: a failing call leaves its
// arguments unchanged and sets errno to ENOMEM, or to EINVAL for a wrong alignment. free keeps
// errno. Called on: any thread. Sources: ISO C23 7.24.3, POSIX.1-2024, the manual pages of glibc
// 2.36 (memalign, valloc, malloc_usable_size) and OpenBSD (recallocarray, freezero).
#ifndef TALUS_API_ENTRY_HPP
#define TALUS_API_ENTRY_HPP

#include <errno.h>

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "heap/context.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "store/large.hpp"
#include "paths/alloc.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/facts.hpp"
#include "paths/free.hpp"
#include "paths/resize.hpp"
#include "instances/instance_from.hpp"

namespace talus::core::api {

TALUS_COLD void* out_of_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
TALUS_COLD void* invalid_argument() noexcept {
  errno = EINVAL;
  return nullptr;
}
TALUS_FAST void* or_enomem(void* block) noexcept {
  return TALUS_LIKELY(block != nullptr) ? block : out_of_memory();
}

TALUS_SLOW void* allocate_slower_or_errno(size_t bytes, ThreadContext& context) noexcept {
  return or_enomem(allocate_slower(bytes, context));
}
TALUS_NEXT void* allocate_slow_or_errno(size_t bytes, ThreadContext& context) noexcept {
  if (void* block = take_at_hand(bytes, context)) return block;
  return allocate_slower_or_errno(bytes, context);
}

TALUS_FAST void* malloc(size_t bytes) noexcept {
  return allocate_or<allocate_slow_or_errno>(bytes);
}
TALUS_FAST void free(void* pointer) noexcept { free_block(pointer); }

inline void* calloc(size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  return or_enomem(allocate_zeroed(total));
}

TALUS_SLOW void* reallocate_small_or_errno(void* pointer, size_t usable, size_t bytes) noexcept {
  return or_enomem(reallocate_small(pointer, usable, bytes));
}
TALUS_SLOW void* reallocate_slow_or_errno(void* pointer, size_t bytes) noexcept {
  return or_enomem(reallocate_slow(pointer, bytes));
}
TALUS_SLOW void* reallocate_to_nothing(void* pointer) noexcept {
  free_block(pointer);
  return nullptr;
}

// Like glibc: null acts as malloc, size zero frees and returns null.
TALUS_FAST void* realloc(void* pointer, size_t bytes) noexcept {
  if (TALUS_UNLIKELY(pointer == nullptr)) return api::malloc(bytes);
  if (TALUS_UNLIKELY(bytes == 0)) return reallocate_to_nothing(pointer);
  return reallocate_or<reallocate_small_or_errno, reallocate_slow_or_errno>(pointer, bytes);
}
// One copy for the rarer names.
TALUS_SLOW void* realloc_by_call(void* pointer, size_t bytes) noexcept {
  return api::realloc(pointer, bytes);
}

inline void* reallocarray(void* pointer, size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  return realloc_by_call(pointer, total);
}

// FreeBSD: frees the old block when the new one cannot be allocated.
inline void* reallocf(void* pointer, size_t bytes) noexcept {
  void* resized = realloc_by_call(pointer, bytes);
  if (resized == nullptr && bytes != 0 && pointer != nullptr) free_block(pointer);
  return resized;
}

// OpenBSD: like reallocarray, but new memory is zero, and the old block is cleared.
inline void* recallocarray(void* pointer, size_t old_count, size_t count, size_t bytes) noexcept {
  size_t old_total = 0, total = 0;
  if (pointer == nullptr) return api::calloc(count, bytes);
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  if (__builtin_mul_overflow(old_count, bytes, &old_total)) return invalid_argument();
  look_at(pointer, "recallocarray");
  if (old_total > facts_of(pointer, "recallocarray").usable_bytes) return invalid_argument();
  const uintptr_t instance = instance_of(pointer);
  void* fresh = instance == 0
                    ? allocate_zeroed(total)
                    : allocate_zeroed_from(instance, {total, block_alignment, "recallocarray"});
  if (fresh == nullptr) return out_of_memory();
  copy_bytes(fresh, pointer, old_total < total ? old_total : total);
  clear_secret(pointer, old_total);
  free_block(pointer);
  return fresh;
}

// OpenBSD: clears at least the first `bytes` bytes, then frees.
inline void freezero(void* pointer, size_t bytes) noexcept {
  if (pointer == nullptr) return;
  look_at(pointer, "freezero");  // before a freed block is written to
  const size_t usable = facts_of(pointer, "freezero").usable_bytes;
  clear_secret(pointer, bytes < usable ? bytes : usable);
  free_block(pointer);
}

// The caller has checked that the alignment is a power of two.
inline void* allocate_at_slow(size_t alignment, size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return out_of_memory();
  return or_enomem(allocate_aligned_slow(alignment, bytes));
}
inline void* allocate_at(size_t alignment, size_t bytes) noexcept {
  void* block = pop_aligned(alignment, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : allocate_at_slow(alignment, bytes);
}

// The next three return a block of a list if they can. The slow version of each has the whole
// contract.
TALUS_SLOW void* aligned_alloc_slow(size_t alignment, size_t bytes) noexcept {
  return is_power_of_two(alignment) ? allocate_at_slow(alignment, bytes) : invalid_argument();
}
TALUS_FAST void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (TALUS_LIKELY(is_power_of_two(alignment))) {
    if (void* block = pop_aligned(alignment, bytes)) return block;
  }
  return aligned_alloc_slow(alignment, bytes);
}

// glibc's memalign takes any alignment and rounds it up to a power of two.
TALUS_SLOW void* memalign_slow(size_t alignment, size_t bytes) noexcept {
  if (alignment > (size_t{1} << 63)) return invalid_argument();
  size_t power = block_alignment;
  while (power < alignment) power <<= 1;
  return allocate_at(power, bytes);
}
TALUS_FAST void* memalign(size_t alignment, size_t bytes) noexcept {
  if (TALUS_LIKELY(is_power_of_two(alignment))) {
    if (void* block = pop_aligned(alignment, bytes)) return block;
  }
  return memalign_slow(alignment, bytes);
}

// Returns the error instead of setting errno, and leaves *result unchanged on failure.
TALUS_SLOW int posix_memalign_slow(void** result, size_t alignment, size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int errno_before = errno;
  void* block = allocate_at_slow(alignment, bytes);
  errno = errno_before;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}
TALUS_FAST int posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  if (TALUS_LIKELY(is_power_of_two(alignment) && alignment % sizeof(void*) == 0)) {
    if (void* block = pop_aligned(alignment, bytes)) {
      *result = block;
      return 0;
    }
  }
  return posix_memalign_slow(result, alignment, bytes);
}

inline void* valloc(size_t bytes) noexcept { return allocate_at(os::page_bytes(), bytes); }
inline void* pvalloc(size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX) return out_of_memory();
  const size_t rounded = round_up(bytes == 0 ? 1 : bytes, os::page_bytes());
  return allocate_at(os::page_bytes(), rounded);
}

TALUS_FAST size_t malloc_usable_size(void* pointer) noexcept {
  return usable_size_at_hand(pointer);
}

// The least size that malloc(bytes) provides. A medium block of the next class may serve instead.
inline size_t malloc_good_size(size_t bytes) noexcept {
  if (sizes_are_exact()) return bytes;
  if (bytes <= medium_bytes_max) return size_class_row(class_of(bytes)).block_bytes;
  return bytes > PTRDIFF_MAX ? bytes : usable_bytes_of_large(bytes);
}

// C23. Talus does not need the caller's size, so a wrong one is harmless. The checked mode compares
// it on request.
TALUS_FAST void free_sized(void* pointer, size_t bytes) noexcept {
  free_block(pointer, FreeCall{CallKind::c, bytes});
}
TALUS_FAST void free_aligned_sized(void* pointer, size_t, size_t) noexcept { free_block(pointer); }

}  // namespace talus::core::api

#endif  // TALUS_API_ENTRY_HPP
