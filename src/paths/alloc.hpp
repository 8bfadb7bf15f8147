// SPDX-License-Identifier: MIT
// paths/alloc: the way of a block out of the heap.
//
// allocate_or<slow>(bytes)             here        table, load, pop
//   -> allocate_slow(bytes, context)   alloc_slow  a context that is no heap: first use,
//                                                  ended, a mode
//        -> refill(cache, class)       refill      drain the remote-free queue, available slab,
//                                                  new slab
//        -> allocate_large(...)        large       kept block, range, new address space
// pop_aligned(alignment, bytes)        here        round up, table, load, pop
//   -> allocate_aligned_slow(...)      alloc_slow  slow list, large, zero bytes; as allocate_slow
#ifndef TALUS_PATHS_ALLOC_HPP
#define TALUS_PATHS_ALLOC_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "heap/context.hpp"
#include "paths/alloc_slow.hpp"

namespace talus::core {

// What to do when no block can be popped; entry points that set errno or throw have their own.
using SlowAllocate = void* (*)(size_t bytes, ThreadContext& context);

// A block of at least `bytes` bytes at a multiple of 16; otherwise the result of Slow.
template <SlowAllocate Slow>
TALUS_FAST void* allocate_or(size_t bytes) {
  ThreadContext& context = current_context();  // never null: starts at first_context
  if (TALUS_UNLIKELY(bytes > fast_bytes_max))
    return Slow(bytes, context);  // leaves: slow list, large
  // Zero bytes map to class 0. A size that the compiler knows costs no look-up.
  const size_t index =
      __builtin_constant_p(bytes)
          ? index_of(class_of(bytes))
          : context.class_of_units[(bytes + block_alignment - 1) / block_alignment];
  Atomic<void**>& slot = context.tops[index];  // a store by one register is faster than by two
  void** top = slot.load_own();
  void* block = top[-1];
  if (TALUS_UNLIKELY(block == nullptr))
    return Slow(bytes, context);  // leaves: empty, no heap, a mode
  // POINT OF NO RETURN: one store below.
  slot.store_own(top - 1);
  return block;
}

// The same; null: no memory. errno is untouched.
TALUS_FAST void* allocate(size_t bytes) noexcept { return allocate_or<allocate_slow>(bytes); }

// A block at a multiple of `alignment`, a power of two, if it is in a fast list. Null: it is not,
// or the list is empty; then call allocate_aligned. Sizes and alignments may be any.
TALUS_FAST void* pop_aligned(size_t alignment, size_t bytes) noexcept {
  ThreadContext& context = current_context();
  // bytes_at_alignment less 1. Zero bytes wrap around, and leave like large sizes.
  const size_t last = (bytes - 1) | (alignment - 1);
  if (TALUS_UNLIKELY(last >= fast_bytes_max)) return nullptr;
  Atomic<void**>& slot = context.tops[context.class_of_units[last / block_alignment + 1]];
  void** top = slot.load_own();
  void* block = top[-1];
  if (TALUS_LIKELY(block != nullptr)) slot.store_own(top - 1);
  return block;
}

// A block at a multiple of `alignment`, a power of two; null: no memory.
TALUS_SLOW void* allocate_aligned(size_t alignment, size_t bytes) noexcept {
  void* block = pop_aligned(alignment, bytes);
  return TALUS_LIKELY(block != nullptr) ? block : allocate_aligned_slow(alignment, bytes);
}

}  // namespace talus::core

#endif  // TALUS_PATHS_ALLOC_HPP
