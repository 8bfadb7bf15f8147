// SPDX-License-Identifier: MIT
// stress/bounded: threads with and without caches use one small instance and free each other's
// blocks. Pools run out all the time, caches begin and end, a thread reads the statistics, others
// make instances of their own. Children are forked in the middle of it.
#include <sys/wait.h>

#include "stress.hpp"

#include "api/bounded.hpp"

namespace stress::bounded {

constexpr int thread_count = 6;
constexpr size_t pools = 12;
stress::Exchange<256> exchange;
talus_bounded* shared = nullptr;

talus_bounded* make_instance_of(size_t budget_bytes) {
  const talus_bounded_options options{pools, budget_bytes, nullptr, nullptr, 0};
  talus_bounded* made = talus::core::api::bounded_new(&options);
  STRESS_CHECK(made != nullptr, "no instance");
  return made;
}

// As stress::check, for a block of this instance or its fallback, and gone.
void check_and_free(talus_bounded* instance, void* block) {
  if (block == nullptr) return;
  const stress::Stamp stamp = *static_cast<stress::Stamp*>(block);
  const size_t usable = talus::core::api::bounded_usable_size(instance, block);
  STRESS_CHECK(stamp.bytes <= usable, "%p says it has %zu bytes", block,
               static_cast<size_t>(stamp.bytes));
  stress::visit_words(block, stamp.bytes, [&](uint64_t& word, size_t i) {
    STRESS_CHECK(word == (stamp.seed ^ (i << 20)), "word %zu at %p", i, block);
  });
  *static_cast<stress::Stamp*>(block) = {~uint64_t{0}, 0};
  talus::core::api::bounded_free(instance, block);
}

void* make_filled(talus_bounded* instance, stress::Random& random) {
  const size_t bytes = 16 + random.below(250);
  void* block = random.below(8) == 0 ? talus::core::api::bounded_aligned_alloc(
                                           instance, size_t{16} << random.below(4), bytes)
                                     : talus::core::api::bounded_malloc(instance, bytes);
  stress::fill(block, bytes, random.next());
  return block;
}

// The child has one thread, and takes home what the others had in their caches.
void use_in_child(stress::Random& random) {
  const pid_t child = fork();
  STRESS_CHECK(child >= 0, "no child");
  if (child == 0) {
    void* blocks[200];
    for (void*& block : blocks) block = make_filled(shared, random);
    for (void* block : blocks) check_and_free(shared, block);
    const talus_bounded_numbers numbers = talus::core::api::bounded_stats(shared, SIZE_MAX);
    _exit(numbers.live_blocks <= numbers.blocks ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  STRESS_CHECK(status == 0, "status %d of a child", status);
}

// An instance of the thread's own, whose end takes blocks and cache along.
void use_own(stress::Random& random) {
  talus_bounded* own = make_instance_of(8192);
  const bool has_cache = random.below(2) == 0;
  if (has_cache) talus::core::api::bounded_cache_new(own, nullptr, TALUS_BOUNDED_WARM);
  void* blocks[300];
  for (void*& block : blocks) block = make_filled(own, random);
  size_t in_pools = 0;
  for (size_t i = 0; i < 300; i++) {
    const bool is_routed = talus::core::api::bounded_pool_of(own, blocks[i]) < 0;
    if (is_routed || i % 2 == 0) {
      check_and_free(own, blocks[i]);
    } else {
      in_pools++;
    }
  }
  const talus_bounded_numbers numbers = talus::core::api::bounded_stats(own, SIZE_MAX);
  STRESS_CHECK(numbers.live_blocks == in_pools, "%zu %zu", numbers.live_blocks, in_pools);
  talus::core::api::bounded_destroy(own);
}

void work(int index, const stress::Deadline& deadline) {
  stress::Random random{static_cast<uint64_t>(index)};
  size_t capacities[pools];
  while (!deadline.is_over()) {
    for (size_t& capacity : capacities) capacity = random.below(40);
    talus_bounded_cache* cache = nullptr;
    if (index % 3 != 0) {
      const auto start = static_cast<talus_bounded_start>(random.below(3));
      cache = talus::core::api::bounded_cache_new(shared, capacities, start);
      STRESS_CHECK(cache != nullptr, "no cache");
    }
    for (int i = 0; i < 3000; i++) {
      check_and_free(shared, exchange.swap(random, make_filled(shared, random)));
    }
    if (index == 1) use_own(random);
    if (index == 2 && !stress::is_under_tsan) use_in_child(random);
    const talus_bounded_numbers numbers =
        talus::core::api::bounded_stats(shared, random.below(pools));
    STRESS_CHECK(numbers.peak_blocks <= numbers.blocks, "%zu", numbers.peak_blocks);
    if (random.below(2) == 0) return;  // the cache ends with its thread
    talus::core::api::bounded_cache_destroy(cache);
  }
}

int run() {
  talus::core::process_starts();
  shared = make_instance_of(6000);
  const stress::Deadline deadline{0.8};
  while (!deadline.is_over()) {
    stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  }
  for (auto& slot : exchange.slots) check_and_free(shared, slot.exchange_acq_rel(nullptr));
  const talus_bounded_numbers numbers = talus::core::api::bounded_stats(shared, SIZE_MAX);
  printf("%llu hits, %llu misses, %llu overflows, %llu routed\n",
         static_cast<unsigned long long>(numbers.hits),
         static_cast<unsigned long long>(numbers.misses),
         static_cast<unsigned long long>(numbers.overflows),
         static_cast<unsigned long long>(numbers.routed));
  STRESS_CHECK(numbers.live_blocks == 0, "%zu", numbers.live_blocks);
  STRESS_CHECK(numbers.cached_blocks == 0, "%zu", numbers.cached_blocks);
  STRESS_CHECK(numbers.hits != 0 && numbers.overflows != 0 && numbers.routed != 0, "no pressure");
  talus::core::api::bounded_destroy(shared);
  talus::core::purge_beyond(0);
  STRESS_CHECK(talus::core::collect_totals().live() == 0, "%zu",
               talus::core::collect_totals().live());
  return 0;
}

const Program program{"bounded", run};

}  // namespace stress::bounded
