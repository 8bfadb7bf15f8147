// SPDX-License-Identifier: MIT
// stress/instances: threads allocate from one instance and free each other's blocks, while others
// make, fill, walk, delete and destroy their own, one trims, and a few work without a cache.
#include "stress.hpp"

#include "api/heaps.hpp"

namespace stress::instances {

constexpr int thread_count = 8;
stress::Exchange<256> exchange;
talus_heap* shared = nullptr;

// A filled block of a heap; the words at its start say how large it is.
void* make_filled_in(talus_heap* heap, stress::Random& random, size_t bytes) {
  void* block = talus::core::api::heap_malloc(heap, bytes);
  if (block != nullptr) stress::fill(block, bytes, random.next());
  return block;
}

int check_visited(const talus_heap_area*, void* block, void* context) {
  if (block == nullptr) return 0;
  stress::check(block);
  ++*static_cast<size_t*>(context);
  return 0;
}

// Blocks in and out of the shared one, by way of all threads.
void use_shared(stress::Random& random) {
  void* block = make_filled_in(shared, random, random.size(200 * stress::kib));
  void* found = exchange.swap(random, block);
  if (found != nullptr && random.below(4) == 0) {
    found = stress::resize_filled(found, random.size(100 * stress::kib), random);
    STRESS_CHECK(talus::core::api::heap_of(found) == shared, "%p", found);
  }
  stress::check_and_release(found);
}

// Every second one has pages of its own.
talus_heap* make_heap(stress::Random& random) {
  talus_heap_options options{};
  options.flags = random.below(2) == 0 ? TALUS_HEAP_OWN_PAGES : 0;
  return talus::core::api::heap_new(&options);
}

// A heap of the thread's own, from its beginning to one of its ends.
void use_own(stress::Random& random) {
  constexpr size_t count_max = 60;
  talus_heap* own = make_heap(random);
  STRESS_CHECK(own != nullptr, "no heap");
  void* blocks[count_max];
  const size_t count = random.below(count_max);
  for (size_t i = 0; i < count; i++) {
    blocks[i] = make_filled_in(own, random, random.size(60 * stress::kib));
  }
  size_t freed = 0;
  for (; freed < count / 2; freed++) stress::check_and_release(blocks[freed]);
  size_t seen = 0;
  talus::core::api::heap_walk(own, check_visited, &seen);
  STRESS_CHECK(seen == count - freed, "%zu %zu", seen, count - freed);
  if (random.below(3) != 0) return talus::core::api::heap_destroy(own);
  STRESS_CHECK(talus::core::api::heap_delete(own) == 0, "no heap to take the blocks");
  for (size_t i = freed; i < count; i++) stress::check_and_release(blocks[i]);
}

// What statistics read while others are inside.
void look() {
  talus::core::InstanceTotals one;
  for (size_t next = 0; talus::core::collect_instances(next, &one, 1) == 1;) {
    STRESS_CHECK(one.live() + one.free + one.slab_ends == one.total(), "%zu", one.number);
  }
  talus::core::collect_totals();
}

void work(int index, const stress::Deadline& deadline) {
  if (index == 1) talus::core::set_context(talus::core::ended_context);
  stress::Random random{static_cast<uint64_t>(index)};
  while (!deadline.is_over()) {
    for (int i = 0; i < 20; i++) use_shared(random);
    if (index % 2 == 0) use_own(random);
    if (index == 0 && random.below(16) == 0) talus::core::purge_beyond(0);
    if (index == 3 && random.below(16) == 0) look();
  }
}

// Blocks that pass through messages of others while their heap loses its owner.
void free_while_deleted() {
  constexpr size_t count = 400;
  static void* blocks[count];
  static uint64_t round;
  stress::Random random{round++};
  talus_heap* own = make_heap(random);
  for (size_t i = 0; i < count; i++) {
    blocks[i] = make_filled_in(own, random, random.size(50 * stress::kib));
  }
  stress::run_threads(3, [own](int index) {
    if (index == 2) {
      STRESS_CHECK(talus::core::api::heap_delete(own) == 0, "no heap to take the blocks");
      return;
    }
    for (size_t i = static_cast<size_t>(index); i < count; i += 2) {
      stress::check_and_release(blocks[i]);
    }
  });
}

int run() {
  talus::core::process_starts();
  shared = talus::core::api::heap_new(nullptr);
  const stress::Deadline deadline{0.7};
  stress::run_threads(thread_count, [&deadline](int index) { work(index, deadline); });
  const stress::Deadline end{0.3};
  while (!end.is_over()) free_while_deleted();
  exchange.empty();
  STRESS_CHECK(talus::core::api::heap_stats(shared).live_blocks == 0, "%zu",
               talus::core::api::heap_stats(shared).live_blocks);
  talus::core::api::heap_destroy(shared);
  talus::core::purge_beyond(0);
  const talus::core::HeapTotals totals = talus::core::collect_totals();
  printf("%zu heaps, %zu instances, %zu bytes live\n", totals.heap_count, totals.instance_count,
         totals.live());
  STRESS_CHECK(totals.live() == 0, "%zu", totals.live());
  STRESS_CHECK(totals.instance_count == 0, "%zu", totals.instance_count);
  return 0;
}

const Program program{"instances", run};

}  // namespace stress::instances
