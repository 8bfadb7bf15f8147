// SPDX-License-Identifier: MIT
// stress/pure_free: one thread only allocates, others only free (N05).
//
// First a steady flow with 32 MiB live: resident memory at most 1.4 times that. Then the owner
// sleeps and the others free everything: the deliverers must do its work, and memory goes back
// though the owner never comes. Then 64 threads free a little and sleep with what they hold.
#include "footprint.hpp"

namespace stress::pure_free {

using stress::kib;
using stress::mib;

constexpr size_t live_bytes = 32 * mib;
constexpr size_t block_bytes_max = 1024;
constexpr size_t ring_count = live_bytes / 512;  // the mean block has 512 bytes

talus::core::Atomic<void*> ring[ring_count];
talus::core::Atomic<uint64_t> produced_count, freed_count;
talus::core::Atomic<bool> has_ended;

void produce(uint64_t until) {
  stress::Random random{produced_count.load_relaxed()};
  for (uint64_t i = produced_count.load_relaxed(); i < until; i++) {
    ring[i % ring_count].store_relaxed(
        stress::make_filled(random, 16 + random.below(block_bytes_max - 16)));
    produced_count.store_release(i + 1);
  }
}

void consume() {
  for (uint64_t i = 0;; i++) {
    // Half of the ring stays live, until the end.
    while (i + ring_count / 2 >= produced_count.load_acquire()) {
      if (has_ended.load_acquire()) {
        if (i == produced_count.load_acquire()) return;
        break;
      }
      sched_yield();
    }
    stress::check_and_release(ring[i % ring_count].load_relaxed());
    freed_count.store_release(i + 1);
  }
}

// The producer keeps between a half and all of the ring live.
void flow(size_t base_rss) {
  size_t most = 0;
  const stress::Deadline deadline{0.6};
  size_t looks = 0;
  while (!deadline.is_over()) {
    for (int i = 0; i < 256; i++) {
      const uint64_t produced = produced_count.load_relaxed();
      while (produced - freed_count.load_acquire() >= ring_count) sched_yield();
      produce(produced + 1);
    }
    if (++looks % 64 != 0) continue;
    const size_t now = stress::resident_bytes();
    if (now > most) most = now;
  }
  const size_t grown = most > base_rss ? most - base_rss : 0;
  printf("flow of %zu blocks: %zu KiB more resident than before, %zu KiB live\n",
         static_cast<size_t>(produced_count.load_relaxed()), grown / kib, live_bytes / kib);
  if (!stress::is_sanitized) {
    STRESS_CHECK(grown <= live_bytes * 14 / 10, "%zu KiB", grown / kib);
  }
}

void sleepers_hold_little() {
  constexpr int sleeper_count = 64;
  constexpr size_t each = 512;
  static void* blocks[sleeper_count * each];
  stress::Random random{7};
  for (void*& block : blocks) block = stress::make_filled(random, 16 + random.below(2000));
  talus::core::Atomic<uint32_t> ready_count;
  talus::core::Atomic<bool> may_end;
  auto body = [&](int index) {
    for (size_t i = 0; i < each; i++) {
      stress::check_and_release(blocks[static_cast<size_t>(index) + i * sleeper_count]);
    }
    ready_count.fetch_or_release(0);
    ready_count.fetch_add_relaxed(1);
    while (!may_end.load_acquire()) stress::sleep_us(1000);
  };
  {
    stress::Threads<decltype(body)> threads{sleeper_count, body};
    while (ready_count.load_acquire() != sleeper_count) stress::sleep_us(1000);
    const talus::core::HeapTotals totals = talus::core::collect_totals();
    const size_t held = totals.on_their_way + totals.live();
    printf("%d sleepers hold %zu KiB on their way\n", sleeper_count, held / kib);
    // 64 KiB each is the bar on what an idle thread may pin.
    STRESS_CHECK(held <= sleeper_count * 64 * kib, "%zu KiB", held / kib);
    may_end.store_release(true);
  }
}

int run() {
  talus::core::process_starts();
  const size_t base_rss = stress::resident_bytes();
  {
    auto body = [](int) { consume(); };
    stress::Threads<decltype(body)> consumer{1, body};
    flow(base_rss);
    // From here on the owner of all blocks does nothing while they are freed.
    has_ended.store_release(true);
  }
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  printf("owner idle, all freed: %zu KiB with heaps, %zu KiB dirty\n",
         totals.space.given_bytes / kib, totals.dirty / kib);
  // What may stay are slabs kept for reuse, some for each class.
  STRESS_CHECK(totals.space.given_bytes <= live_bytes / 4, "%zu KiB",
               totals.space.given_bytes / kib);
  sleepers_hold_little();
  talus::core::purge_beyond(0);
  stress::expect_nothing_live();
  return 0;
}

const Program program{"pure_free", run};

}  // namespace stress::pure_free
