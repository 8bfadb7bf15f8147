// SPDX-License-Identifier: MIT
// heap/purge_holes: pages of partly used slabs whose blocks are all free go back to the kernel.
//
// Owns: the way of a slab from available to lean. Invariants: a slab whose pages are being given
// back is in no list, so none of its blocks is handed out meanwhile, though blocks come home to it;
// the kernel is entered without the heap's lock; a lean slab has not changed since. Slabs that
// changed lately are left alone, and so are those in arenas of huge pages, which would be torn.
// Called on: the helper, or a thread that asked for a release, under registry.sweeping.
#ifndef TALUS_HEAP_PURGE_HOLES_HPP
#define TALUS_HEAP_PURGE_HOLES_HPP

#include "heap/slabs.hpp"
#include "slab/holes.hpp"

namespace talus {

// Slabs whose pages are given back between two holds of the heap's lock.
struct HoleBatch {
  static constexpr size_t slabs_max = 16;
  Slab* slabs[slabs_max];
  size_t count = 0;
  size_t bytes = 0;  // given back so far, or freed as whole slabs
  size_t steps = 0;
};

enum class SlabAge : uint8_t { rested, any };

inline bool has_rested(const Slab& slab) noexcept {
  const uint16_t now = sweep_clock.load_relaxed();  // [hint]
  return static_cast<uint16_t>(now - slab.changed_at) >= rested_passes;
}

// Takes slabs from the old end of a list until the batch is full. The heap's lock is held.
inline void collect_slabs(Heap& heap, SlabList& list, SlabAge age, HoleBatch& batch) noexcept {
  size_t looks = 0;
  for (Slab* slab = list.last; slab != nullptr && batch.count < HoleBatch::slabs_max;) {
    if (++looks > slab_sweep_looks) return;
    Slab* previous = slab->previous;
    if (age == SlabAge::any || has_rested(*slab)) {
      if (slab->is_empty()) {
        batch.bytes += size_class_row(slab->class_id).slab_granules * granule_bytes;
        slab_available_to_unused(heap, *slab);
      } else if (!is_in_huge_pages(*slab)) {
        list.remove(*slab);
        slab->enter(SlabState::purging);
        heap.purging_count++;
        batch.slabs[batch.count++] = slab;
      }
    }
    slab = previous;
  }
}

// Gives the pages back. No lock but registry.sweeping is held.
inline void purge_batch(HoleBatch& batch) noexcept {
  for (size_t i = 0; i < batch.count; i++) {
    visit_holes(*batch.slabs[i], os::page_bytes(), [&](uintptr_t at, size_t bytes) noexcept {
      if (!os::System::purge(reinterpret_cast<void*>(at), bytes)) return;
      batch.slabs[i]->note_clean(at, bytes);
      batch.bytes += bytes;
      batch.steps++;
    });
  }
}

inline void slabs_purging_to_lean(Heap& heap, HoleBatch& batch) noexcept {
  heap.purging_count -= batch.count;
  for (size_t i = 0; i < batch.count; i++) {
    Slab& slab = *batch.slabs[i];
    if (slab.is_empty()) {
      slab_to_unused(heap, slab);
    } else {
      slab_purging_to_lean(heap, slab);
    }
  }
  batch.count = 0;
}

// Gives back pages of a heap's slabs until that was `bytes_wanted`. Returns how much it was.
inline size_t purge_holes(Heap& heap, size_t bytes_wanted, SlabAge age) noexcept {
  HoleBatch batch;
  size_t steps_counted = 0;
  // Other threads may bring blocks to lean slabs as fast as these are made.
  size_t rounds = class_count;
  {
    Locked held{lock_of(heap)};
    rounds += 2 * heap.slab_count / HoleBatch::slabs_max;
  }
  size_t index = 0;
  for (; index < class_count && batch.bytes < bytes_wanted && rounds > 0; rounds--) {
    Locked sweeping{registry.sweeping};
    {
      Locked held{lock_of(heap)};
      SlabShelves& available = heap.available[index];
      for (size_t shelf = SlabShelves::count; shelf-- > 0;) {
        collect_slabs(heap, available.shelves[shelf], age, batch);
      }
    }
    if (batch.count < HoleBatch::slabs_max) index++;  // no more in this list
    if (batch.count == 0) continue;
    const size_t bytes_before = batch.bytes;
    purge_batch(batch);
    {
      Locked held{lock_of(heap)};
      slabs_purging_to_lean(heap, batch);
    }
    Locked held{space.lock()};
    space.count_purged(held, batch.bytes - bytes_before, batch.steps - steps_counted);
    steps_counted = batch.steps;
  }
  return batch.bytes;
}

}  // namespace talus

#endif  // TALUS_HEAP_PURGE_HOLES_HPP
