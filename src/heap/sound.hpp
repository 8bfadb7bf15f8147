// SPDX-License-Identifier: MIT
// heap/sound: what must hold of a heap's counters and of a thread cache between two operations.
//
//   heap    slabs           = sum over classes of slabs of the class
//           blocks          = for each class: taken blocks + free blocks in slabs
//           free_bytes      = free blocks of all slabs, in bytes
//           purged_*        = the same, of partly purged slabs and of purged pages
//   cache   a list          = two nulls, then its blocks without a gap, up to its top
//           a batch         = an owner and a message, or neither
//   kept    bytes           = slices of the blocks in the stacks
//
// Each counter has one equation, so a mistake in one place breaks the equation of that counter at
// the end of the same operation. Audit builds (TALUS_AUDIT) check at each transition; other builds
// compile the checks and never run them.
// Owns: the equations. Invariants: reads only; a slab whose pages are being purged is in no bin, so
// sums are lower bounds while there is one. Called on: any thread that holds the heap's lock, or
// the owner of a cache. Must not know: the code that
// changes the counters.
#ifndef TALUS_HEAP_SOUND_HPP
#define TALUS_HEAP_SOUND_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "slab/slab.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"

namespace talus::core {

// Sums over the slabs that a heap can find: those in its bins.
struct SlabSums {
  size_t slabs = 0;
  size_t free_bytes = 0;
  size_t purged_bytes = 0;

  void add(const Slab& slab) noexcept {
    slabs++;
    free_bytes += size_t{slab.free_count} * slab.block_bytes;
    purged_bytes += slab.purged_page_bytes;
  }
};

// Adds the slabs of one list. False: one of them is of another class or in another state.
inline bool add_list(SlabSums& sums, const SlabList& list, ClassId id, SlabState state) noexcept {
  const Slab* previous = nullptr;
  for (const Slab* slab = list.first; slab != nullptr; slab = slab->next) {
    if (slab->state != state || slab->class_id != id || slab->previous != previous) return false;
    sums.add(*slab);
    previous = slab;
  }
  return list.last == previous;
}
inline bool add_bins(SlabSums& sums, const SlabBins& bins, ClassId id, SlabState state) noexcept {
  for (const SlabList& bin : bins.bins) {
    if (!add_list(sums, bin, id, state)) return false;
  }
  return true;
}

// Blocks of a class are taken or free: nothing is lost, and nothing is there twice.
inline bool is_class_sound(const Heap& heap, ClassId id, const SlabSums& sums) noexcept {
  const size_t index = index_of(id);
  const SizeClass& row = size_class_row(id);
  const size_t blocks = size_t{heap.class_slabs[index]} * row.block_count;
  const size_t known = heap.taken_blocks[index] + sums.free_bytes / row.block_bytes;
  const bool is_exact = heap.purging_count == 0;
  return sums.slabs <= heap.class_slabs[index] && (is_exact ? blocks == known : blocks >= known);
}

inline bool Heap::is_sound() const noexcept {
  size_t slabs = 0, bytes = 0, free = 0, free_in_purged = 0, purged = 0;
  for (size_t index = 0; index < class_count; index++) {
    const ClassId class_id{static_cast<uint8_t>(index)};
    SlabSums sums;
    if (!add_bins(sums, partly_purged[index], class_id, SlabState::partly_purged)) return false;
    free_in_purged += sums.free_bytes;
    if (!add_bins(sums, available[index], class_id, SlabState::available)) return false;
    if (!is_class_sound(*this, class_id, sums)) return false;
    slabs += class_slabs[index];
    bytes += class_slabs[index] * size_class_row(class_id).slab_slices * slice_bytes;
    free += sums.free_bytes;
    purged += sums.purged_bytes;
  }
  if (slabs != slab_count || bytes != slab_bytes) return false;
  if (free_in_purged != partly_purged_free_bytes) return false;
  if (purging_count != 0) return free <= free_bytes && purged <= purged_page_bytes;
  return free == free_bytes && purged == purged_page_bytes;
}

inline bool KeptBlocks::is_sound() const noexcept {
  size_t sum = 0;
  for (size_t place = 0; place < large_kept_slices; place++) {
    const LargeBlock* large = of_slices[place].load_own();
    for (; large != nullptr; large = large->next) {
      if (large->state != LargeState::kept || large->slices != place + 1) return false;
      sum += large->slices * slice_bytes;
    }
  }
  return sum == bytes.load_own();
}

// A list that others emptied while its thread was idle has gaps until its owner comes back.
inline bool is_list_sound(ThreadCache& cache, ClassId id) noexcept {
  void** const bottom = list_bottom(cache, id);
  void** const top = list_of(cache, id).top.load_own();
  if (top < bottom || bottom[-1] != nullptr || bottom[-2] != nullptr) return false;
  for (void** at = bottom; at != top; at++) {
    if (*at == nullptr) return false;
  }
  return true;
}

inline bool ThreadCache::is_sound() noexcept {
  if (shared_state.load_own() == OwnerState::idle) return true;
  for (size_t index = 0; index < class_count; index++) {
    if (!is_list_sound(*this, ClassId{static_cast<uint8_t>(index)})) return false;
  }
  for (const RemoteBatch& batch : batches) {
    if ((batch.message == nullptr) != (batch.owner == HeapId::none)) return false;
  }
  return kept.is_sound();
}

// In audit builds, at the end of each operation on a heap. A heap of many slabs is looked at now
// and then, because a look reads all of them.
inline void audit(const Heap& heap) noexcept {
  constexpr size_t always_looked_at = 32;
  constexpr uint32_t looked_at_every = 64;
  if (TALUS_AUDIT == 0) return;
  if (heap.slab_count > always_looked_at && heap.refills % looked_at_every != 0) return;
  TALUS_AUDIT_SOUND(heap);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_SOUND_HPP
