// SPDX-License-Identifier: MIT
// inspect/instance_look: what lives in an instance.
//
//   walk_instance   areas by address; for each, without the lock: visit the area, then its blocks
//
// Owns: nothing. Invariants: a visitor is called without any lock, so it may allocate and free, in
// this instance, too. A walk visits the blocks that the bitmap showed before the first visit to
// their area. So it shows exactly the live blocks if no other thread changes the instance
// meanwhile.
// Called on: any thread.
#ifndef TALUS_INSPECT_INSTANCE_LOOK_HPP
#define TALUS_INSPECT_INSTANCE_LOOK_HPP

#include "talus/talus.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "regions/region.hpp"
#include "regions/region_words.hpp"
#include "store/instance_large.hpp"
#include "store/instance_room.hpp"
#include "store/large.hpp"
#include "paths/instance_region.hpp"
#include "instances/instance_life.hpp"
#include "inspect/instance_totals.hpp"

namespace talus::core {

// A slab, or the range of a large block.
struct AreaFacts {
  uintptr_t base = 0;  // 0: there is none
  size_t bytes = 0;
  size_t block_bytes = 0;
  size_t block_count = 0;
  size_t live_count = 0;
  uint64_t live_bits[bitmap_words_max()] = {};
};

// The lowest addresses at or above a bound, ascending.
struct LowestBases {
  static constexpr size_t count_max = 64;
  uintptr_t bases[count_max];
  size_t count = 0;

  void note(uintptr_t base) noexcept {
    if (count == count_max && base > bases[count - 1]) return;
    size_t at = count < count_max ? count++ : count - 1;
    for (; at > 0 && bases[at - 1] > base; at--) bases[at] = bases[at - 1];
    bases[at] = base;
  }
};

inline LowestBases lowest_areas(uintptr_t handle, uintptr_t from, const char* call) noexcept {
  LowestBases lowest;
  const InsideWhole inside{handle, call};
  for_each_slab(inside.heap(), [&](const Slab& slab) noexcept {
    if (slab.base >= from) lowest.note(slab.base);
  });
  const LargeBlock* large = inside.heap().large_blocks;
  for (; large != nullptr; large = large->next_inside) {
    if (large->base >= from) lowest.note(large->base);
  }
  return lowest;
}

inline void read_slab(const Slab& slab, AreaFacts& area) noexcept {
  area.bytes = slab.bytes();
  area.block_bytes = slab.block_bytes;
  area.block_count = slab.block_count;
  area.live_count = slab.block_count - slab.free_count;
  // A slab with a guard page has fewer blocks than its class, and may have words without blocks.
  for (size_t word = 0; word * 64 < slab.block_count; word++) {
    area.live_bits[word] = ~slab.free_bits()[word] & low_bits(slab.block_count - word * 64);
  }
}

// What is at the start of an area now; base 0: it is gone.
inline AreaFacts area_at(uintptr_t handle, uintptr_t base, const char* call) noexcept {
  AreaFacts area;
  const Inside inside{handle, call};
  Instance& heap = inside.heap();
  const PageEntry word = page_map.word_of(base);
  if (word.owner() == heap.id) {
    give_ready_back(heap);
    // The last call may have emptied the slab.
    if (page_map.word_of(base).owner() != heap.id) return area;
    const Slab& slab = *static_cast<Slab*>(page_map.descriptor_of_owned(base));
    if (slab.base != base) return area;
    area.base = base;
    read_slab(slab, area);
  } else if (is_large_of(heap.id, word)) {
    const LargeBlock& large = *static_cast<LargeBlock*>(page_map.descriptor_of(base));
    if (large.base != base) return area;
    area.base = base;
    area.bytes = large.slices * slice_bytes;
    area.block_bytes = large.usable_bytes;
    area.block_count = area.live_count = 1;
    area.live_bits[0] = 1;
  }
  return area;
}

// Calls visit(area, block) with block null, and then with each live block of the area; false stops.
// Returns whether it reached the end.
template <typename Visit>
bool walk_area(const AreaFacts& area, Visit visit) noexcept {
  if (!visit(area, nullptr)) return false;
  for (size_t word = 0; word < bitmap_words_max(); word++) {
    for (uint64_t bits = area.live_bits[word]; bits != 0; bits &= bits - 1) {
      const uintptr_t offset = (word * 64 + lowest_bit(bits)) * area.block_bytes;
      if (!visit(area, reinterpret_cast<void*>(area.base + offset))) return false;
    }
  }
  return true;
}

// The same for all areas between two addresses, ascending, but not for those in a region.
template <typename Visit>
bool walk_areas(uintptr_t handle, uintptr_t from, uintptr_t to, const char* call,
                Visit visit) noexcept {
  for (;;) {
    const LowestBases lowest = lowest_areas(handle, from, call);
    for (size_t i = 0; i < lowest.count; i++) {
      if (lowest.bases[i] >= to) return true;
      const AreaFacts area = area_at(handle, lowest.bases[i], call);
      if (area.base != 0 && area.live_count != 0 && !walk_area(area, visit)) return false;
    }
    if (lowest.count < LowestBases::count_max) return true;
    from = lowest.bases[lowest.count - 1] + 1;
  }
}

// The same for all areas of an instance, ascending. Blocks that fell back lie on either side of the
// region.
template <typename Visit>
bool walk_instance(uintptr_t handle, const char* call, Visit visit) noexcept {
  const RegionHeap* region = region_of(handle, call);
  if (region == nullptr) return walk_areas(handle, 0, UINTPTR_MAX, call, visit);
  const uintptr_t base = region->base, end = region->end;
  if (!walk_areas(handle, 0, base, call, visit)) return false;
  const bool is_whole = walk_region(handle, call, [&](void* block, size_t bytes) noexcept {
    AreaFacts area;
    area.base = reinterpret_cast<uintptr_t>(block);
    area.bytes = area.block_bytes = bytes;
    area.block_count = area.live_count = area.live_bits[0] = 1;
    return walk_area(area, visit);
  });
  return is_whole && walk_areas(handle, end, UINTPTR_MAX, call, visit);
}

// Is the pointer the start of a live block of the instance?
inline bool instance_contains(uintptr_t handle, const void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const Inside inside{handle, call};
  Instance& heap = inside.heap();
  const RegionHeap* region = inside.slot().region;
  if (region != nullptr && region->holds(address)) return units_of(*region, pointer) != 0;
  const NamedBefore found = named_of_block(pointer);
  const PageEntry word = PageEntry::from_bits(found.word_bits);
  if (word.owner() == heap.id) {
    const Slab& slab = *static_cast<Slab*>(found.descriptor);
    const size_t offset = address - slab.base;
    const size_t index = offset / slab.block_bytes;
    if (index * slab.block_bytes != offset || index >= slab.block_count) return false;
    if (slab.is_free(static_cast<uint32_t>(index))) return false;
    const ReadyBlocks& ready = heap.ready[index_of(slab.class_id)];
    for (size_t i = 0; i < ready.count; i++) {
      if (ready.blocks[i] == pointer) return false;
    }
    return true;
  }
  if (!is_large_of(heap.id, word)) return false;
  return start_of(*static_cast<LargeBlock*>(found.descriptor)) == pointer;
}

// All numbers are of one moment.
inline talus_heap_numbers numbers_of_instance(uintptr_t handle, const char* call) noexcept {
  InstanceTotals totals;
  {
    const Inside inside{handle, call};
    read_instance(inside.slot(), totals);
  }
  talus_heap_numbers numbers{};
  numbers.live_bytes = totals.live();
  numbers.live_blocks = totals.live_count;
  numbers.slab_bytes = totals.slab_bytes + totals.region_bytes;
  numbers.slabs = totals.slab_count;
  numbers.large_bytes = totals.live_large;
  numbers.large_blocks = totals.large_count;
  numbers.peak_bytes = totals.peak;
  numbers.limit_bytes = totals.limit;
  return numbers;
}

}  // namespace talus::core

#endif  // TALUS_INSPECT_INSTANCE_LOOK_HPP
