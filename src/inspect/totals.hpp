// SPDX-License-Identifier: MIT
// inspect/totals: where the memory of all heaps is, in numbers.
//
//   total_bytes = live_small + live_large + listed + on_their_way + free_in_slabs + slab_ends
//               + kept_large + large_ends
//   total_bytes = what address space has given, at a quiet point
//
// Owns: nothing; adds up. Invariant: at a quiet point (no thread allocates) the numbers are exact.
// Otherwise, what moves during the look may be counted twice or not at all. Still no number is ever
// negative, and the parts sum to the total. Costs a few thousand loads for each thread and each
// heap, whatever they hold. Takes the registry's lock, and one heap lock at a time.
// Called on: any thread, the background thread included.
#ifndef TALUS_INSPECT_TOTALS_HPP
#define TALUS_INSPECT_TOTALS_HPP

#include "base/base.hpp"
#include "classes/fitted.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "space/space.hpp"
#include "heap/allocated.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "heap/special.hpp"
#include "heap/slab_room.hpp"
#include "store/large.hpp"
#include "inspect/instance_totals.hpp"

namespace talus::core {

// The blocks of one class. Each block of its slabs is in one of four places.
struct ClassTotals {
  size_t slabs = 0;
  size_t live = 0;    // the program holds them
  size_t listed = 0;  // free, in thread lists
  size_t remote = 0;  // free, on their way home
  size_t free = 0;    // in their slabs
};

// All in bytes, except the counts.
struct HeapTotals {
  size_t live_small = 0;  // blocks in slabs that the program holds
  size_t live_large = 0;  // blocks with ranges of their own
  size_t live_large_count = 0;
  size_t listed = 0;           // free, in thread lists
  size_t on_their_way = 0;     // free, remote: in batches, or delivered and not drained
  size_t free_in_slabs = 0;    // free, in their slabs
  size_t purged_in_slabs = 0;  // of these, in slabs whose free pages are purged
  size_t slab_ends = 0;        // behind the last blocks of slabs
  size_t kept_large = 0;       // free, kept by threads
  size_t large_ends = 0;       // of ranges of large blocks, before and behind them
  size_t total_bytes = 0;      // the sum of these, except purged_in_slabs
  size_t slab_count = 0;
  size_t heap_count = 0;
  size_t abandoned_count = 0;  // of these, without a thread
  size_t instance_count = 0;   // not among these: heaps that the program made
  size_t instance_live = 0;    // the instances' part of live()
  size_t instance_total = 0;   // the instances' part of total_bytes, without ends of large blocks
  size_t region_live = 0;      // not in any of these: blocks in memory of instances' providers
  size_t region_total = 0;     // bytes that these providers back
  size_t cache_count = 0;      // thread caches in use, or orphaned by a fork
  size_t left_count = 0;       // of these, orphaned
  size_t sampled = 0;          // of live_large: blocks in areas of samples
  size_t sampled_count = 0;    // of live_large_count
  size_t sample_areas = 0;     // of total_bytes: address space of these areas
  size_t metadata = 0;
  size_t dirty = 0;    // free address space that may hold pages
  size_t clean = 0;    // free address space that holds none
  size_t burst = 0;    // free memory that stays for the next burst
  size_t purging = 0;  // free address space whose pages are being purged now
  SpaceCounters space;
  struct Purged {
    size_t bytes = 0, calls = 0;
  };
  Purged purged[purge_cause_count];  // by PurgeCause
  ClassTotals classes[class_count];
  size_t live() const noexcept { return live_small + live_large; }
};

// Places of a list that are not empty; its owner may have come back and be using it.
TALUS_NO_RACE_CHECK inline size_t count_places(void** places, size_t length) noexcept {
  size_t blocks = 0;
  for (size_t i = 0; i < length; i++) blocks += places[i] != nullptr ? 1 : 0;
  return blocks;
}

// Blocks in a list; the list of an idle owner may have gaps.
inline size_t listed_blocks(ThreadCache& cache, ClassId id) noexcept {
  const size_t length = list_length(cache, id);
  if (cache.shared_state.load_stat() != OwnerState::idle) return length;
  return count_places(list_bottom(cache, id), length);
}

// Adds the blocks of a message in a batch or in a remote-free queue. The collecting thread may be
// adding to it, or deliver it. Then it may hold other blocks of the same kind by now.
TALUS_NO_RACE_CHECK inline void add_message(HeapTotals& totals,
                                            const RemoteMessage& message) noexcept {
  const uint32_t count = message.count.load_acquire();
  for (uint32_t i = 0; i < count && i < RemoteMessage::blocks_max; i++) {
    const void* block = message.blocks[RemoteMessage::place_of(i)];
    const uintptr_t address = reinterpret_cast<uintptr_t>(block);
    if (!PageMap::covers(address)) continue;
    const PageEntry word = page_map.word_of(address);
    if (word.is_slab()) totals.classes[index_of(class_of_tag(word.tag()))].remote++;
  }
}

// Adds what a thread has. The caller holds the lock of its heap, so that its messages stay in
// place.
inline void add_cache(HeapTotals& totals, ThreadCache& cache) noexcept {
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    totals.classes[index].listed += listed_blocks(cache, id);
  }
  for_each_side(cache, [&](const Side& side, ClassId id) noexcept {
    totals.classes[index_of(id)].listed += blocks_on(side);
  });
  for (const RemoteBatch& batch : cache.batches) {
    if (batch.message != nullptr) add_message(totals, *batch.message);
  }
  totals.kept_large += cache.kept.bytes.load_stat();
  totals.live_large -= cache.kept.live_bytes_less.load_stat();
  totals.live_large_count -= cache.kept.live_count_less.load_stat();
}

constexpr size_t less_or_none(size_t value, size_t by) noexcept {
  return value > by ? value - by : 0;
}

inline size_t slab_blocks(size_t index) noexcept {
  return room_of_slab(ClassId{static_cast<uint8_t>(index)}).block_count;
}
// Blocks of a class in the heap's slabs. A slab from before the option guard_pages has a few more.
inline size_t free_blocks(const Heap& heap, size_t index) noexcept {
  return less_or_none(heap.class_slabs[index] * slab_blocks(index), heap.taken_blocks[index]);
}

// Adds what one heap and the caches before it hold. The caller holds the registry's lock. Blocks
// outside their slabs count as live until settle_blocks().
inline void add_heap(HeapTotals& totals, Held<RegistryLock>& registry_held, Heap& heap) noexcept
    TALUS_REQUIRES(registry.lock) {
  Held held{lock_of(heap)};
  for_each_cache(registry_held, [&](ThreadCache& cache) noexcept {
    if (cache.heap == &heap) add_cache(totals, cache);
  });
  // Draining needs the heap's lock, so no thread takes these away.
  for (const RemoteMessage* at = heap.remote_queue.newest(); at != nullptr; at = at->next) {
    add_message(totals, *at);
  }
  for (size_t index = 0; index < class_count; index++) {
    ClassTotals& blocks = totals.classes[index];
    blocks.slabs += heap.class_slabs[index];
    blocks.live += heap.taken_blocks[index];
    blocks.free += free_blocks(heap, index);
  }
  totals.purged_in_slabs += heap.partly_purged_free_bytes;
  totals.heap_count++;
  totals.abandoned_count += heap.is_abandoned() ? 1u : 0u;
}

// Ready blocks of an instance count as listed. Otherwise like add_heap().
inline void add_instance(HeapTotals& totals, Heap& base) noexcept {
  Held held{lock_of(base)};
  if (handle_of(base.id) == 0) return;  // it died meanwhile
  const auto& heap = static_cast<Instance&>(base);
  for_each_used_class(heap, [&](ClassId id) noexcept {
    const size_t index = index_of(id);
    ClassTotals& blocks = totals.classes[index];
    blocks.slabs += heap.class_slabs[index];
    blocks.live += heap.taken_blocks[index];
    blocks.listed += heap.ready[index].count;
    blocks.free += free_blocks(heap, index);
  });
  totals.purged_in_slabs += heap.partly_purged_free_bytes;
  totals.instance_count++;
  InstanceTotals numbers;
  read_instance(instance_slot(heap.id), numbers);
  totals.instance_live += numbers.live() - numbers.live_region;
  totals.instance_total += numbers.total() - numbers.region_bytes;
  totals.region_live += numbers.live_region;
  totals.region_total += numbers.region_bytes;
}

// Splits the count of blocks outside their slabs, and adds up.
inline void settle_blocks(HeapTotals& totals) noexcept {
  for (size_t index = 0; index < class_count; index++) {
    if (!fitted_classes.is_made(ClassId{static_cast<uint8_t>(index)})) continue;
    const SizeClass& row = size_class_rows.rows[index];
    ClassTotals& blocks = totals.classes[index];
    // Other threads moved blocks during the look: no place has more than there are.
    if (blocks.listed > blocks.live) blocks.listed = blocks.live;
    blocks.live -= blocks.listed;
    if (blocks.remote > blocks.live) blocks.remote = blocks.live;
    blocks.live -= blocks.remote;
    totals.live_small += blocks.live * row.block_bytes;
    totals.listed += blocks.listed * row.block_bytes;
    totals.on_their_way += blocks.remote * row.block_bytes;
    totals.free_in_slabs += blocks.free * row.block_bytes;
    totals.slab_count += blocks.slabs;
    totals.slab_ends +=
        blocks.slabs * (row.slab_slices * slice_bytes - slab_blocks(index) * row.block_bytes);
  }
}

// The part of address space.
inline void add_space(HeapTotals& totals) noexcept TALUS_REQUIRES(space.lock()) {
  totals.space = space.counters();
  totals.metadata = space.metadata_bytes();
  totals.dirty = space.dirty_bytes();
  totals.clean = space.clean_bytes();
  totals.burst = space.burst_bytes();
  totals.purging = space.purging_bytes();
  const PurgeCauses& causes = space.purge_causes();
  for (size_t i = 0; i < purge_cause_count; i++) {
    const auto cause = static_cast<PurgeCause>(i);
    totals.purged[i] = {causes.bytes(cause), causes.calls(cause)};
  }
  totals.live_large += large_pool.live_bytes;  // kept blocks are part of it
  totals.live_large_count += large_pool.live_count;
  const size_t given = totals.space.given_bytes;
  // Blocks that changed hands during the look may count twice, or with either sign.
  if (totals.live_large > given) totals.live_large = totals.live_large >> 63 != 0 ? 0 : given;
  if (totals.live_large_count >> 63 != 0) totals.live_large_count = 0;
}

inline void collect_totals(HeapTotals& totals) noexcept {
  totals = HeapTotals{};
  {
    Held registry_held{registry.lock};
    // The analysis does not know that a visit is made at once.
    for_each_heap([&](Heap& heap) TALUS_NO_THREAD_SAFETY_ANALYSIS noexcept {
      add_heap(totals, registry_held, heap);
    });
    for_each_instance([&](Heap& heap) noexcept { add_instance(totals, heap); });
    for_each_cache(registry_held, [&](ThreadCache&) noexcept { totals.cache_count++; });
    totals.left_count = totals.cache_count - registry.cache_count;
  }
  settle_blocks(totals);
  SpecialPool special;
  {
    Held held{space.lock()};
    add_space(totals);
    special = special_pool;
  }
  const size_t in_slabs = totals.live_small + totals.listed + totals.on_their_way +
                          totals.free_in_slabs + totals.slab_ends;
  const size_t others = in_slabs + totals.live_large + totals.kept_large + special.in_space_bytes;
  totals.large_ends = less_or_none(totals.space.given_bytes, others);
  totals.total_bytes = others + totals.large_ends;
  // Most blocks of a mode have their own pages, beside what address space gave.
  totals.live_large += special.live_bytes;
  totals.live_large_count += special.live_count;
  totals.sampled = special.in_space_bytes;
  totals.sampled_count = special.in_space_count;
  totals.sample_areas = special.area_bytes;
  totals.total_bytes += less_or_none(special.live_bytes, special.in_space_bytes);
}

inline HeapTotals collect_totals() noexcept {
  HeapTotals totals;
  collect_totals(totals);
  return totals;
}

// Free memory of one thread, as far as another thread can see.
struct ThreadTotals {
  size_t heap_id = 0;
  size_t listed = 0;
  size_t kept_large = 0;
  size_t collected = 0;  // remote frees that it has not delivered
  AllocatedBytes allocated;
};

inline ThreadTotals totals_of(ThreadCache& cache) noexcept {
  ThreadTotals totals;
  Held held{lock_of(cache)};
  totals.heap_id = index_of(cache.id);
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t blocks = listed_blocks(cache, id);
    if (blocks != 0) totals.listed += blocks * size_class_row(id).block_bytes;
  }
  for_each_side(cache, [&](const Side& side, ClassId id) noexcept {
    totals.listed += blocks_on(side) * size_class_row(id).block_bytes;
  });
  for (const RemoteBatch& batch : cache.batches) {
    if (batch.message == nullptr) continue;
    totals.collected += batch.message->bytes.load_stat();
  }
  totals.kept_large = cache.kept.bytes.load_stat();
  totals.allocated = allocated_bytes_of(cache);
  return totals;
}

// Up to `count` threads from the one with this number on, the youngest first. Returns how many.
inline size_t collect_threads(size_t first, ThreadTotals* threads, size_t count) noexcept {
  Held held{registry.lock};
  ThreadCache* cache = registry.caches;
  for (; first > 0 && cache != nullptr; first--) cache = cache->next;
  size_t found = 0;
  for (; found < count && cache != nullptr; cache = cache->next) {
    threads[found++] = totals_of(*cache);
  }
  return found;
}

}  // namespace talus::core

#endif  // TALUS_INSPECT_TOTALS_HPP
