// SPDX-License-Identifier: MIT
// heap/totals: where the memory of all heaps is, in numbers.
//
// Owns: nothing; adds up. Invariant: at a quiet point (no thread allocating) the numbers are exact
// and the parts sum to the whole; otherwise lists of running threads may be off by what moves
// during the look. Takes the registry's lock and one heap lock at a time. Called on: any thread.
#ifndef TALUS_HEAP_TOTALS_HPP
#define TALUS_HEAP_TOTALS_HPP

#include "heap/free.hpp"

namespace talus {

// All in bytes, but the counts.
struct HeapTotals {
  size_t live_small = 0;     // blocks in slabs that the program holds
  size_t live_large = 0;     // blocks of their own
  size_t live_large_count = 0;
  size_t listed = 0;         // free, in thread lists
  size_t on_their_way = 0;   // free, remote: in batches or delivered and not yet taken
  size_t free_in_slabs = 0;  // free, in their slabs
  size_t purged_in_slabs = 0;  // of these, in slabs whose free pages are given back
  size_t kept_large = 0;     // free, kept by threads
  size_t slab_count = 0;
  size_t heap_count = 0;
  size_t deserted_count = 0;   // of these, without a thread
  size_t cache_count = 0;    // thread caches in use, or left behind by a fork
  size_t metadata = 0;
  size_t dirty = 0;          // free address space that may hold pages
  SpaceCounters space;
  size_t live() const noexcept { return live_small + live_large; }
};

// Places of a list that are not empty; its owner may be back and at work.
TALUS_NO_RACE_CHECK inline size_t count_places(void** places, size_t length) noexcept {
  size_t blocks = 0;
  for (size_t i = 0; i < length; i++) blocks += places[i] != nullptr ? 1 : 0;
  return blocks;
}

// Blocks in a list; one whose owner rests may have gaps.
inline size_t listed_blocks(ThreadCache& cache, ClassId id) noexcept {
  const size_t length = list_length(cache, id);
  // [stat]
  if (cache.presence.shared_state.load_relaxed() != Attendance::absent) return length;
  return count_places(list_bottom(cache, id), length);
}

// Adds what one heap and the caches before it hold. The registry's lock is held.
inline void add_heap(HeapTotals& totals, Locked& registry_held, Heap& heap) noexcept {
  Locked held{lock_of(heap)};
  size_t out = 0, listed = 0, remote = 0;
  for_each_cache(registry_held, [&](ThreadCache& cache) noexcept {
    if (cache.heap != &heap) return;
    for (size_t index = 0; index < class_count; index++) {
      const ClassId id{static_cast<uint8_t>(index)};
      listed += listed_blocks(cache, id) * size_class_row(id).block_bytes;
    }
    for (RemoteBatch& batch : cache.batches) {
      if (batch.message != nullptr) remote += batch.message->bytes.load_relaxed();  // [stat]
    }
    totals.kept_large += cache.kept.bytes.load_relaxed();                   // [stat]
    totals.live_large -= cache.kept.live_bytes_less.load_relaxed();         // [stat]
    totals.live_large_count -= cache.kept.live_count_less.load_relaxed();  // [stat]
  });
  for (size_t index = 0; index < class_count; index++) {
    const size_t bytes = size_class_table.rows[index].block_bytes;
    out += heap.taken_blocks[index] * bytes;
  }
  totals.free_in_slabs += heap.free_bytes;
  totals.purged_in_slabs += heap.lean_free_bytes;
  totals.on_their_way += remote + heap.inbox.backlog_bytes();
  totals.listed += listed;
  totals.live_small += out > listed ? out - listed : 0;
  totals.slab_count += heap.slab_count;
  totals.heap_count++;
  totals.deserted_count += heap.is_deserted() ? 1 : 0;
}

inline HeapTotals collect_totals() noexcept {
  HeapTotals totals;
  {
    Locked registry_held{registry.lock};
    for_each_heap([&](Heap& heap) noexcept { add_heap(totals, registry_held, heap); });
    for_each_cache(registry_held, [&](ThreadCache&) noexcept { totals.cache_count++; });
  }
  const size_t remote = totals.on_their_way;
  totals.live_small -= remote < totals.live_small ? remote : totals.live_small;
  Locked held{space.lock()};
  totals.live_large += large_pool.live_bytes;  // which kept blocks are part of
  totals.live_large_count += large_pool.live_count;
  // Blocks that changed hands during the look may have been counted twice, or with either sign.
  if (totals.live_large > space.counters().given_bytes) {
    const bool is_negative = totals.live_large >> 63 != 0;
    totals.live_large = is_negative ? 0 : space.counters().given_bytes;
  }
  if (totals.live_large_count >> 63 != 0) totals.live_large_count = 0;
  totals.live_large += special_pool.live_bytes;  // pages of their own, too
  totals.live_large_count += special_pool.live_count;
  totals.metadata = space.metadata_bytes();
  totals.dirty = space.dirty_bytes();
  totals.space = space.counters();
  return totals;
}

}  // namespace talus

#endif  // TALUS_HEAP_TOTALS_HPP
