// SPDX-License-Identifier: MIT
// stress/realloc_storm: large blocks grow, shrink and move between threads.
//
// Growth takes free neighbours, the kernel moves pages, shrinking gives pages back, all while
// other threads take and give ranges next entry. Checked: contents up to the smaller size each
// time, and that a block which realloc made larger does not share a byte with another.
#include "footprint.hpp"

namespace stress::realloc_storm {

using stress::kib;
using stress::mib;

constexpr int thread_count = 4;
stress::Exchange<48> exchange;
talus::core::Atomic<uint64_t> resize_count;

size_t wanted_bytes(stress::Random& random, size_t now) {
  switch (random.below(6)) {
    case 0:
      return now + now / 8;
    case 1:
      return now * 2;
    case 2:
      return now / 2;
    case 3:
      return random.size(4 * kib);
    case 4:
      return 32 * kib - 100 + random.below(200);
    default:
      return 64 * kib + random.below(2 * mib);
  }
}

void work(int index, const stress::Deadline& deadline) {
  stress::Random random{static_cast<uint64_t>(index)};
  while (!deadline.is_over()) {
    void* block = exchange.swap(random, nullptr);
    if (block == nullptr) block = stress::make_filled(random, 64 * kib + random.below(mib));
    for (size_t i = random.below(6); i > 0; i--) {
      size_t bytes = wanted_bytes(random, stress::check(block));
      if (bytes > 8 * mib) bytes = 40 * kib;
      block = stress::resize_filled(block, bytes, random);
      resize_count.fetch_add_relaxed(1);
    }
    stress::check_and_release(exchange.swap(random, block));
  }
}

int run() {
  talus::core::process_starts();
  const stress::Deadline deadline;
  stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  printf("%zu resizes, %zu arenas, %zu KiB given at the end\n",
         static_cast<size_t>(resize_count.load_relaxed()), totals.space.arena_count,
         totals.space.given_bytes / kib);
  return 0;
}

const Program program{"realloc_storm", run};

}  // namespace stress::realloc_storm
