// SPDX-License-Identifier: MIT
// reclaim/release: purges memory now, on request: malloc_trim, talus_release.
//
// Owns: the order in which free memory is purged: first what costs no thread anything, then what
// threads hold. Invariant: acts on the memory of all threads, sleeping ones included; a thread in a
// slow path keeps its lists.
// Called on: any thread, without locks.
#ifndef TALUS_RECLAIM_RELEASE_HPP
#define TALUS_RECLAIM_RELEASE_HPP

#include "paths/free.hpp"  // IWYU pragma: keep (order of code)
#include "reclaim/purge_holes.hpp"
#include "reclaim/take_back.hpp"
#include "retention/futile.hpp"

namespace talus::core {

// Free bytes that a thread holds. Its heap's lock keeps the lists where they are.
inline size_t held_bytes(ThreadCache& cache) noexcept {
  Held held{lock_of(cache)};
  size_t bytes = cache.kept.bytes.load_stat();
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    bytes += list_length(cache, id) * size_class_row(id).block_bytes;
  }
  return bytes;
}

// Sleeps at least this long, even if it is woken.
inline void wait_us(uint64_t microseconds) noexcept {
  const uint64_t end_ns = os::System::now_ns() + microseconds * 1000;
  for (uint64_t now = os::System::now_ns(); now < end_ns; now = os::System::now_ns()) {
    os::System::sleep_us(static_cast<long>((end_ns - now) / 1000 + 1));
  }
}

// Flushes to slabs what the calling thread and all others hold.
inline void release_caches() noexcept {
  ThreadCache* own = existing_cache();
  if (own != nullptr) {
    const Working working{*own};
    flush_all(*own);
  }
  while (salvage_cache()) {}
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

// Purges free memory of all heaps: blocks that threads hold, delivered blocks, empty slabs and
// pages without blocks. Also purges the touched free ranges, all but `keep_bytes`. Returns the
// bytes purged meanwhile.
inline size_t trim_heaps(size_t keep_bytes) noexcept {
  size_t before = 0;
  {
    Held held{space.lock()};
    before = space.counters().purged_bytes;
    space.give_up_huge(held);
  }
  release_caches();
  for_each_heap_and_instance([](Heap& heap) noexcept {
    release_unused(heap);
    purge_holes(heap, SIZE_MAX, SlabAge::any);
  });
  Held held{space.lock()};
  space.trim(held, keep_bytes);
  return space.counters().purged_bytes - before;
}

// Purges at least `bytes` if that much is free. Returns the bytes purged meanwhile.
inline size_t release_bytes(size_t bytes) noexcept {
  if (bytes == 0) return 0;
  size_t before = 0;
  {
    Held held{space.lock()};
    before = space.counters().purged_bytes;
    const size_t dirty = space.dirty_bytes();
    space.trim(held, dirty > bytes ? dirty - bytes : 0);
    if (space.counters().purged_bytes - before >= bytes) {
      return space.counters().purged_bytes - before;
    }
  }
  trim_heaps(0);
  Held held{space.lock()};
  return space.counters().purged_bytes - before;
}

// Free touched bytes beyond the bound, after ranges went as far as they may not stay. Above the
// soft limit: all of them.
inline size_t excess_in_slabs(Reclaimer reclaimer, size_t bytes_most) noexcept {
  Held held{space.lock()};
  if (space.excess_bytes(held, reclaimer) >= surplus_bytes_min) {
    space.reclaim_ranges(held, reclaimer, bytes_most);
  }
  return space.is_above_soft_limit(held) ? SIZE_MAX : space.excess_bytes(held, reclaimer);
}

inline FutileReclaim futile_reclaim;

// Purges what slabs keep beyond the bound, at most about `bytes_most`. Returns whether slabs kept
// too much.
inline bool reclaim_slabs(Reclaimer reclaimer, size_t bytes_most) noexcept {
  space.relax();
  const size_t excess = excess_in_slabs(reclaimer, bytes_most);
  if (excess < surplus_bytes_min) return false;
  const uint64_t now = os::System::now_ms();
  if (futile_reclaim.is_in_vain(excess, now)) return true;
  const size_t wanted = excess < bytes_most ? excess : bytes_most;
  size_t purged = 0;
  for_each_heap_and_instance([&](Heap& heap) noexcept {
    if (purged < wanted) purged += purge_holes(heap, wanted - purged, SlabAge::any);
  });
  Held held{space.lock()};
  space.note_reclaim(held, purged);
  if (purged < wanted / 2) {
    if (space.may_give_up_huge(held)) {
      // Much of it lies in huge pages. A program that keeps unused memory beyond the bound does not
      // fill them. The next reclaim finds their holes.
      space.give_up_huge(held);
      space.ask_to_reclaim();
      return true;
    }
    futile_reclaim.note(excess, now);
    space.trim(held, SIZE_MAX);  // where huge pages stay: their parts that were never handed out
  } else if (reclaimer == Reclaimer::caller && excess > purged) {
    space.ask_to_reclaim();
  }
  return true;
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

TALUS_HOOK void reclaim() noexcept {
  if (reclaim_slabs(Reclaimer::caller, reclaim_bytes_max)) gather_blocks();
}

// Called when an allocation failed. First purges all free memory, unless that was tried a moment
// ago; then calls the program's handler, if it has set one.
TALUS_HOOK bool find_memory(size_t bytes, unsigned attempt) noexcept {
  if (bytes > PTRDIFF_MAX - slice_bytes) return false;
  if (attempt == 0) {
    static Atomic<uint64_t> tried_ms;
    const uint64_t now = os::System::now_ms();
    const uint64_t last = tried_ms.load_hint();
    tried_ms.store_hint(now);
    if (last + find_memory_pause_ms <= now) {
      trim_heaps(0);
      return true;
    }
  }
  const LimitHandler handler = limits.handler.load_acquire();
  return handler != nullptr && attempt < find_memory_attempts && handler(bytes) != 0;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_RELEASE_HPP
