// SPDX-License-Identifier: MIT
// heap/release: memory goes back now, because somebody asked for it: malloc_trim, talus_release.
//
// Owns: the order in which free memory is given up: first what costs nobody anything, then what
// threads hold. Invariant: acts on the memory of all threads, also of those that sleep; a thread
// that is at work keeps its lists. Called on: any thread, without locks.
#ifndef TALUS_HEAP_RELEASE_HPP
#define TALUS_HEAP_RELEASE_HPP

#include "heap/free.hpp"
#include "heap/purge_holes.hpp"
#include "heap/take_back.hpp"

namespace talus {

// Bytes that a thread holds free.
inline size_t held_bytes(ThreadCache& cache) noexcept {
  size_t bytes = cache.kept.bytes.load_relaxed();  // [stat]
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    bytes += list_length(cache, id) * size_class_row(id).block_bytes;
  }
  return bytes;
}

// Sleeps at least so long, whatever wakes it.
inline void wait_us(uint64_t microseconds) noexcept {
  const uint64_t end_ns = os::System::now_ns() + microseconds * 1000;
  for (uint64_t now = os::System::now_ns(); now < end_ns; now = os::System::now_ns()) {
    os::System::sleep_us(static_cast<long>((end_ns - now) / 1000 + 1));
  }
}

// What the calling thread and all others hold goes to its slabs.
inline void release_caches() noexcept {
  HeapFace& face = current_face();
  ThreadCache* own = face.operations == &birth_operations ? nullptr : cache_behind(face);
  if (own != nullptr) {
    const Working working{*own};
    flush_all(*own);
  }
  while (salvage_cache()) {
  }
  bool has_asked = false;
  visit_caches([&](Locked& held, ThreadCache& cache) noexcept {
    if (&cache == own) return;
    ask(held, cache);
    has_asked = true;
  });
  if (!has_asked) return;
  wait_us(presence_wait_us);
  visit_caches([&](Locked& held, ThreadCache& cache) noexcept { take_back(held, cache); });
}

// Gives back what is free: blocks that threads hold, delivered blocks, empty slabs and pages
// without blocks of all heaps, and all but `keep_bytes` of the touched free ranges. Returns the
// bytes given to the kernel meanwhile.
inline size_t trim_heaps(size_t keep_bytes) noexcept {
  size_t before = 0;
  {
    Locked held{space.lock()};
    before = space.counters().purged_bytes;
    space.give_up_huge(held);
  }
  release_caches();
  for_each_heap_and_instance([](Heap& heap) noexcept {
    release_unused(heap);
    purge_holes(heap, SIZE_MAX, SlabAge::any);
  });
  Locked held{space.lock()};
  space.trim(held, keep_bytes);
  return space.counters().purged_bytes - before;
}

// Gives at least `bytes` back if so much is free. Returns the bytes given to the kernel meanwhile.
inline size_t release_bytes(size_t bytes) noexcept {
  if (bytes == 0) return 0;
  size_t before = 0;
  {
    Locked held{space.lock()};
    before = space.counters().purged_bytes;
    const size_t dirty = space.dirty_bytes();
    space.trim(held, dirty > bytes ? dirty - bytes : 0);
    if (space.counters().purged_bytes - before >= bytes) {
      return space.counters().purged_bytes - before;
    }
  }
  trim_heaps(0);
  Locked held{space.lock()};
  return space.counters().purged_bytes - before;
}

// Not more often than every few milliseconds: what is purged is soon touched again.
TALUS_HOOK void relieve() noexcept {
  static Atomic<uint64_t> relieved_ms;
  const uint64_t now = os::System::now_ms();
  const uint64_t last = relieved_ms.load_relaxed();  // [hint]
  if (now < last + relieve_pause_ms) return;
  relieved_ms.store_relaxed(now);  // [hint]
  space.relax();
  size_t excess = 0;
  {
    Locked held{space.lock()};
    excess = space.is_above_soft_limit(held) ? SIZE_MAX : space.excess_bytes(held);
  }
  for_each_heap_and_instance([&](Heap& heap) noexcept {
    if (excess < surplus_bytes_min) return;
    const size_t purged = purge_holes(heap, excess, SlabAge::any);
    excess -= purged < excess ? purged : excess;
  });
}

// Called when an allocation failed. First all that is free is released, if that was not tried a
// moment ago; then the program's handler is asked, if it has set one.
TALUS_HOOK bool find_memory(size_t bytes, unsigned attempt) noexcept {
  if (bytes > PTRDIFF_MAX - granule_bytes) return false;
  if (attempt == 0) {
    static Atomic<uint64_t> tried_ms;
    const uint64_t now = os::System::now_ms();
    const uint64_t last = tried_ms.load_relaxed();  // [hint]
    tried_ms.store_relaxed(now);                    // [hint]
    if (last + find_memory_pause_ms <= now) {
      trim_heaps(0);
      return true;
    }
  }
  const LimitHandler handler = limit_handler.load_acquire();
  return handler != nullptr && attempt < find_memory_attempts && handler(bytes) != 0;
}

}  // namespace talus

#endif  // TALUS_HEAP_RELEASE_HPP
