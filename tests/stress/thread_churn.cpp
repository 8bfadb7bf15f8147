// SPDX-License-Identifier: MIT
// stress/thread_churn: 20000 short threads leave nothing behind (N06).
//
// Each thread allocates small and large blocks, frees what the one before it left and leaves some
// for the next, so that heaps die with blocks out and are adopted. Resident memory after the first
// thousand threads may not grow by more than 2 MiB, and the number of heaps is that of the threads
// which lived at once. Runs that many threads however long it takes, fewer under sanitizers.
#include "footprint.hpp"

namespace {

constexpr int thread_total = stress::is_sanitized ? 3000 : 20000;
constexpr int at_once = 4;
constexpr int warm_up = thread_total / 20 / at_once * at_once;
stress::Exchange<64> exchange;

void live_and_die(uint64_t seed) {
  stress::Random random{seed};
  void* blocks[48];
  for (void*& block : blocks) block = stress::make_filled(random, random.size(8 * talus::kib));
  void* large = stress::make_filled(random, 64 * talus::kib + random.size(128 * talus::kib));
  for (void*& block : blocks) stress::check_and_release(exchange.swap(random, block));
  // Large ones die here: what lives from thread to thread is the same at every look.
  stress::check_and_release(large);
}

}  // namespace

int main() {
  talus::process_starts();
  size_t warm_rss = 0, last_rss = 0, warm_held = 0, last_held = 0;
  for (int done = 0; done < thread_total; done += at_once) {
    stress::run_threads(at_once, [done](int i) { live_and_die(static_cast<uint64_t>(done + i)); });
    if (done == warm_up) {
      warm_rss = stress::resident_bytes();
      warm_held = stress::held_bytes();
    }
  }
  last_rss = stress::resident_bytes();
  last_held = stress::held_bytes();
  exchange.empty();
  const talus::HeapTotals totals = talus::collect_totals();
  printf("%d threads, %zu heaps: KiB resident %zu after %d, %zu at the end; held %zu, %zu\n",
         thread_total, totals.heap_count, warm_rss / stress::kib, warm_up, last_rss / stress::kib,
         warm_held / stress::kib, last_held / stress::kib);
  STRESS_CHECK(totals.heap_count <= at_once + 1, "%zu heaps", totals.heap_count);
  STRESS_CHECK(last_held <= warm_held + 4 * stress::mib, "%zu KiB", last_held / stress::kib);
  if (!stress::is_sanitized) {
    STRESS_CHECK(last_rss <= warm_rss + 2 * stress::mib, "%zu KiB", last_rss / stress::kib);
  }
  talus::trim_heaps(0);
  stress::expect_nothing_live();
  return 0;
}
