// SPDX-License-Identifier: MIT
// stress/fork_storm: forks in the middle of four threads' allocations (N10).
//
// While four threads allocate, free each other's blocks, trim and resize, the main thread forks.
// The child finds the parent's blocks unchanged and frees them: its own, large ones, and blocks of
// threads that do not exist there. Then it allocates, starts threads that do the same, and forks
// again; so does the grandchild. A child that hangs dies of an alarm. Also forks from a second
// thread.
#include "child.hpp"
#include "footprint.hpp"

namespace stress::fork_storm {

using stress::kib;
using stress::mib;

constexpr int worker_count = 4;
constexpr size_t kept_each = 300;
stress::Exchange<512> exchange;
talus::core::Atomic<bool> must_end;
talus::core::Atomic<uint32_t> settled_count;
// Blocks that no thread touches while there are forks, by the thread that made them; last the
// main's.
void* kept[(worker_count + 1) * kept_each];

void keep_some(int index, stress::Random& random) {
  for (size_t i = 0; i < kept_each; i++) {
    const size_t bytes = i % 50 == 0 ? 100 * kib + random.below(mib) : random.size(20 * kib);
    kept[static_cast<size_t>(index) * kept_each + i] = stress::make_filled(random, bytes);
  }
}

void work(int index) {
  stress::Random random{static_cast<uint64_t>(index)};
  keep_some(index, random);
  settled_count.fetch_or_release(0);
  settled_count.fetch_add_relaxed(1);
  while (!must_end.load_acquire()) {
    const size_t bytes = random.size(random.below(100) == 0 ? mib : 4 * kib);
    stress::check_and_release(exchange.swap(random, stress::make_filled(random, bytes)));
    if (random.below(1000) == 0) talus::core::purge_beyond(0);
    if (random.below(50) == 0) {
      void* block = stress::make_filled(random, 70 * kib);
      stress::check_and_release(stress::resize_filled(block, 300 * kib, random));
    }
  }
}

void allocate_in_thread(int index) {
  stress::Random random{static_cast<uint64_t>(index) + 100};
  void* blocks[200];
  for (void*& block : blocks) block = stress::make_filled(random, random.size(30 * kib));
  for (void* block : blocks) stress::check_and_release(block);
  // And some of the blocks that the parent's threads left.
  for (size_t i = static_cast<size_t>(index); i < (worker_count + 1) * kept_each; i += 2) {
    stress::check_and_release(kept[i]);
    kept[i] = nullptr;
  }
}

void live_as_child(int generation) {
  stress::Random random{static_cast<uint64_t>(generation)};
  void* blocks[300];
  for (void*& block : blocks) block = stress::make_filled(random, random.size(64 * kib));
  // Half of the parent's blocks here, the rest by threads.
  for (size_t i = 0; i < (worker_count + 1) * kept_each; i += 2 + static_cast<size_t>(generation)) {
    stress::check_and_release(kept[i]);
    kept[i] = nullptr;
  }
  // ThreadSanitizer cannot follow a child of a process with threads into new threads.
  if (generation < (stress::is_under_tsan ? 0 : 2)) {
    stress::in_child("a grandchild", [generation] { live_as_child(generation + 1); });
  }
  if (!stress::is_under_tsan) stress::run_threads(2, allocate_in_thread);
  for (void* block : blocks) stress::check_and_release(block);
  if (generation == 0) talus::core::purge_beyond(0);
  // The heap answers questions too: all locks are free.
  STRESS_CHECK(talus::core::collect_totals().heap_count >= 1, "no heaps");
}

size_t fork_until(const stress::Deadline& deadline) {
  size_t count = 0;
  while (count < 2 || !deadline.is_over()) {
    stress::in_child("a child", [] { live_as_child(0); });
    count++;
  }
  return count;
}

int run() {
  talus::core::process_starts();
  stress::Random random{99};
  keep_some(worker_count, random);
  size_t fork_count = 0;
  talus::core::Atomic<size_t> other_count;
  {
    stress::Threads<void (*)(int)> workers{worker_count, work};
    while (settled_count.load_acquire() != worker_count) stress::sleep_us(1000);
    const stress::Deadline first{0.6};
    fork_count = fork_until(first);
    const stress::Deadline second{0.4};
    auto body = [&](int) { other_count.fetch_add_relaxed(fork_until(second)); };
    { stress::Threads<decltype(body)> forkers{2, body}; }
    must_end.store_release(true);
  }
  printf("%zu forks from the main thread, %zu from two others\n", fork_count,
         other_count.load_relaxed());
  for (void* block : kept) stress::check_and_release(block);
  exchange.empty();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"fork_storm", run};

}  // namespace stress::fork_storm
