// SPDX-License-Identifier: MIT
// modes/counting: counts every call, for the statistics of TALUS_PRINT_STATS.
//
// Live bytes are block sizes. Each thread gathers them and adds them up in steps, so the peak is
// exact to within step_bytes for each thread. Requested bytes are gathered in the same way. The
// thread that reaches a given number calls `on_bytes`, without locks of the heap.
//
// Owns: the counts. Invariants: a count has one writer, its thread. It outlives the thread, and the
// next thread with the cache goes on counting. Late destructors run in threads without a cache, and
// those threads share one state. Called on: any thread, from slow paths.
#ifndef TALUS_MODES_COUNTING_HPP
#define TALUS_MODES_COUNTING_HPP

#include "base/base.hpp"
#include "heap/modes.hpp"
#include "paths/facts.hpp"

namespace talus::core::counting {

inline constexpr size_t range_limits[] = {16, 64, 256, 1024, 4096, 32 * kib, 256 * kib, mib};
inline constexpr size_t range_count = sizeof(range_limits) / sizeof(range_limits[0]) + 1;
inline constexpr int64_t step_bytes = 64 * 1024;

inline size_t range_of(size_t bytes) noexcept {
  size_t range = 0;
  while (range < range_count - 1 && bytes > range_limits[range]) range++;
  return range;
}

// Of one context. That of threads without a cache has many writers.
struct Counters {
  Counters* next = nullptr;                   // constant; list of all
  Atomic<uint64_t> allocations[range_count];  // owner writes; statistics read
  Atomic<uint64_t> frees;                     // owner writes; statistics read
  Atomic<uint64_t> requested_bytes;           // owner writes; statistics read
  Atomic<uint64_t> provided_bytes;            // of the blocks returned; owner writes; statistics
                                              // read
  uint64_t untold_bytes = 0;                  // requested, not yet in told_bytes; owner only
  Atomic<int64_t> live_bytes;                 // not yet in the shared count; statistics read
};

inline Counters& counters_of(ModeThread thread) noexcept {
  return *static_cast<Counters*>(thread.state);
}

struct Shared {
  Atomic<uint32_t> shared_is_on;  // for readers from outside: 1 while calls are counted
  Atomic<Counters*> all;
  Atomic<int64_t> live_bytes;
  Atomic<int64_t> peak_bytes;
  // The callback for print_stats_bytes. Constant once threads begin, but for the two counts.
  void (*on_bytes)() noexcept = nullptr;  // null: no callback
  uint64_t on_bytes_each = 0;
  Atomic<uint64_t> told_bytes;       // requested, as far as threads have added them
  Atomic<uint64_t> next_told_bytes;  // when on_bytes is called next
};
TALUS_CONSTINIT inline Shared shared;

// Calls tell() once for each `each` bytes requested, to within a step for each thread.
inline void tell_each(uint64_t each, void (*tell)() noexcept) noexcept {
  shared.on_bytes_each = each;
  shared.next_told_bytes.store_init(each);
  shared.on_bytes = tell;
}

inline void tell_bytes(ModeThread thread, size_t bytes) noexcept {
  if (thread.cache != nullptr) {
    Counters& own = counters_of(thread);
    const auto step = static_cast<uint64_t>(step_bytes);
    own.untold_bytes += bytes;
    if (own.untold_bytes < (shared.on_bytes_each < step ? shared.on_bytes_each : step)) return;
    bytes = own.untold_bytes;
    own.untold_bytes = 0;
  }
  const uint64_t told = shared.told_bytes.stat_add(bytes) + bytes;
  uint64_t next = shared.next_told_bytes.load_hint();  // the CAS rechecks
  if (told < next) return;
  const uint64_t after = told - told % shared.on_bytes_each + shared.on_bytes_each;
  if (shared.next_told_bytes.cas_acq_rel(next, after)) shared.on_bytes();
}

inline void raise_peak(int64_t live) noexcept {
  int64_t peak = shared.peak_bytes.load_hint();  // the CAS rechecks
  while (live > peak && !shared.peak_bytes.cas_acq_rel(peak, live)) {}
}

// The peak is that of the time from here on.
TALUS_APART void reset_peak() noexcept {
  shared.peak_bytes.store_stat(shared.live_bytes.load_stat());
}

inline void add_live(ModeThread thread, int64_t bytes) noexcept {
  int64_t gathered = bytes;
  if (thread.cache != nullptr) {
    Atomic<int64_t>& own = counters_of(thread).live_bytes;
    gathered += own.load_own();
    const bool is_much = gathered >= step_bytes || gathered <= -step_bytes;
    own.store_own(is_much ? 0 : gathered);
    if (!is_much) return;
  }
  raise_peak(shared.live_bytes.stat_add(gathered) + gathered);
}

inline void count(ModeThread thread, Atomic<uint64_t>& calls, uint64_t more) noexcept {
  if (thread.cache == nullptr) {
    calls.stat_add(more);
  } else {
    calls.own_add(more);
  }
}

inline void count_allocate(ModeThread thread, void* block, size_t bytes) noexcept {
  Counters& own = counters_of(thread);
  count(thread, own.allocations[range_of(bytes)], 1);
  count(thread, own.requested_bytes, bytes);
  const size_t usable = facts_of(block, "malloc").usable_bytes;
  count(thread, own.provided_bytes, usable);
  add_live(thread, static_cast<int64_t>(usable));
  if (shared.on_bytes != nullptr) tell_bytes(thread, bytes);
}
inline void count_end(ModeThread thread, size_t usable) noexcept {
  count(thread, counters_of(thread).frees, 1);
  add_live(thread, -static_cast<int64_t>(usable));
}
inline void count_free(ModeThread thread, void* block) noexcept {
  count_end(thread, facts_of(block, "free").usable_bytes);
}
inline void count_resize(ModeThread thread, void*, size_t usable, void* block,
                         size_t bytes) noexcept {
  if (block == nullptr) return;
  count_end(thread, usable);
  count_allocate(thread, block, bytes);
}

inline void enlist(ModeThread thread) noexcept {
  Counters& own = counters_of(thread);
  Counters* head = shared.all.load_hint();  // the CAS rechecks
  do {
    own.next = head;
  } while (!shared.all.cas_weak_release(head, &own));
}

constexpr Mode make_mode() noexcept {
  Mode mode;
  mode.name = "counting";
  mode.state_bytes = sizeof(Counters);
  mode.state_made = enlist;
  mode.note_allocate = count_allocate;
  mode.note_free = count_free;
  mode.end_resize = count_resize;
  return mode;
}
inline constexpr Mode mode = make_mode();

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
  counts.live_bytes = shared.live_bytes.load_stat();
  for (Counters* own = shared.all.load_acquire(); own != nullptr; own = own->next) {
    for (size_t range = 0; range < range_count; range++) {
      const uint64_t calls = own->allocations[range].load_stat();
      counts.allocations[range] += calls;
      counts.allocation_sum += calls;
    }
    counts.frees += own->frees.load_stat();
    counts.requested_bytes += own->requested_bytes.load_stat();
    counts.provided_bytes += own->provided_bytes.load_stat();
    counts.live_bytes += own->live_bytes.load_stat();
  }
  raise_peak(counts.live_bytes);
  counts.peak_bytes = shared.peak_bytes.load_stat();
  return counts;
}

// Counting begins in a process that has live blocks already.
TALUS_APART void start_from(size_t live_bytes) noexcept {
  const int64_t known = collect().live_bytes;
  raise_peak(shared.live_bytes.stat_add(static_cast<int64_t>(live_bytes) - known));
  reset_peak();
}

}  // namespace talus::core::counting

#endif  // TALUS_MODES_COUNTING_HPP
