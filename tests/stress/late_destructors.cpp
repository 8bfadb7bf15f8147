// SPDX-License-Identifier: MIT
// stress/late_destructors: threads whose first and last calls are odd ones (N13).
//
// Keys arm themselves again three times, so their destructors run after the heap's own; they check,
// resize, allocate and free. A thread's first call is free, realloc, a question or an allocation.
// Checked: contents, no drift of what the heap holds over thousands of threads, nothing lost.
#include "footprint.hpp"

namespace stress::late_destructors {

constexpr int key_count = 3;
constexpr int rearm_count = 3;
pthread_key_t keys[key_count];
talus::core::Atomic<uint64_t> destructor_count;
stress::Exchange<64> exchange;

struct Armed {
  int key;
  int left;
  void* filled;
};

Armed* arm(int key, int left, stress::Random& random) {
  auto* armed = static_cast<Armed*>(talus::core::allocate(sizeof(Armed)));
  *armed = {key, left, stress::make_filled(random, random.size(40 * talus::core::kib))};
  STRESS_CHECK(pthread_setspecific(keys[key], armed) == 0, "key %d", key);
  return armed;
}

void disarm(void* pointer) {
  auto* armed = static_cast<Armed*>(pointer);
  stress::Random random{reinterpret_cast<uintptr_t>(pointer)};
  destructor_count.fetch_add_relaxed(1);
  if (armed->left > 0) arm(armed->key, armed->left - 1, random);
  void* filled = stress::resize_filled(armed->filled, random.size(40 * talus::core::kib), random);
  void* aligned = talus::core::allocate_aligned(256, 300);
  STRESS_CHECK(reinterpret_cast<uintptr_t>(aligned) % 256 == 0, "%p", aligned);
  talus::core::free_block(aligned);
  stress::check_and_release(exchange.swap(random, filled));
  talus::core::free_block(armed);
}

void live_and_die(uint64_t seed) {
  stress::Random random{seed};
  void* given = exchange.swap(random, nullptr);
  switch (seed % 4) {
    case 0:
      stress::check_and_release(given);
      break;
    case 1:
      if (given != nullptr) given = stress::resize_filled(given, 5000, random);
      stress::check_and_release(given);
      break;
    case 2:
      if (given != nullptr) STRESS_CHECK(talus::core::usable_size(given) >= 16, "%p", given);
      stress::check_and_release(given);
      return;  // this thread never allocates
    default:
      stress::check_and_release(exchange.swap(random, given));
  }
  for (int key = 0; key < key_count; key++) arm(key, rearm_count, random);
}

void run_round(uint64_t first, int threads) {
  for (int i = 0; i < threads; i += 4) {
    stress::run_threads(4, [=](int index) {
      live_and_die(first + static_cast<uint64_t>(i) + static_cast<uint64_t>(index));
    });
  }
}

int run() {
  if (stress::is_under_tsan) {
    printf("skipped: ThreadSanitizer has left a thread before its last destructors run\n");
    return stress::skipped;
  }
  talus::core::process_starts();
  for (pthread_key_t& key : keys) STRESS_CHECK(pthread_key_create(&key, disarm) == 0, "no key");
  constexpr int round_threads = stress::is_sanitized ? 200 : 1000;
  uint64_t thread_count = 0;
  size_t early_held = 0, late_held = 0, early_rss = 0, late_rss = 0;
  const stress::Deadline deadline;
  for (int round = 0; round < 4 || !deadline.is_over(); round++) {
    run_round(thread_count, round_threads);
    thread_count += round_threads;
    // All that is free goes back before the look: what is left would be a leak, not a cache.
    exchange.empty();
    talus::core::purge_beyond(0);
    late_held = stress::held_bytes();
    late_rss = stress::resident_bytes();
    if (round >= 2) continue;
    early_held = late_held > early_held ? late_held : early_held;
    early_rss = late_rss > early_rss ? late_rss : early_rss;
  }
  printf("%zu threads, %zu destructors: held %zu KiB early, %zu KiB late; resident %zu, %zu KiB\n",
         static_cast<size_t>(thread_count), static_cast<size_t>(destructor_count.load_relaxed()),
         early_held / stress::kib, late_held / stress::kib, early_rss / stress::kib,
         late_rss / stress::kib);
  STRESS_CHECK(late_held <= early_held + stress::mib, "%zu KiB", late_held / stress::kib);
  if (!stress::is_sanitized) {
    STRESS_CHECK(late_rss <= early_rss + stress::mib, "%zu KiB", late_rss / stress::kib);
  }
  stress::expect_nothing_live();
  return 0;
}

const Program program{"late_destructors", run};

}  // namespace stress::late_destructors
