// SPDX-License-Identifier: MIT
// stress/no_more_heaps: more threads than there are ids for heaps.
//
// The registry is told at the start that all ids but a few are taken, which stands for tens of
// thousands of threads. The threads that get no heap share one under its lock: they allocate,
// resize, free their own and each other's blocks, and end, as all others do. The ids that were
// taken so name the main thread's heap; nothing that walks all heaps (fork, trim, totals) is
// called.
#include "stress.hpp"

namespace {

constexpr int thread_count = 24;
constexpr uint32_t free_ids = 4;
stress::Exchange<256> exchange;
talus::Atomic<uint32_t> heapless_count;

void take_all_ids() {
  talus::release(talus::allocate(1));
  talus::Heap* mine = talus::heap_behind(*talus::this_face);
  STRESS_CHECK(mine != nullptr, "the main thread has no heap");
  const uint32_t last = talus::heap_count_max - 1 - free_ids;
  talus::Locked held{talus::registry.lock};
  for (uint32_t id = talus::registry.shared_count.load_relaxed() + 1; id <= last; id++) {
    talus::registry.shared_heaps[id].store_release(mine);
  }
  talus::registry.shared_count.store_release(last);
}

void work(int index, const stress::Deadline& deadline) {
  stress::Random random{static_cast<uint64_t>(index)};
  bool is_counted = false;
  while (!deadline.is_over()) {
    const size_t bytes = random.size(random.below(200) == 0 ? stress::mib : 4 * stress::kib);
    void* found = exchange.swap(random, stress::make_filled(random, bytes));
    if (found != nullptr && random.below(4) == 0) {
      found = stress::resize_filled(found, random.size(100 * stress::kib), random);
    }
    stress::check_and_release(found);
    void* aligned = talus::allocate_aligned(1024, 1500);
    STRESS_CHECK(reinterpret_cast<uintptr_t>(aligned) % 1024 == 0, "%p", aligned);
    talus::release(aligned);
    if (!is_counted && talus::heap_behind(*talus::this_face) == nullptr) {
      heapless_count.fetch_add_relaxed(1);
      is_counted = true;
    }
  }
}

}  // namespace

int main() {
  talus::process_starts();
  take_all_ids();
  for (int round = 0; round < 3; round++) {
    const stress::Deadline deadline{1.0 / 3};
    stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  }
  exchange.empty();
  const uint32_t heapless = heapless_count.load_relaxed();
  printf("%u of %d threads had no heap of their own\n", heapless, 3 * thread_count);
  STRESS_CHECK(heapless >= 3 * (thread_count - free_ids), "%u", heapless);
  return 0;
}
