// SPDX-License-Identifier: MIT
// cache/refill: blocks of a class for a list that is empty.
//
// Owns: refilling a list, and one block for threads without a cache. Invariant: one lock round trip
// for each batch. paths/alloc.hpp has the outline.
// Called on: any thread.
#ifndef TALUS_CACHE_REFILL_HPP
#define TALUS_CACHE_REFILL_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "arch/probes.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"
#include "store/drain.hpp"
#include "store/slabs.hpp"
#include "cache/wide_lists.hpp"
#include "cache/medium_lists.hpp"

namespace talus::core {

// Fills the empty list of a class with some blocks and pops one; null: no memory.
TALUS_SLOW void* refill(ThreadCache& cache, ClassId id) noexcept {
  Heap& heap = *cache.heap;
  TALUS_ASSERT(!is_medium(id) && list_length(cache, id) == 0);
  const ThreadList list = list_of(cache, id);
  const size_t before = list_capacity(cache, id), first = list_first_of(id);
  const bool has_begun = before != 0;
  const size_t capacity = has_begun ? before : first;
  const bool has_reversed = turn_list(cache, id, Trend::grows);
  const size_t wanted = blocks_to_move(id, capacity, has_reversed);
  const bool is_long = capacity >= list_most_of(id);
  const size_t wider = is_long && has_reversed ? find_room_to_grow(cache, id) : 0;
  Held held{lock_of(heap)};
  void** bottom = list_bottom(cache, id);
  if (!has_begun) {
    list.limit = bottom + first;
  } else if (!is_long) {
    bottom = lengthen_list(held, cache, id, larger_capacity(capacity, list_most_of(id)));
  } else if (TALUS_UNLIKELY(wider != 0)) {
    bottom = grow_list(held, cache, id, wider);
  }
  if (is_time_to_drain(heap, id)) {
    drain_remote_queue(heap, {&cache, id, wanted});
    if (void* block = pop_from_list(list)) return block;
  }
  const size_t taken = take_blocks(heap, id, bottom, wanted);
  if (TALUS_UNLIKELY(taken == 0)) return nullptr;
  TALUS_ASSERT(taken <= list_capacity(cache, id));
  arch::probe_refill(size_class_row(id).block_bytes, taken);
  list.top.store_own(bottom + taken - 1);  // inside the lock, so that a fork sees it
  return bottom[taken - 1];
}

// One block straight from a slab, for threads that have no list; null: no memory.
inline void* allocate_shared(ClassId id) noexcept {
  Heap* heap = abandoned_heap();
  if (heap == nullptr) return nullptr;
  Held held{lock_of(*heap)};
  if (!heap->remote_queue.is_empty()) drain_remote_queue(*heap);
  void* block = nullptr;
  return take_blocks(*heap, id, &block, 1) == 1 ? block : nullptr;
}

// A block of a class by way of a cache, or without one.
TALUS_SLOW BlockMade allocate_on(ThreadCache* cache, ClassId id, Fit fit) noexcept {
  TALUS_ASSERT(index_of(id) < class_count);
  if (is_medium(id)) return allocate_medium(cache, id, fit);
  if (cache == nullptr) return {allocate_shared(id), Zeroed::no};
  void* block = pop_from_list(list_of(*cache, id));
  return {block != nullptr ? block : refill(*cache, id), Zeroed::no};
}

}  // namespace talus::core

#endif  // TALUS_CACHE_REFILL_HPP
