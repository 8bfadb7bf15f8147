// SPDX-License-Identifier: MIT
// store/keep_empty: may an empty slab stay with its heap?
//
// Owns: the answer; heap/empty_slabs.hpp has the allowance. Called on: any thread that holds the
// heap's lock.
#ifndef TALUS_STORE_KEEP_EMPTY_HPP
#define TALUS_STORE_KEEP_EMPTY_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "slab/slab.hpp"
#include "heap/empty_slabs.hpp"
#include "heap/heap.hpp"

namespace talus::core {

// One empty slab of a class stays for the next refill, unless it is large. Where no list keeps
// freed blocks, a large one stays, too.
inline bool may_one_stay(const Heap& heap, const Slab& slab) noexcept {
  const SizeClass& row = size_class_row(slab.class_id);
  return (row.slab_slices == 1 || is_home_at_once(row.block_bytes)) &&
         heap.available[index_of(slab.class_id)].holds_only(slab);
}

// The class ended slabs in vain. Now free blocks stay, as many as the slabs that it may keep have.
// Those in other slabs count.
inline bool may_more_stay(Heap& heap, ClassId id) noexcept {
  const size_t allowed = heap.empty_slabs.allowed(id);
  if (TALUS_LIKELY(allowed == 0)) return false;
  const size_t in_slab = size_class_row(id).block_count;
  const size_t blocks = heap.class_slabs[index_of(id)] * in_slab;
  if (blocks - heap.taken_blocks[index_of(id)] > (allowed + 1) * in_slab) return false;
  heap.empty_slabs.note_kept(id);
  return true;
}

// May this slab stay, which just became empty? It is in a bin of its heap.
TALUS_USUAL bool may_stay_empty(Heap& heap, const Slab& slab) noexcept {
  if (heap.is_abandoned()) return false;  // a stale answer keeps a slab, no more
  // Where an ended slab loses its pages at once (option keep_classes), empty slabs are this heap's
  // share of free memory, as free ranges are elsewhere: reclaim ends them. Instances have limits.
  if (TALUS_UNLIKELY(options.keep_classes) && !is_instance(heap.id)) return true;
  if (may_one_stay(heap, slab)) return true;
  if (is_instance(heap.id)) return false;
  if (may_more_stay(heap, slab.class_id)) return true;
  heap.empty_slabs.note_ended(slab.class_id);
  return false;
}

// An empty slab of this class; null: none among the newest of those that are nearly empty.
inline Slab* find_empty(Heap& heap, ClassId id) noexcept {
  Slab* slab = heap.available[index_of(id)].bins[SlabBins::count - 1].first;
  for (size_t looks = 0; slab != nullptr && looks < empty_slab_looks; looks++) {
    if (slab->is_empty()) return slab;
    slab = slab->next;
  }
  return nullptr;
}

}  // namespace talus::core

#endif  // TALUS_STORE_KEEP_EMPTY_HPP
