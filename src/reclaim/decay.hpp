// SPDX-License-Identifier: MIT
// reclaim/decay: the decay pass, in which the background thread purges what was not needed lately.
//
//   decay_pass()
//     -> space.give_back_surplus   space               touched ranges that stayed free
//     -> decay_heap(heap)          here                delivered blocks left in queues, empty slabs
//          -> purge_holes          purge_holes         pages without blocks in partly used slabs
//     -> ask, take_back            idle-cache reclaim  what idle threads hold
//
// Owns: when a pass is due, what is surplus, and when nothing is left to do. Invariant: no lock is
// held while the kernel works, except registry.decaying, for which only forks and other releases
// wait.
// Called on: the background thread, one pass at a time.
#ifndef TALUS_RECLAIM_DECAY_HPP
#define TALUS_RECLAIM_DECAY_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "retention/decay_clock.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/thread_order.hpp"
#include "store/drain.hpp"
#include "store/instance_room.hpp"
#include "cache/idle_caches.hpp"
#include "reclaim/purge_holes.hpp"
#include "reclaim/release.hpp"
#include "reclaim/take_back.hpp"

namespace talus::core {

// What the background thread remembers of its last pass. Only this thread uses it.
struct Decay {
  uint64_t reversed_ms = 0;  // when the last turn of the low marks ended
  size_t quiet_passes = 0;   // in a row in which nothing was purged
  size_t left = 0;           // bytes that might have been, then
};
inline Decay decay_state;

// The program may change it.
inline uint64_t decay_ms() noexcept {
  Held held{space.lock()};
  return options.decay_ms;
}

// The length of a turn of the low marks.
inline uint64_t turn_ms() noexcept {
  const uint64_t requested = decay_ms() / LowMark::turns_kept;
  return requested < decay_ms_min ? decay_ms_min : requested;
}

// Turns that ended since the last pass.
inline uint64_t turns_due(uint64_t now_ms) noexcept {
  const uint64_t length_ms = turn_ms();
  const uint64_t turns = (now_ms - decay_state.reversed_ms) / length_ms;
  decay_state.reversed_ms += turns * length_ms;
  return turns <= LowMark::turns_kept ? turns : LowMark::turns_kept + 1;
}

struct DecayTally {
  size_t released = 0;       // bytes that left, or came nearer to leaving
  size_t left = 0;           // bytes that may leave later
  size_t slabs = 0;          // bytes of slabs, less the free bytes of partly_purged ones
  size_t free_in_slabs = 0;  // of these, free and touched
  size_t surplus = 0;
};

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
  for (; turns > 0; turns--) heap.free_mark.turn(free_touched_bytes(heap));
  surplus = heap.free_mark.surplus();
  const size_t slab_bytes = heap.slab_bytes - heap.partly_purged_free_bytes;
  lock_of(heap).unlock();
  size_t released = 0;
  if (surplus >= surplus_bytes_min) {
    released = purge_holes(heap, surplus, SlabAge::rested);
    Held held{lock_of(heap)};
    heap.free_mark.subtract_purged(released);
  }
  Held held{lock_of(heap)};
  tally.slabs += slab_bytes;
  tally.surplus += surplus;
  tally.released += released;
  tally.free_in_slabs += free_touched_bytes(heap);
  tell_free_bytes(heap);
}

// Asks threads that did nothing since the last pass. Takes back everything from threads that were
// asked before and did not come. The barrier comes between the two, and no lock is held meanwhile.
inline void decay_caches(DecayTally& tally) noexcept {
  const uint64_t barrier = thread_order.order();
  visit_caches([&](Held<RegistryLock>& held, ThreadCache& cache)
                   TALUS_REQUIRES(registry.lock) noexcept {
                     IdleProbe& idle_probe = cache.idle_probe;
                     const uint32_t state = cache.shared_state.load_hint();  // decided under a lock
                     if (state == OwnerState::idle) return;
                     if (state == OwnerState::asked) {
                       tally.left += held_bytes(cache);
                       tally.released += take_back(held, cache, barrier);
                       return;
                     }
                     const uint64_t activity = activity_of(cache);
                     if (activity == idle_probe.seen_activity) {
                       ask(held, cache, thread_order.next());
                       thread_order.note_asked();
                     }
                     idle_probe.seen_activity = activity;
                     tally.left += held_bytes(cache);
                   });
}

// Surplus of heaps and ranges in huge pages cannot leave piece by piece. If it is large, or the
// process became small, the huge pages are given up.
inline void judge_huge_pages(const DecayTally& tally) noexcept {
  Held held{space.lock()};
  if (!space.may_give_up_huge(held)) return;
  const auto is_much = [](size_t surplus, size_t used) noexcept {
    return surplus > used / sparse_free_part && surplus >= huge_dense_bytes_min / 2;
  };
  const size_t given = space.counters().given_bytes;
  const bool is_sparse =
      is_much(tally.surplus, tally.slabs) || is_much(space.surplus_bytes(held), given);
  if (is_sparse || given < huge_fast_bytes_min) space.give_up_huge(held);
}

// Purges free touched memory beyond the bound at once, from slabs still in change, too.
inline void reclaim_if_much() noexcept {
  {
    Held held{space.lock()};
    const size_t excess = space.excess_bytes(held, Reclaimer::background);
    if (excess < surplus_bytes_min && !space.is_asked_to_reclaim()) return;
  }
  reclaim_slabs(Reclaimer::background, SIZE_MAX);
}

// Other processes need the memory more: purges all free memory but what threads hold.
inline void decay_all() noexcept {
  for_each_heap_and_instance(
      [](Heap& heap) noexcept { purge_holes(heap, SIZE_MAX, SlabAge::any); });
  Held held{space.lock()};
  space.trim(held, 0);
}

inline size_t decay_space(uint64_t turns) noexcept {
  Held held{space.lock()};
  return space.give_back_surplus(held, turns);
}

TALUS_USUAL void decay_once(uint64_t turns, DecayTally& tally) noexcept {
  tally.released += decay_space(turns);
  for_each_heap_and_instance([&](Heap& heap) noexcept { decay_heap(heap, turns, tally); });
  decay_caches(tally);
  judge_huge_pages(tally);
  reclaim_if_much();
  tally.left += tally.free_in_slabs;
  Held held{space.lock()};
  tally.left += space.dirty_bytes();
}

// How much other processes need the memory.
enum class Pressure : uint8_t { none, high };

// One pass. Returns the milliseconds until the next is due; 0: there is nothing left to do.
TALUS_USUAL uint32_t decay_pass(Pressure pressure = Pressure::none) noexcept {
  const uint64_t now = os::System::now_ms();
  if (!purge_request.is_served.load_own()) {  // first pass; only this thread writes it
    purge_request.is_served.store_own(true);
    purge_request.is_much.store_hint(false);
    decay_state = Decay{now, 0, 0};
    return static_cast<uint32_t>(turn_ms());
  }
  decay_clock.store_own(static_cast<uint16_t>(decay_clock.load_own() + 1));
  DecayTally tally;
  decay_once(turns_due(now), tally);
  if (pressure == Pressure::high) decay_all();
  const bool has_grown = tally.left > decay_state.left + purge_request_bytes_min / 4;
  decay_state.left = tally.left;
  const bool is_quiet = tally.released == 0 && !has_grown;
  decay_state.quiet_passes = is_quiet ? decay_state.quiet_passes + 1 : 0;
  if (tally.left < purge_request_bytes_min / 4 && decay_state.quiet_passes >= passes_before_end) {
    // From here on other threads start a background thread; one last look finds what they freed
    // before.
    purge_request.is_served.store_release(false);
    DecayTally last;
    decay_once(0, last);
    if (last.left < purge_request_bytes_min) return 0;
    purge_request.is_served.store_own(true);
  }
  // Memory in steady use is looked at less often.
  const bool is_calm = decay_state.quiet_passes > passes_before_calm;
  return static_cast<uint32_t>(is_calm ? 2 * turn_ms() : turn_ms());
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_DECAY_HPP
