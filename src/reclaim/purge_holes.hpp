// SPDX-License-Identifier: MIT
// reclaim/purge_holes: purges pages of partly used slabs whose blocks are all free.
//
// Owns: the way of a slab from available to partly_purged. Invariants: a slab that is being purged
// is in no list, so none of its blocks is handed out meanwhile, though blocks come home to it. The
// kernel is entered without the heap's lock. A partly_purged slab has not changed since. Slabs that
// served lately may be left alone. Slabs in arenas of huge pages are left alone, because a purge
// would split these pages.
// Called on: the background thread, or a thread that asked for a release, under registry.decaying.
#ifndef TALUS_RECLAIM_PURGE_HOLES_HPP
#define TALUS_RECLAIM_PURGE_HOLES_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "retention/decay_clock.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/holes.hpp"
#include "slab/purged.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/slabs.hpp"
#include "reclaim/page_runs.hpp"

namespace talus::core {

// Slabs that are purged between two holds of the heap's lock.
struct HoleBatch {
  static constexpr size_t slabs_max = 16;
  Slab* slabs[slabs_max];
  bool has_more[slabs_max];             // of each: more than was purged before
  size_t purged_page_bytes[slabs_max];  // of each: purged before and now
  size_t count = 0;
  size_t bytes = 0;  // purged so far, or freed as whole slabs
  size_t steps = 0;
};

enum class SlabAge : uint8_t { rested, any };

inline bool has_rested(const Slab& slab) noexcept {
  const uint16_t now = decay_clock.load_hint();
  return static_cast<uint16_t>(now - slab.served_at) >= rested_passes;
}

// Is there a page or more of free blocks that was not purged yet?
inline bool has_more_to_give(const Slab& slab) noexcept {
  return slab.free_count * size_t{slab.block_bytes} >= slab.purged_page_bytes + os::page_bytes();
}

// Does the slab lie in an arena that asked for huge pages, or whose pages cannot be purged?
inline bool is_in_huge_pages(const Slab& slab) noexcept {
  Held held{space.lock()};
  return space.is_huge(held, slab.base) || !space.may_purge_pages(slab.base);
}

// Takes slabs from the old end of a list until the batch is full. The caller holds the heap's lock.
inline void collect_slabs(Heap& heap, SlabList& list, SlabAge age, HoleBatch& batch,
                          size_t& looks) noexcept {
  for (Slab* slab = list.last; slab != nullptr && batch.count < HoleBatch::slabs_max;) {
    if (++looks > slab_decay_looks) return;
    Slab* previous = slab->previous;
    if (age == SlabAge::any || has_rested(*slab)) {
      TALUS_ASSERT(registry.decaying.is_own() && lock_of(heap).is_own());
      if (slab->is_empty()) {
        batch.bytes += slab->bytes();
        slab_available_to_unused(heap, *slab);
      } else if (!is_in_huge_pages(*slab)) {
        TALUS_ASSERT(slab->state == SlabState::available && slab->free_count != 0);
        list.remove(*slab);
        slab->enter(SlabState::purging);
        heap.purging_count++;
        batch.has_more[batch.count] = has_more_to_give(*slab);
        batch.purged_page_bytes[batch.count] = slab->purged_page_bytes;
        batch.slabs[batch.count++] = slab;
      }
    }
    slab = previous;
  }
}

// Holes of a batch's slabs, purged many at a time.
class HoleRuns {
 public:
  explicit HoleRuns(HoleBatch& batch) noexcept : batch_{batch} {}

  void add(size_t slab, uintptr_t at, size_t bytes) noexcept {
    if (count_ == runs_max) purge();
    TALUS_ASSERT(at % os::page_bytes() == 0 && bytes % os::page_bytes() == 0 && bytes != 0);
    runs_[count_] = os::PageRun{reinterpret_cast<void*>(at), bytes};
    slabs_[count_++] = static_cast<uint8_t>(slab);
  }
  TALUS_USUAL void purge() noexcept {
    batch_.steps += purge_page_runs(runs_, count_, [this](size_t i) noexcept { note_purged(i); });
    count_ = 0;
  }

 private:
  static constexpr size_t runs_max = 64;

  void note_purged(size_t i) noexcept {
    Slab& slab = *batch_.slabs[slabs_[i]];
    TALUS_ASSERT(slab.state == SlabState::purging);
    const uintptr_t at = reinterpret_cast<uintptr_t>(runs_[i].at);
    const size_t bytes = runs_[i].bytes;
    slab.note_clean(at, bytes);
    slab.was_purged = true;
    slab.purged_units |= PurgedUnits{slab, os::page_bytes()}.within(at, bytes);
    batch_.purged_page_bytes[slabs_[i]] += bytes;
  }

  HoleBatch& batch_;
  os::PageRun runs_[runs_max];
  uint8_t slabs_[runs_max];  // of each run: the slab's place in the batch
  size_t count_ = 0;
};

// Purges the pages. The caller holds no lock but registry.decaying.
inline void purge_batch(HoleBatch& batch) noexcept {
  HoleRuns runs{batch};
  for (size_t i = 0; i < batch.count; i++) {
    if (!batch.has_more[i]) continue;
    Slab& slab = *batch.slabs[i];
    batch.purged_page_bytes[i] = 0;
    const PurgedUnits units{slab, os::page_bytes()};
    visit_holes(slab, os::page_bytes(), [&](uintptr_t at, size_t bytes) noexcept {
      if (units.are_purged(at, bytes)) {
        batch.purged_page_bytes[i] += bytes;
      } else {
        runs.add(i, at, bytes);
      }
    });
  }
  runs.purge();
}

inline void slabs_purging_to_partly_purged(Heap& heap, HoleBatch& batch) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own() && heap.purging_count >= batch.count);
  heap.purging_count -= batch.count;
  for (size_t i = 0; i < batch.count; i++) {
    Slab& slab = *batch.slabs[i];
    // Pages purged before are no gain; blocks that came home meanwhile count as they did.
    const size_t before = slab.purged_page_bytes;
    note_purged_units(heap, slab, batch.purged_page_bytes[i]);
    if (slab.purged_page_bytes > before) batch.bytes += slab.purged_page_bytes - before;
    if (slab.is_empty()) {
      slab_to_unused(heap, slab);
    } else {
      slab_purging_to_partly_purged(heap, slab);
    }
  }
  batch.count = 0;
  tell_free_bytes(heap);
  audit(heap);
}

// A bin of a class, the emptiest bins of all classes first: few calls purge much there.
inline SlabList& nth_bin(Heap& heap, size_t number) noexcept {
  TALUS_ASSERT(number < SlabBins::count * class_count);
  const size_t bin = SlabBins::count - 1 - number / class_count;
  return heap.available[number % class_count].bins[bin];
}

// Purges pages of a heap's slabs until this was `bytes_wanted`. Returns how much it was.
TALUS_USUAL size_t purge_holes(Heap& heap, size_t bytes_wanted, SlabAge age) noexcept {
  constexpr size_t bins = class_count * SlabBins::count;
  HoleBatch batch;
  size_t steps_counted = 0;
  // Other threads may free blocks into partly_purged slabs as fast as this makes them.
  size_t rounds = bins;
  {
    Held held{lock_of(heap)};
    rounds += 2 * heap.slab_count / HoleBatch::slabs_max;
  }
  size_t number = 0;
  for (; number < bins && batch.bytes < bytes_wanted && rounds > 0; rounds--) {
    Held decaying{registry.decaying};
    {
      Held held{lock_of(heap)};
      size_t looks = 0;
      while (number < bins && batch.bytes < bytes_wanted && looks < slab_decay_looks) {
        collect_slabs(heap, nth_bin(heap, number), age, batch, looks);
        if (batch.count == HoleBatch::slabs_max) break;
        number++;  // no more in this list
      }
    }
    if (batch.count == 0) continue;
    const size_t bytes_before = batch.bytes;
    purge_batch(batch);
    {
      Held held{lock_of(heap)};
      slabs_purging_to_partly_purged(heap, batch);
    }
    Held held{space.lock()};
    space.count_purged(held, batch.bytes - bytes_before, batch.steps - steps_counted);
    steps_counted = batch.steps;
  }
  return batch.bytes;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_PURGE_HOLES_HPP
