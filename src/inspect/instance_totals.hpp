// SPDX-License-Identifier: MIT
// inspect/instance_totals: what each instance holds, in numbers.
//
//   total = live_small + live_large + live_region + free + slab_ends
//         = slab_bytes + live_large + region_bytes
//
// Owns: nothing; reads. Invariants: the numbers of one instance are of one moment, so they are
// exact and sum up at any time. One lock is held at a time, and none when a function returns.
// Called on: any thread, the background thread included. Without locks, unless a function says
// otherwise.
#ifndef TALUS_INSPECT_INSTANCE_TOTALS_HPP
#define TALUS_INSPECT_INSTANCE_TOTALS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/slab_room.hpp"
#include "regions/region_words.hpp"

namespace talus::core {

// All in bytes, except the number and the counts.
struct InstanceTotals {
  size_t number = 0;       // from 0 on; constant while the instance lives, then used again
  size_t live_small = 0;   // blocks in slabs that the program holds
  size_t live_large = 0;   // blocks with ranges of their own
  size_t live_region = 0;  // blocks in memory of the instance's own provider
  size_t free = 0;         // the rest of that memory, and free blocks in slabs, with ready ones
  size_t slab_ends = 0;    // behind the last blocks of slabs
  size_t slab_bytes = 0;
  size_t region_bytes = 0;  // that the provider backs
  size_t peak = 0;          // the maximum of total(); the maxima of slabs and region, added up
  size_t limit = 0;         // of total(); 0: none
  size_t live_count = 0;
  size_t large_count = 0;  // of live_count, large ones
  size_t slab_count = 0;
  char name[Instance::name_bytes_max] = {};

  size_t live() const noexcept { return live_small + live_large + live_region; }
  size_t total() const noexcept { return slab_bytes + live_large + region_bytes; }
};

// The caller holds the lock of the instance.
inline void read_instance(const InstanceSlot& slot, InstanceTotals& totals) noexcept {
  const Instance& heap = *slot.heap;
  totals = InstanceTotals{};
  TALUS_ASSERT(is_instance(heap.id));
  totals.number = index_of(heap.id) - heap_count_max;
  for_each_used_class(heap, [&](ClassId id) noexcept {
    const size_t index = index_of(id);
    TALUS_ASSERT(heap.taken_blocks[index] >= heap.ready[index].count);
    const size_t live = heap.taken_blocks[index] - heap.ready[index].count;
    const size_t all = heap.class_slabs[index] * size_t{room_of_slab(id).block_count};
    TALUS_ASSERT(all >= live);
    totals.live_count += live;
    totals.live_small += live * size_class_row(id).block_bytes;
    totals.free += (all - live) * size_class_row(id).block_bytes;
  });
  totals.live_large = heap.large_bytes;
  totals.slab_bytes = heap.slab_bytes;
  TALUS_ASSERT(heap.slab_bytes >= totals.live_small + totals.free);
  totals.slab_ends = heap.slab_bytes - totals.live_small - totals.free;
  totals.peak = heap.peak_bytes;
  totals.limit = heap.limit_bytes;
  totals.large_count = heap.large_count;
  totals.live_count += heap.large_count;
  totals.slab_count = heap.slab_count;
  if (const RegionHeap* region = slot.region) {
    totals.live_region = region->live_units * unit_bytes;
    totals.region_bytes = region->committed_bytes;
    totals.free += region->committed_bytes - totals.live_region;
    totals.live_count += region->live_count;
    totals.peak += region->peak_bytes;
  }
  for (size_t i = 0; i < Instance::name_bytes_max; i++) totals.name[i] = heap.name[i];
}

// The living instance with this number. False: there is none.
inline bool find_instance(size_t number, InstanceTotals& totals) noexcept {
  if (number >= instance_table.shared_count.load_acquire()) return false;
  InstanceSlot& slot = instance_slot(HeapId(static_cast<uint16_t>(heap_count_max + number)));
  if (slot.shared_handle.load_hint() == 0) return false;
  Held held{slot.lock};
  if (slot.shared_handle.load_own() == 0) return false;  // under the lock
  read_instance(slot, totals);
  return true;
}

// Up to `count` living instances from number `next` on, ascending; `next` becomes the number to
// continue with. Returns how many: fewer than `count` only at the end.
inline size_t collect_instances(size_t& next, InstanceTotals* totals, size_t count) noexcept {
  size_t found = 0;
  const size_t end = instance_table.shared_count.load_acquire();
  for (; found < count && next < end; next++) {
    if (find_instance(next, totals[found])) found++;
  }
  return found;
}

}  // namespace talus::core

#endif  // TALUS_INSPECT_INSTANCE_TOTALS_HPP
