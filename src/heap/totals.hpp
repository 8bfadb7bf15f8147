// SPDX-License-Identifier: MIT
// heap/totals: where the memory of all heaps is, in numbers.
//
// Owns: nothing; adds up. Invariant: at a quiet point (no thread allocating) the numbers are exact
// and the parts sum to the whole; otherwise lists of running threads may be off by what moves
// during the look. Takes one heap lock at a time. Called on: any thread.
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
  size_t kept_large = 0;     // free, kept by threads
  size_t slab_count = 0;
  size_t heap_count = 0;
  size_t orphan_count = 0;
  size_t metadata = 0;
  size_t dirty = 0;          // free address space that may hold pages
  SpaceCounters space;
  size_t live() const noexcept { return live_small + live_large; }
};

inline void add_heap(HeapTotals& totals, Heap& heap) noexcept {
  Locked held{lock_of(heap)};
  size_t out = 0, listed = 0;
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t bytes = size_class_row(id).block_bytes;
    out += heap.taken_blocks[index] * bytes;
    listed += list_length(heap, id) * bytes;
    for (Slab* slab = heap.available[index].first; slab != nullptr; slab = slab->next) {
      totals.free_in_slabs += size_t{slab->free_count} * bytes;
    }
  }
  for (RemoteBatch& batch : heap.batches) {
    totals.on_their_way += batch.bytes.load_relaxed();  // [stat]
  }
  totals.on_their_way += heap.inbox.backlog_bytes();
  totals.listed += listed;
  totals.live_small += out > listed ? out - listed : 0;
  totals.kept_large += heap.kept_bytes;
  totals.slab_count += heap.slab_count;
  totals.heap_count++;
  totals.orphan_count += heap.shared_is_orphan.load_relaxed() ? 1 : 0;  // [stat]
}

inline HeapTotals collect_totals() noexcept {
  HeapTotals totals;
  for_each_heap([&totals](Heap& heap) noexcept { add_heap(totals, heap); });
  const size_t remote = totals.on_their_way;
  totals.live_small -= remote < totals.live_small ? remote : totals.live_small;
  Locked held{space.lock()};
  totals.live_large = large_pool.live_bytes;
  totals.live_large_count = large_pool.live_count;
  totals.metadata = space.metadata_bytes();
  totals.dirty = space.dirty_bytes();
  totals.space = space.counters();
  return totals;
}

// Gives back what is free: this thread's lists, delivered blocks and empty slabs of all heaps, and
// all but `keep_bytes` of the touched free ranges. Returns the bytes given to the kernel.
inline size_t trim_heaps(size_t keep_bytes) noexcept {
  HeapFace& face = *this_face;
  if (Heap* own = face.operations == &birth_operations ? nullptr : heap_behind(face)) {
    flush_all(*own);
  }
  for_each_heap([](Heap& heap) noexcept {
    Locked held{lock_of(heap)};
    drain_inbox(heap);
    release_empty_slabs(heap);
  });
  Locked held{space.lock()};
  return space.trim(held, keep_bytes);
}

}  // namespace talus

#endif  // TALUS_HEAP_TOTALS_HPP
