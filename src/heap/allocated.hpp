// SPDX-License-Identifier: MIT
// heap/allocated: how many bytes of blocks each thread has allocated, where that is asked for.
//
//   allocated = told + moved to allocation sides - waiting there + passed by them (heap/sides.hpp)
//
// Blocks that a mode is told of one by one (modes/allocated.hpp) are in `told`. All others are in
// the counts that two-sided lists keep anyway. So a thread counts without an instruction on its
// fast paths, and the sum is exact when the thread itself asks.
// Owns: which parties want these numbers, and how a cache's number is made. Invariants: a cache's
// word is 0 until its thread is counted. A number begins with 0. The owner of the cache writes it;
// before the count begins, the holder of the registry's lock does.
// Called on: any thread. Must not know: why a party asks, and how a thread gets two-sided lists.
#ifndef TALUS_HEAP_ALLOCATED_HPP
#define TALUS_HEAP_ALLOCATED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/sides.hpp"

namespace talus::core {

// Bits: parties that want threads to be counted.
struct AllocatedAskers {
  static constexpr uint32_t program = 1, command = 2;
};
struct AllocatedCount {
  Atomic<uint32_t> shared_askers;
};
TALUS_CONSTINIT inline AllocatedCount allocated_count;

// Blocks that malloc took from one allocation side.
inline uint64_t popped_from(ThreadCache& cache, SidedContext& context, size_t index) noexcept {
  const Side side = allocation_side(context, index);
  const uint64_t moved = context.moved[index].load_stat();
  const bool may_have_gaps = cache.shared_state.load_stat() == OwnerState::idle;
  return moved - (may_have_gaps ? blocks_on(side) : side.length());
}
// Bytes of blocks that no mode was told of. May be off by what the owner does just now.
TALUS_APART uint64_t untold_bytes(ThreadCache& cache) noexcept {
  SidedContext* context = cache.shared_sides.load_acquire();
  if (context == nullptr) return 0;
  uint64_t bytes = 0;
  for (size_t index = 0; index < class_count; index++) {
    uint64_t blocks = context->begun[index].load_stat();
    if (index < fast_class_count) blocks += popped_from(cache, *context, index);
    if (blocks != 0) bytes += blocks * size_class_rows.rows[index].block_bytes;
  }
  return bytes;
}

// The number of this cache's thread is 0 from here on. Sizes are multiples of 16, so the word is
// never 0 by chance.
TALUS_APART void begin_allocated(ThreadCache& cache) noexcept {
  cache.shared_told_bytes.store_own(1 - untold_bytes(cache));
}
inline void tell_allocated(ThreadCache& cache, size_t bytes) noexcept {
  if (TALUS_UNLIKELY(cache.shared_told_bytes.load_own() == 0)) begin_allocated(cache);
  cache.shared_told_bytes.own_add(bytes);
}

struct AllocatedBytes {
  bool is_known = false;
  uint64_t bytes = 0;
};
inline AllocatedBytes allocated_bytes_of(ThreadCache& cache) noexcept {
  const uint64_t told = cache.shared_told_bytes.load_stat();
  if (told == 0 || allocated_count.shared_askers.load_acquire() == 0) return {};
  const uint64_t bytes = told - 1 + untold_bytes(cache);
  return {true, bytes >> 63 == 0 ? bytes : 0};  // less than 0: the owner is just taking blocks
}

}  // namespace talus::core

#endif  // TALUS_HEAP_ALLOCATED_HPP
