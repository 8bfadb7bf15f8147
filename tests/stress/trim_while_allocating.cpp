// SPDX-License-Identifier: MIT
// stress/trim_while_allocating: memory goes back to the kernel while others take it.
//
// One thread trims to nothing in a loop, one adds up the totals, four allocate. A page that went
// back while a block lived there shows as a changed block. The bounds of the totals hold at every
// moment: what heaps have is at most what is reserved.
#include "footprint.hpp"

namespace stress::trim_while_allocating {

constexpr int worker_count = 4;
stress::Exchange<512> exchange;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<uint64_t> trimmed_bytes, trim_count, look_count;

void work(stress::Random& random) {
  void* burst[100];
  const size_t bytes_max = random.below(20) == 0 ? 512 * stress::kib : 4 * stress::kib;
  for (void*& block : burst) block = stress::make_filled(random, random.size(bytes_max));
  for (void*& block : burst) stress::check_and_release(exchange.swap(random, block));
  // Growing in place takes the free neighbour, which may be on its way to the kernel.
  void* large = stress::make_filled(random, 70 * stress::kib);
  large = stress::resize_filled(large, 200 * stress::kib + random.below(stress::mib), random);
  stress::check_and_release(large);
}

void trim() {
  trimmed_bytes.fetch_add_relaxed(
      talus::core::purge_beyond(trim_count.load_relaxed() % 2 * stress::mib));
  trim_count.fetch_add_relaxed(1);
}

void look() {
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  STRESS_CHECK(totals.space.given_bytes + totals.dirty <= totals.space.reserved_bytes,
               "%zu given, %zu dirty, %zu reserved", totals.space.given_bytes, totals.dirty,
               totals.space.reserved_bytes);
  STRESS_CHECK(totals.live_large <= totals.space.given_bytes, "%zu", totals.live_large);
  look_count.fetch_add_relaxed(1);
}

void live(int index) {
  stress::Random random{static_cast<uint64_t>(index)};
  while (!must_end.load_acquire()) {
    if (index == worker_count) {
      trim();
    } else if (index == worker_count + 1) {
      look();
    } else {
      work(random);
    }
  }
}

int run() {
  talus::core::process_starts();
  {
    stress::Threads<void (*)(int)> threads{worker_count + 2, live};
    const stress::Deadline deadline;
    while (!deadline.is_over()) stress::sleep_us(10000);
    must_end.store_release(true);
  }
  printf("%zu trims gave %zu MiB back, %zu looks\n", static_cast<size_t>(trim_count.load_relaxed()),
         static_cast<size_t>(trimmed_bytes.load_relaxed() / stress::mib),
         static_cast<size_t>(look_count.load_relaxed()));
  STRESS_CHECK(trimmed_bytes.load_relaxed() > 0, "nothing was given back");
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  STRESS_CHECK(totals.dirty == 0, "%zu bytes stay dirty after a trim", totals.dirty);
  return 0;
}

const Program program{"trim_while_allocating", run};

}  // namespace stress::trim_while_allocating
