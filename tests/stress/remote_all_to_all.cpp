// SPDX-License-Identifier: MIT
// stress/remote_all_to_all: six threads free, check and resize each other's blocks.
//
// Every block passes through a place where any thread may take it, so nearly all frees are remote
// ones, of small and large blocks and of every class. Checked: contents at each step, and at the
// end, with all threads gone, that the heap knows of no live block: nothing was lost on its way.
#include "footprint.hpp"

namespace stress::remote_all_to_all {

constexpr int thread_count = 6;
stress::Exchange<4096> exchange;

void work(int index, const stress::Deadline& deadline) {
  stress::Random random{static_cast<uint64_t>(index)};
  while (!deadline.is_over()) {
    for (int i = 0; i < 200; i++) {
      const bool is_large = random.below(400) == 0;
      const size_t bytes = random.size(is_large ? 2 * talus::core::mib : 4 * talus::core::kib);
      void* found = exchange.swap(random, stress::make_filled(random, bytes));
      if (found != nullptr && random.below(4) == 0) {
        found = stress::resize_filled(
            found, random.size(is_large ? talus::core::mib : 8 * talus::core::kib), random);
        found = exchange.swap(random, found);
      }
      stress::check_and_release(found);
      if (random.below(3) == 0) stress::check_and_release(exchange.swap(random, nullptr));
    }
  }
}

int run() {
  talus::core::process_starts();
  for (int round = 0; round < 3; round++) {
    const stress::Deadline deadline{1.0 / 3};
    stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  }
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  STRESS_CHECK(totals.heap_count <= thread_count + 2, "%zu heaps", totals.heap_count);
  printf("peak %zu KiB given to heaps, %zu KiB at the end\n",
         totals.space.given_peak_bytes / stress::kib, totals.space.given_bytes / stress::kib);
  return 0;
}

const Program program{"remote_all_to_all", run};

}  // namespace stress::remote_all_to_all
