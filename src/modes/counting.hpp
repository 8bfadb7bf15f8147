// SPDX-License-Identifier: MIT
// modes/counting: counts every call, for the statistics of TALUS_PRINT_STATS.
//
// A counting context stands before each thread cache. Its lists stay empty and its id matches
// nothing, so every malloc and free takes the slow path. There the context counts the call and
// passes it on to the cache. Programs that do not ask for statistics pay nothing.
//
// Live bytes are block sizes. Each thread gathers them and adds them up in steps, so the peak is
// exact to within step_bytes for each thread. Requested bytes are gathered in the same way. The
// thread that reaches a given number calls `on_bytes`, without locks of the heap.
//
// Owns: the counting contexts. Invariants: a context's counters have one writer, its thread. They
// outlive the thread, and the next thread with the cache goes on counting. Late destructors run in
// threads without a cache, and those threads share one context. Called on: any thread, from slow
// paths.
#ifndef TALUS_MODES_COUNTING_HPP
#define TALUS_MODES_COUNTING_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "paths/resize.hpp"
#include "modes/mode_context.hpp"

namespace talus::core::counting {

inline constexpr size_t range_limits[] = {16, 64, 256, 1024, 4096, 32 * kib, 256 * kib, mib};
inline constexpr size_t range_count = sizeof(range_limits) / sizeof(range_limits[0]) + 1;
inline constexpr int64_t step_bytes = 64 * 1024;

inline size_t range_of(size_t bytes) noexcept {
  size_t range = 0;
  while (range < range_count - 1 && bytes > range_limits[range]) range++;
  return range;
}

// A context without a cache has many writers: any thread.
struct CountingContext : ModeContext {
  CountingContext* next = nullptr;            // constant; list of all contexts
  Atomic<uint64_t> allocations[range_count];  // owner writes; statistics read
  Atomic<uint64_t> frees;                     // owner writes; statistics read
  Atomic<uint64_t> requested_bytes;           // owner writes; statistics read
  Atomic<uint64_t> provided_bytes;            // of the blocks returned; owner writes; statistics
                                              // read
  uint64_t untold_bytes = 0;                  // requested, not yet in told_bytes; owner only
  Atomic<int64_t> live_bytes;                 // not yet in the shared count; statistics read
};

struct Shared {
  Atomic<CountingContext*> contexts;
  CountingContext* late_context = nullptr;  // of threads without a cache; under the space lock
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

inline void tell_bytes(CountingContext& context, size_t bytes) noexcept {
  if (context.cache != nullptr) {
    const auto step = static_cast<uint64_t>(step_bytes);
    context.untold_bytes += bytes;
    if (context.untold_bytes < (shared.on_bytes_each < step ? shared.on_bytes_each : step)) return;
    bytes = context.untold_bytes;
    context.untold_bytes = 0;
  }
  const uint64_t told = shared.told_bytes.fetch_add_relaxed(bytes) + bytes;  // [stat]
  uint64_t next = shared.next_told_bytes.load_hint();                        // the CAS rechecks
  if (told < next) return;
  const uint64_t after = told - told % shared.on_bytes_each + shared.on_bytes_each;
  if (shared.next_told_bytes.cas_acq_rel(next, after)) shared.on_bytes();
}

inline void raise_peak(int64_t live) noexcept {
  int64_t peak = shared.peak_bytes.load_hint();  // the CAS rechecks
  while (live > peak && !shared.peak_bytes.cas_acq_rel(peak, live)) {}
}

inline void add_live(CountingContext& context, int64_t bytes) noexcept {
  int64_t gathered = bytes;
  if (context.cache != nullptr) {
    gathered += context.live_bytes.load_own();
    const bool is_much = gathered >= step_bytes || gathered <= -step_bytes;
    context.live_bytes.store_own(is_much ? 0 : gathered);
    if (!is_much) return;
  }
  raise_peak(shared.live_bytes.fetch_add_relaxed(gathered) + gathered);  // [stat]
}

inline void count(CountingContext& context, Atomic<uint64_t>& calls, uint64_t more) noexcept {
  if (context.cache == nullptr) {
    calls.fetch_add_relaxed(more);  // [stat]
  } else {
    calls.own_add(more);
  }
}

inline void count_allocate(ThreadContext& slow, void* block, size_t bytes) noexcept {
  auto& context = static_cast<CountingContext&>(slow);
  count(context, context.allocations[range_of(bytes)], 1);
  count(context, context.requested_bytes, bytes);
  const size_t usable = facts_of(block, "malloc").usable_bytes;
  count(context, context.provided_bytes, usable);
  add_live(context, static_cast<int64_t>(usable));
  if (shared.on_bytes != nullptr) tell_bytes(context, bytes);
}
inline void count_free(ThreadContext& slow, void* block) noexcept {
  auto& context = static_cast<CountingContext&>(slow);
  count(context, context.frees, 1);
  add_live(context, -static_cast<int64_t>(facts_of(block, "free").usable_bytes));
}
inline void count_resize(ThreadContext& slow, size_t usable, void* block, size_t bytes) noexcept {
  auto& context = static_cast<CountingContext&>(slow);
  count(context, context.frees, 1);
  add_live(context, -static_cast<int64_t>(usable));
  count_allocate(slow, block, bytes);
}
inline constexpr ContextOperations operations = {cache_of_mode_context, count_allocate, count_free,
                                                 nullptr, count_resize};

inline void enlist(CountingContext& context) noexcept {
  CountingContext* head = shared.contexts.load_hint();  // the CAS rechecks
  do {
    context.next = head;
  } while (!shared.contexts.cas_weak_release(head, &context));
}

// The counting context of a cache, made on first use; the cache itself when there is no memory.
inline ThreadContext& context_for(ThreadCache& cache) noexcept {
  CountingContext* context = shared.contexts.load_acquire();
  for (; context != nullptr; context = context->next) {
    if (context->cache == &cache) return *context;
  }
  {
    Held held{space.lock()};
    context = make_mode_context<CountingContext>(held, operations, &cache);
  }
  if (context == nullptr) return cache;
  enlist(*context);
  return *context;
}

// The context of threads that have lost their cache; one that does not count when there is no
// memory.
inline ThreadContext& late_context() noexcept {
  Held held{space.lock()};
  if (shared.late_context == nullptr) {
    shared.late_context = make_mode_context<CountingContext>(held, operations, nullptr);
    if (shared.late_context == nullptr) return ended_context;
    enlist(*shared.late_context);
  }
  return *shared.late_context;
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
  counts.live_bytes = shared.live_bytes.load_stat();
  for (CountingContext* context = shared.contexts.load_acquire(); context != nullptr;
       context = context->next) {
    for (size_t range = 0; range < range_count; range++) {
      const uint64_t calls = context->allocations[range].load_stat();
      counts.allocations[range] += calls;
      counts.allocation_sum += calls;
    }
    counts.frees += context->frees.load_stat();
    counts.requested_bytes += context->requested_bytes.load_stat();
    counts.provided_bytes += context->provided_bytes.load_stat();
    counts.live_bytes += context->live_bytes.load_stat();
  }
  raise_peak(counts.live_bytes);
  counts.peak_bytes = shared.peak_bytes.load_stat();
  return counts;
}

}  // namespace talus::core::counting

#endif  // TALUS_MODES_COUNTING_HPP
