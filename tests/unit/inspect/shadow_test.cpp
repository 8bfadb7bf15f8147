// SPDX-License-Identifier: MIT
// tests/unit/inspect/shadow: statistics against an exact shadow of what the program holds. The
// program allocates itself and in instances, with remote frees, ends of threads and forks. Parts
// sum to their totals at each look.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// Usable bytes and blocks by class of what is held, counted by the test itself.
struct Live {
  size_t small = 0, large = 0, large_count = 0;
  size_t inside = 0;  // of these bytes, in instances
  size_t blocks[class_count] = {};

  void count(void* block, bool is_taken) {
    const size_t bytes = usable_size(block);
    const size_t sign = is_taken ? 1 : ~size_t{0};
    if (instance_of(block) != 0) inside += sign * bytes;
    if (facts_of(block, "a test").large != nullptr) {
      large += sign * bytes;
      large_count += sign;
      return;
    }
    small += sign * bytes;
    blocks[index_of(class_of(bytes))] += sign;
  }
  void add(const Live& other) {
    small += other.small;
    large += other.large;
    large_count += other.large_count;
    inside += other.inside;
    for (size_t i = 0; i < class_count; i++) blocks[i] += other.blocks[i];
  }
};

// What holds at every look, whatever other threads do meanwhile.
bool sums_up(const HeapTotals& totals) {
  const size_t parts = totals.live_small + totals.live_large + totals.listed + totals.on_their_way +
                       totals.free_in_slabs + totals.slab_ends + totals.kept_large +
                       totals.large_ends;
  size_t live = 0, listed = 0, remote = 0, free = 0, slabs = 0;
  for (size_t i = 0; i < class_count; i++) {
    const SizeClass& row = size_class_rows.rows[i];
    const ClassTotals& blocks = totals.classes[i];
    live += blocks.live * row.block_bytes;
    listed += blocks.listed * row.block_bytes;
    remote += blocks.remote * row.block_bytes;
    free += blocks.free * row.block_bytes;
    slabs += blocks.slabs;
    const size_t all = blocks.live + blocks.listed + blocks.remote + blocks.free;
    if (all != blocks.slabs * row.block_count) return false;
  }
  const auto is_negative = [](size_t value) { return value >> 62 != 0; };
  const bool is_sane = !is_negative(totals.live_small) && !is_negative(totals.live_large) &&
                       !is_negative(totals.live_large_count) && !is_negative(totals.kept_large) &&
                       !is_negative(totals.large_ends) && !is_negative(free);
  return is_sane && parts == totals.total_bytes && live == totals.live_small &&
         listed == totals.listed && remote == totals.on_their_way && free == totals.free_in_slabs &&
         slabs == totals.slab_count &&
         totals.space.given_bytes + totals.dirty + totals.clean + totals.purging ==
             totals.space.reserved_bytes;
}

// At a quiet point. 0: all is exact, else the number of what is wrong.
int compare(const HeapTotals& totals, const Live& held) {
  if (!sums_up(totals)) return 1;
  if (totals.live_small != held.small) return 2;
  if (totals.live_large != held.large) return 3;
  if (totals.live_large_count != held.large_count) return 4;
  for (size_t i = 0; i < class_count; i++) {
    if (totals.classes[i].live != held.blocks[i]) return 5;
  }
  if (totals.total_bytes != totals.space.given_bytes) return 6;
  size_t count = 0, live = 0, total = 0, next = 0;
  for (InstanceTotals one; collect_instances(next, &one, 1) == 1; count++) {
    if (one.live() + one.free + one.slab_ends != one.total()) return 7;
    live += one.live();
    total += one.total();
  }
  if (count != totals.instance_count || live != held.inside) return 8;
  if (live != totals.instance_live || total != totals.instance_total) return 9;
  return 0;
}

// Takes and frees blocks of all sizes, also in an instance, among them blocks that others took.
void work(test::Random& random, std::vector<void*>& blocks, Live& held, size_t rounds,
          talus_heap* instance = nullptr) {
  for (size_t round = 0; round < rounds; round++) {
    if (blocks.size() < 200 || (blocks.size() < 3000 && random.below(2) == 0)) {
      const size_t bytes = random.of_any_length(random.below(8) == 0 ? 20 : 14);
      const bool is_inside = instance != nullptr && random.below(3) == 0;
      void* block = is_inside ? api::heap_malloc(instance, bytes) : allocate(bytes);
      held.count(block, true);
      blocks.push_back(block);
    } else {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      held.count(blocks.back(), false);
      free_block(blocks.back());
      blocks.pop_back();
    }
  }
}

TEST(Shadow, ExactThroughRemoteFreesEndsOfThreadsAndForks) {
  test::begin_forks();
  test::live_bytes();
  ASSERT_EQ(compare(collect_totals(), Live{}), 0);
  test::Random random{test::seed_of("Shadow")};
  constexpr size_t thread_count = 4, instance_count = 3;
  talus_heap* instances[instance_count];
  for (talus_heap*& instance : instances) instance = api::heap_new(nullptr);
  std::vector<void*> blocks[thread_count];
  Live held[thread_count];
  const size_t rounds = test::rounds_of(20000) + 300;
  for (int generation = 0; generation < 6; generation++) {
    // Each thread goes on with what another one took in the last generation, and ends.
    const uint64_t seed = random.next();
    test::on_threads(thread_count, [&](size_t self) {
      test::Random own{seed + self};
      const size_t from = (self + static_cast<size_t>(generation)) % thread_count;
      work(own, blocks[from], held[from], rounds, instances[self % instance_count]);
    });
    // Frees of this thread stay in its batches: they are on their way, and known.
    work(random, blocks[0], held[0], 100);
    Live all;
    for (const Live& one : held) all.add(one);
    ASSERT_EQ(compare(collect_totals(), all), 0) << "in generation " << generation;
    if (test::under_tsan) continue;
    const pid_t child = fork();
    if (child == 0) {
      int wrong = compare(collect_totals(), all);
      for (size_t i = 0; i < 50 && wrong == 0; i++) {
        all.count(blocks[0].back(), false);
        free_block(blocks[0].back());
        blocks[0].pop_back();
      }
      if (wrong == 0 && compare(collect_totals(), all) != 0) wrong = 10;
      _exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "in the child, " << WEXITSTATUS(status);
  }
  for (std::vector<void*>& some : blocks) {
    for (void* block : some) free_block(block);
  }
  EXPECT_EQ(compare(collect_totals(), Live{}), 0);
  for (talus_heap* instance : instances) api::heap_destroy(instance);
  EXPECT_EQ(compare(collect_totals(), Live{}), 0);
}

// A fork leaves behind what its threads held: in the child, blocks in lists and batches are free.
TEST(Shadow, ChildOfAForkBesideWorkingThreads) {
  if (test::under_tsan || test::under_asan) GTEST_SKIP() << "forks beside threads";
  test::begin_forks();
  test::live_bytes();
  Atomic<bool> stop;
  std::vector<std::thread> threads;
  for (uint64_t self = 0; self < 3; self++) {
    threads.emplace_back([&stop, self] {
      test::Random random{self};
      std::vector<void*> blocks;
      Live held;
      while (!stop.load_relaxed()) work(random, blocks, held, 50);
      for (void* block : blocks) free_block(block);
    });
  }
  std::vector<void*> own;
  for (int i = 0; i < 20000; i++) own.push_back(allocate(1000));
  const size_t expected = own.size() * usable_size(own[0]);
  for (int i = 0; i < 20; i++) {
    const pid_t child = fork();
    if (child == 0) {
      const HeapTotals before = collect_totals();
      for (void* block : own) free_block(block);
      const HeapTotals after = collect_totals();
      const size_t freed = before.live() - after.live();
      const size_t off = freed > expected ? freed - expected : expected - freed;
      _exit(!sums_up(before) ? 1 : !sums_up(after) ? 2 : off * 100 > expected ? 3 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  }
  stop.store_relaxed(true);
  for (std::thread& thread : threads) thread.join();
  for (void* block : own) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Shadow, LooksAtAWorkingHeapSumUp) {
  Atomic<bool> stop;
  Atomic<size_t> wrong;
  std::thread asker{[&] {
    while (!stop.load_relaxed()) {
      if (!sums_up(collect_totals())) wrong.store_relaxed(wrong.load_relaxed() + 1);
    }
  }};
  std::vector<void*> shared[3];
  for (int generation = 0; generation < 3; generation++) {
    test::on_threads(3, [&](size_t self) {
      test::Random random{self};
      Live held;
      const size_t from = (self + static_cast<size_t>(generation)) % 3;
      work(random, shared[from], held, test::rounds_of(60000) + 300);
    });
  }
  stop.store_relaxed(true);
  asker.join();
  EXPECT_EQ(wrong.load_relaxed(), 0u);
  for (std::vector<void*>& some : shared) {
    for (void* block : some) free_block(block);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
