// SPDX-License-Identifier: MIT
// stress/thread_churn: 20000 short threads leave nothing behind (N06).
//
// Each thread allocates small and large blocks, frees what the one before it left and leaves some
// for the next. So caches end with blocks out and are used again. The test compares the mean
// of resident memory over two fifths of the threads: the last, and the one after the first
// thousand. The last may be above it by 2 MiB. What heaps hold may rise by more: a size that was
// asked for often has got slabs of 4 MiB, mostly untouched. There may be as many heaps as threads
// that lived at once. Runs that many threads however long it takes, fewer under sanitizers.
#include "footprint.hpp"

namespace stress::thread_churn {

constexpr int thread_total = stress::is_sanitized ? 3000 : 20000;
constexpr int at_once = 4;
constexpr int warm_up = thread_total / 20 / at_once * at_once;
constexpr int window = thread_total / 5;
constexpr int looked_at_every = 20 * at_once;
stress::Exchange<64> exchange;
talus::core::Atomic<uint64_t> arrived_count;

void live_and_die(uint64_t seed) {
  // All of a round are there before one goes on: the same number at once in every round.
  arrived_count.fetch_add_relaxed(1);
  const uint64_t awaited = (seed / at_once + 1) * at_once;
  while (arrived_count.load_relaxed() < awaited) stress::sleep_us(0);
  stress::Random random{seed};
  void* blocks[48];
  for (void*& block : blocks)
    block = stress::make_filled(random, random.size(8 * talus::core::kib));
  void* large =
      stress::make_filled(random, 64 * talus::core::kib + random.size(128 * talus::core::kib));
  for (void*& block : blocks) stress::check_and_release(exchange.swap(random, block));
  // Large ones die here: what lives from thread to thread is the same at every look.
  stress::check_and_release(large);
}

// The mean over many moments: what 64 blocks of random sizes pin at one of them is chance.
class Mean {
 public:
  void add(size_t value) { sum_ += value, count_++; }
  size_t get() const { return count_ == 0 ? 0 : sum_ / count_; }

 private:
  size_t sum_ = 0, count_ = 0;
};

int run() {
  talus::core::process_starts();
  Mean early_rss, late_rss, early_held, late_held;
  for (int done = 0; done < thread_total; done += at_once) {
    stress::run_threads(at_once, [done](int i) { live_and_die(static_cast<uint64_t>(done + i)); });
    if (done % looked_at_every != 0) continue;
    const bool is_early = done >= warm_up && done < warm_up + window;
    const bool is_late = done >= thread_total - window;
    if (!is_early && !is_late) continue;
    (is_early ? early_rss : late_rss).add(stress::resident_bytes());
    (is_early ? early_held : late_held).add(stress::held_bytes());
  }
  exchange.empty();
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  printf("%d threads, %zu heaps: KiB resident %zu after %d, %zu at the end; held %zu, %zu\n",
         thread_total, totals.heap_count, early_rss.get() / stress::kib, warm_up,
         late_rss.get() / stress::kib, early_held.get() / stress::kib,
         late_held.get() / stress::kib);
  STRESS_CHECK(totals.heap_count <= at_once + 1, "%zu heaps", totals.heap_count);
  STRESS_CHECK(totals.cache_count == 1, "%zu caches in use", totals.cache_count);
  STRESS_CHECK(late_held.get() <= early_held.get() + 10 * stress::mib, "%zu KiB",
               late_held.get() / stress::kib);
  if (!stress::is_sanitized) {
    STRESS_CHECK(late_rss.get() <= early_rss.get() + 2 * stress::mib, "%zu KiB",
                 late_rss.get() / stress::kib);
  }
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"thread_churn", run};

}  // namespace stress::thread_churn
