// SPDX-License-Identifier: MIT
// reclaim/slabs: the slabs of all heaps as a source of memory: delivered blocks that their heap did
// not drain, empty slabs, and pages without blocks in the others (reclaim/purge_holes.hpp).
//
// Owns: nothing. Invariant: the heap's lock is not held while the kernel works.
// Called on: the background thread, or a thread that purges at once; without locks.
#ifndef TALUS_RECLAIM_SLABS_HPP
#define TALUS_RECLAIM_SLABS_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "retention/futile.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "space/space.hpp"
#include "heap/empty_slabs.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "store/instance_room.hpp"
#include "store/drain.hpp"
#include "paths/free_slow.hpp"
#include "reclaim/pass.hpp"
#include "reclaim/purge_holes.hpp"
#include "reclaim/ranges.hpp"

namespace talus::core {

TALUS_USUAL void decay_heap(Heap& heap, uint64_t turns, DecayTally& tally) noexcept {
  size_t surplus = 0;
  if (!lock_of(heap).try_lock()) {
    tally.left += purge_request_bytes_min;
    return;
  }
  // No thread refilled since the last pass, so none will soon drain what waits.
  if (heap.swept_refills == heap.refills) {
    if (!heap.remote_queue.is_empty()) drain_remote_queue(heap);
    rest_heap(heap);
  }
  heap.swept_refills = heap.refills;
  heap.empty_slabs.begin_anew();
  for (; turns > 0; turns--) heap.free_mark.turn(free_touched_bytes(heap));
  surplus = heap.free_mark.surplus();
  TALUS_ASSERT(heap.slab_bytes >= heap.free_bytes);
  const size_t slab_bytes = heap.slab_bytes - heap.partly_purged_free_bytes;
  lock_of(heap).unlock();
  if (surplus >= surplus_bytes_min) {
    Held held{space.lock()};
    surplus = space.without_burst(held, surplus);
  }
  size_t purged = 0;
  if (surplus >= surplus_bytes_min) {
    purged = purge_holes(heap, surplus, SlabAge::rested);
    Held held{lock_of(heap)};
    heap.free_mark.subtract_purged(purged);
  }
  Held held{lock_of(heap)};
  tally.slabs += slab_bytes;
  tally.surplus += surplus;
  tally.purged += purged;
  tally.free_in_slabs += free_touched_bytes(heap);
  tell_free_bytes(heap);
}

TALUS_USUAL void slabs_in_background(uint64_t turns, DecayTally& tally) noexcept {
  for_each_heap_and_instance([&](Heap& heap) noexcept { decay_heap(heap, turns, tally); });
}

// Purges as much of the excess as is wanted, unless that was futile a moment ago.
inline void slabs_to_goal(GoalPass& pass) noexcept {
  if (pass.excess < surplus_bytes_min) return;
  pass.begun_ms = os::System::now_ms();
  if (futile_reclaim.is_in_vain(pass.excess, pass.begun_ms)) return;
  TALUS_ASSERT(pass.bytes_most != 0);
  pass.wanted = pass.excess < pass.bytes_most ? pass.excess : pass.bytes_most;
  for_each_heap_and_instance([&](Heap& heap) noexcept {
    if (pass.purged < pass.wanted) {
      pass.purged += purge_holes(heap, pass.wanted - pass.purged, SlabAge::any);
    }
  });
  Held held{space.lock()};
  space.note_reclaim(held, pass.purged);
  const bool is_enough = pass.purged >= pass.wanted / 2;
  if (is_enough && pass.reclaimer == Reclaimer::caller && pass.excess > pass.purged) {
    space.ask_to_reclaim();
  }
}

// A heap of a young process: holes are worth a call only where there is much.
inline void heap_early(Heap& heap) noexcept {
  return_unused(heap);
  size_t in_slabs = 0;
  {
    Held held{lock_of(heap)};
    in_slabs = free_touched_bytes(heap);
  }
  if (in_slabs >= requested_heap_bytes_min()) purge_holes(heap, SIZE_MAX, SlabAge::any);
}

inline void slabs_early() noexcept { for_each_heap(heap_early); }

inline void purge_all_holes() noexcept {
  for_each_heap_and_instance(
      [](Heap& heap) noexcept { purge_holes(heap, SIZE_MAX, SlabAge::any); });
}
inline void slabs_on_request(size_t) noexcept {
  for_each_heap_and_instance([](Heap& heap) noexcept {
    return_unused(heap);
    purge_holes(heap, SIZE_MAX, SlabAge::any);
  });
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_SLABS_HPP
