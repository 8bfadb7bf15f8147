// SPDX-License-Identifier: MIT
// modes/counting: counts every call, for the statistics of TALUS_PRINT_STATS.
//
// Owns: a face for each thread cache whose lists stay empty and whose id matches nothing, so that
// every malloc and free takes the slow path, is counted, and goes on to the cache behind it. Who
// does not ask for them pays nothing. Invariants: a face's counters have one writer, its
// thread; they survive the thread, the next one that gets the cache goes on counting. Threads that
// have no cache any more, in late destructors, share one face.
// Live bytes are block sizes. They are gathered per thread and added up in steps, so the peak is
// right to within step_bytes for each thread. Bytes asked for are gathered in the same way; who
// wants to know when there were so many of them is told on the thread that reached the number,
// without locks of the heap. Called on: any thread, from slow paths.
#ifndef TALUS_MODES_COUNTING_HPP
#define TALUS_MODES_COUNTING_HPP

#include "heap/resize.hpp"
#include "modes/mode_face.hpp"

namespace talus::counting {

inline constexpr size_t range_limits[] = {16, 64, 256, 1024, 4096, 32 * kib, 256 * kib, mib};
inline constexpr size_t range_count = sizeof(range_limits) / sizeof(range_limits[0]) + 1;
inline constexpr int64_t step_bytes = 64 * 1024;

inline size_t range_of(size_t bytes) noexcept {
  size_t range = 0;
  while (range < range_count - 1 && bytes > range_limits[range]) range++;
  return range;
}

// Without a cache: any thread writes.
struct CountingFace : ModeFace {
  CountingFace* next = nullptr;               // constant; all faces there are
  Atomic<uint64_t> allocations[range_count];  // owner writes; statistics read
  Atomic<uint64_t> frees;                     // as above
  Atomic<uint64_t> requested_bytes;           // as above
  Atomic<uint64_t> provided_bytes;            // of the blocks that were given; as above
  uint64_t untold_bytes = 0;                  // requested, not yet in told_bytes; owner only
  Atomic<int64_t> live_bytes;                 // not yet in the shared ones; statistics read
};

struct Shared {
  Atomic<CountingFace*> faces;
  CountingFace* late_face = nullptr;  // of threads without a cache; under the space lock
  Atomic<int64_t> live_bytes;
  Atomic<int64_t> peak_bytes;
  // For who wants to know; constant once threads begin, but for the two counts.
  void (*on_bytes)() noexcept = nullptr;  // null: nobody does
  uint64_t on_bytes_each = 0;
  Atomic<uint64_t> told_bytes;       // requested, as far as threads have said so
  Atomic<uint64_t> next_told_bytes;  // when on_bytes is called next
};
TALUS_CONSTINIT inline Shared shared;

// Calls tell() each time `each` bytes more were asked for, to within a step for each thread.
inline void tell_each(uint64_t each, void (*tell)() noexcept) noexcept {
  shared.on_bytes_each = each;
  shared.next_told_bytes.store_relaxed(each);  // [init]
  shared.on_bytes = tell;
}

inline void tell_bytes(CountingFace& face, size_t bytes) noexcept {
  if (face.cache != nullptr) {
    const auto step = static_cast<uint64_t>(step_bytes);
    face.untold_bytes += bytes;
    if (face.untold_bytes < (shared.on_bytes_each < step ? shared.on_bytes_each : step)) return;
    bytes = face.untold_bytes;
    face.untold_bytes = 0;
  }
  const uint64_t told = shared.told_bytes.fetch_add_relaxed(bytes) + bytes;  // [stat]
  uint64_t next = shared.next_told_bytes.load_relaxed();  // [hint] the CAS rechecks
  if (told < next) return;
  const uint64_t after = told - told % shared.on_bytes_each + shared.on_bytes_each;
  if (shared.next_told_bytes.cas_acq_rel(next, after)) shared.on_bytes();
}

inline void raise_peak(int64_t live) noexcept {
  int64_t peak = shared.peak_bytes.load_relaxed();  // [hint] the CAS rechecks
  while (live > peak && !shared.peak_bytes.cas_acq_rel(peak, live)) {}
}

inline void add_live(CountingFace& face, int64_t bytes) noexcept {
  int64_t gathered = bytes;
  if (face.cache != nullptr) {
    gathered += face.live_bytes.load_relaxed();  // [own]
    const bool is_much = gathered >= step_bytes || gathered <= -step_bytes;
    face.live_bytes.store_relaxed(is_much ? 0 : gathered);  // [own]
    if (!is_much) return;
  }
  raise_peak(shared.live_bytes.fetch_add_relaxed(gathered) + gathered);  // [stat]
}

inline void count(CountingFace& face, Atomic<uint64_t>& calls, uint64_t more) noexcept {
  if (face.cache == nullptr) {
    calls.fetch_add_relaxed(more);  // [stat]
  } else {
    calls.own_add_relaxed(more);  // [own]
  }
}

inline void count_allocate(HeapFace& slow, void* block, size_t bytes) noexcept {
  auto& face = static_cast<CountingFace&>(slow);
  count(face, face.allocations[range_of(bytes)], 1);
  count(face, face.requested_bytes, bytes);
  const size_t usable = facts_of(block, "malloc").usable_bytes;
  count(face, face.provided_bytes, usable);
  add_live(face, static_cast<int64_t>(usable));
  if (shared.on_bytes != nullptr) tell_bytes(face, bytes);
}
inline void count_free(HeapFace& slow, void* block) noexcept {
  auto& face = static_cast<CountingFace&>(slow);
  count(face, face.frees, 1);
  add_live(face, -static_cast<int64_t>(facts_of(block, "free").usable_bytes));
}
inline void count_resize(HeapFace& slow, size_t usable, void* block, size_t bytes) noexcept {
  auto& face = static_cast<CountingFace&>(slow);
  count(face, face.frees, 1);
  add_live(face, -static_cast<int64_t>(usable));
  count_allocate(slow, block, bytes);
}
inline constexpr FaceOperations operations = {cache_of_mode_face, count_allocate, count_free,
                                              nullptr, count_resize};

inline void enlist(CountingFace& face) noexcept {
  CountingFace* head = shared.faces.load_relaxed();  // [hint] the CAS rechecks
  do {
    face.next = head;
  } while (!shared.faces.cas_weak_release(head, &face));
}

// The counting face of a cache, made when first asked for; the cache itself if there is no memory.
inline HeapFace& face_for(ThreadCache& cache) noexcept {
  CountingFace* face = shared.faces.load_acquire();
  for (; face != nullptr; face = face->next) {
    if (face->cache == &cache) return *face;
  }
  {
    Locked held{space.lock()};
    face = make_mode_face<CountingFace>(held, operations, &cache);
  }
  if (face == nullptr) return cache;
  enlist(*face);
  return *face;
}

// The face of threads that have no cache any more; one that does not count if there is no memory.
inline HeapFace& late_face() noexcept {
  Locked held{space.lock()};
  if (shared.late_face == nullptr) {
    shared.late_face = make_mode_face<CountingFace>(held, operations, nullptr);
    if (shared.late_face == nullptr) return dead_face;
    enlist(*shared.late_face);
  }
  return *shared.late_face;
}

struct Counts {
  uint64_t allocations[range_count] = {};
  uint64_t allocation_sum = 0;
  uint64_t frees = 0;
  uint64_t requested_bytes = 0;
  uint64_t provided_bytes = 0;
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
};

inline Counts collect() noexcept {
  Counts counts;
  counts.live_bytes = shared.live_bytes.load_relaxed();  // [stat]
  for (CountingFace* face = shared.faces.load_acquire(); face != nullptr; face = face->next) {
    for (size_t range = 0; range < range_count; range++) {
      const uint64_t calls = face->allocations[range].load_relaxed();  // [stat]
      counts.allocations[range] += calls;
      counts.allocation_sum += calls;
    }
    counts.frees += face->frees.load_relaxed();                      // [stat]
    counts.requested_bytes += face->requested_bytes.load_relaxed();  // [stat]
    counts.provided_bytes += face->provided_bytes.load_relaxed();    // [stat]
    counts.live_bytes += face->live_bytes.load_relaxed();            // [stat]
  }
  raise_peak(counts.live_bytes);
  counts.peak_bytes = shared.peak_bytes.load_relaxed();  // [stat]
  return counts;
}

}  // namespace talus::counting

#endif  // TALUS_MODES_COUNTING_HPP
