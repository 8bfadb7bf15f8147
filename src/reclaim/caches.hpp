// SPDX-License-Identifier: MIT
// reclaim/caches: what threads hold as a source of memory: their lists, their large blocks and
// their batches. Of idle threads, of threads that a fork did not copy, and of the caller.
//
// Owns: nothing. Idle threads: the protocol of cache/idle_caches.hpp.
// Called on: the background thread, or a thread that purges at once; without locks.
#ifndef TALUS_RECLAIM_CACHES_HPP
#define TALUS_RECLAIM_CACHES_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "heap/thread_order.hpp"
#include "cache/idle_caches.hpp"
#include "cache/large_cache.hpp"
#include "paths/free_slow.hpp"
#include "reclaim/pass.hpp"
#include "reclaim/take_back.hpp"

namespace talus::core {

// Free bytes that a thread holds. Its heap's lock keeps the lists where they are.
inline size_t held_bytes(ThreadCache& cache) noexcept {
  Held held{lock_of(cache)};
  size_t bytes = cache.kept.bytes.load_stat();
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t length = list_length(cache, id);
    if (length != 0) bytes += length * size_class_row(id).block_bytes;
  }
  for_each_side(cache, [&](const auto& side, ClassId id) noexcept {
    bytes += side.length() * size_class_row(id).block_bytes;
  });
  return bytes;
}

// Sleeps at least this long, even if it is woken.
inline void wait_us(uint64_t microseconds) noexcept {
  const uint64_t end_ns = os::System::now_ns() + microseconds * 1000;
  for (uint64_t now = os::System::now_ns(); now < end_ns; now = os::System::now_ns()) {
    os::System::sleep_us(static_cast<long>((end_ns - now) / 1000 + 1));
  }
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
                       tally.purged += take_back(held, cache, barrier);
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

// Flushes to slabs what the calling thread holds.
inline void flush_own_cache() noexcept {
  ThreadCache* own = existing_cache();
  if (own == nullptr) return;
  const Working working{*own};
  flush_modes(*own);
  flush_all(*own);
}

// Flushes to slabs what threads hold that make no call within a moment, but for one cache.
inline void flush_idle_caches(const ThreadCache* own) noexcept {
  bool has_asked = false;
  visit_caches([&](Held<RegistryLock>& held, ThreadCache& cache)
                   TALUS_REQUIRES(registry.lock) noexcept {
                     if (&cache == own) return;
                     ask(held, cache);
                     has_asked = true;
                   });
  if (!has_asked) return;
  wait_us(idle_probe_wait_us);
  visit_caches([&](Held<RegistryLock>& held, ThreadCache& cache)
                   TALUS_REQUIRES(registry.lock) noexcept { take_back(held, cache); });
}

// Flushes the caller's lists, but not again and again. Blocks that a program frees and allocates in
// turn stay in its lists. They would stay spread, a few to a page, while other slabs have room.
// After the flush, the next blocks come from the fullest slabs, and the emptiest become empty.
TALUS_USUAL void gather_blocks() noexcept {
  static Atomic<uint64_t> gathered_ms;
  const uint64_t now_ms = os::System::now_ms();
  if (now_ms < gathered_ms.load_hint() + reclaim_pause_ms) return;
  gathered_ms.store_hint(now_ms);
  if (ThreadCache* cache = existing_cache()) {
    const Working working{*cache};
    flush_lists(*cache);
  }
}

// The steps of the sources (reclaim/sources.hpp).

TALUS_USUAL void idle_caches_in_background(uint64_t, DecayTally& tally) noexcept {
  decay_caches(tally);
}
inline void idle_caches_on_request(size_t) noexcept { flush_idle_caches(existing_cache()); }
// The background thread has no cache.
TALUS_APART void idle_caches_on_command(size_t) noexcept { flush_idle_caches(nullptr); }
inline void orphaned_caches_on_request(size_t) noexcept {
  while (salvage_cache()) {}
}
inline void own_cache_on_request(size_t) noexcept { flush_own_cache(); }
inline void own_cache_early() noexcept {
  if (ThreadCache* own = existing_cache()) {
    const Working working{*own};
    flush_modes(*own);
    flush_kept(*own);
    flush_lists(*own);
  }
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_CACHES_HPP
