// SPDX-License-Identifier: MIT
// stress/shared_heaps: many threads before two heaps, and threads that have no cache at all.
//
// With heaps=2 most threads share theirs: they refill from and flush to the same slabs, and free
// each other's blocks both as their own and as remote ones. Every fourth thread works without a
// cache, as one does for which there was no memory, or whose end has been: each of its calls takes
// the heap's lock. All allocate, resize, free their own and each other's blocks, and end.
#include "stress.hpp"

#include "inspect/totals.hpp"

namespace stress::shared_heaps {

constexpr int thread_count = 24;
constexpr uint32_t heap_count = 2;
stress::Exchange<256> exchange;

void work(int index, const stress::Deadline& deadline) {
  if (index % 4 == 0) talus::core::set_context(talus::core::ended_context);
  stress::Random random{static_cast<uint64_t>(index)};
  while (!deadline.is_over()) {
    const size_t bytes = random.size(random.below(200) == 0 ? stress::mib : 4 * stress::kib);
    void* found = exchange.swap(random, stress::make_filled(random, bytes));
    if (found != nullptr && random.below(4) == 0) {
      found = stress::resize_filled(found, random.size(100 * stress::kib), random);
    }
    stress::check_and_release(found);
    void* aligned = talus::core::allocate_aligned(1024, 1500);
    STRESS_CHECK(reinterpret_cast<uintptr_t>(aligned) % 1024 == 0, "%p", aligned);
    talus::core::free_block(aligned);
  }
}

int run() {
  talus::core::options.heaps = heap_count;
  talus::core::process_starts();
  for (int round = 0; round < 3; round++) {
    const stress::Deadline deadline{1.0 / 3};
    stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  }
  exchange.empty();
  talus::core::purge_beyond(0);
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  printf("%zu heaps, %zu caches in use, %zu bytes live\n", totals.heap_count, totals.cache_count,
         totals.live());
  STRESS_CHECK(totals.heap_count == heap_count, "%zu", totals.heap_count);
  STRESS_CHECK(totals.live() == 0, "%zu", totals.live());
  return 0;
}

const Program program{"shared_heaps", run};

}  // namespace stress::shared_heaps
