// SPDX-License-Identifier: MIT
// tests/unit/api/batch: many blocks at once: all are good blocks, take fewer round trips to the
// heap's lock than single calls, and cross threads and forks as single ones do.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "busy_threads.hpp"
#include "api/extended.hpp"
#include "effort.hpp"
#include "modes/counting.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

std::vector<void*> batch_of(size_t bytes, size_t count) {
  std::vector<void*> blocks(count);
  EXPECT_EQ(api::malloc_batch(bytes, count, blocks.data()), count);
  return blocks;
}

TEST(Batch, GivesDistinctBlocksOfEverySize) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{1000}, size_t{20000},
                             small_bytes_max, small_bytes_max + 1, size_t{200000}}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{100}, size_t{1500}}) {
      if (bytes * count > 64 * mib) continue;
      std::vector<void*> blocks = batch_of(bytes, count);
      for (size_t i = 0; i < count; i++) {
        ASSERT_NE(blocks[i], nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(blocks[i]) % block_alignment, 0u);
        ASSERT_GE(usable_size(blocks[i]), bytes);
        test::fill_pattern(blocks[i], bytes, i);
      }
      for (size_t i = 0; i < count; i++) {
        ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i)) << bytes << " " << i;
      }
      EXPECT_EQ((std::set<void*>{blocks.begin(), blocks.end()}).size(), count);
      api::free_batch(blocks.data(), count);
    }
    EXPECT_EQ(test::live_bytes(), 0u) << bytes;
  }
  EXPECT_TRUE(test::space_is_sound());
}

// What single calls take and give may meet in any order.
TEST(Batch, MixesWithSingleCalls) {
  test::Random random{test::seed_of("Batch.Mixes")};
  std::vector<void*> live;
  for (size_t round = 0; round < test::rounds_of(2000) + 20; round++) {
    const size_t bytes = random.of_any_length(random.below(8) == 0 ? 17 : 12);
    const size_t count = 1 + random.below(60);
    if (random.below(2) == 0) {
      const std::vector<void*> more = batch_of(bytes, count);
      live.insert(live.end(), more.begin(), more.end());
    } else {
      for (size_t i = 0; i < count; i++) live.push_back(api::malloc(bytes));
    }
    std::vector<void*> going;
    for (size_t i = random.below(80); i > 0 && !live.empty(); i--) {
      std::swap(live[random.below(live.size())], live.back());
      going.push_back(live.back());
      live.pop_back();
      if (random.below(10) == 0) going.push_back(nullptr);
    }
    if (random.below(2) == 0) {
      api::free_batch(going.data(), going.size());
    } else {
      for (void* block : going) free_block(block);
    }
  }
  ASSERT_EQ((std::set<void*>{live.begin(), live.end()}).size(), live.size());
  api::free_batch(live.data(), live.size());
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// Round trips that filling lists took: each takes blocks from slabs once or more often.
TEST(Batch, TakesFewerRoundTripsThanSingleCalls) {
  constexpr size_t count = 20000;
  ThreadCache& cache = test::own_cache();
  flush_all(cache);
  uint32_t before = cache.heap->refills;
  std::vector<void*> blocks;
  for (size_t i = 0; i < count; i++) blocks.push_back(api::malloc(64));
  const uint32_t single = cache.heap->refills - before;
  api::free_batch(blocks.data(), count);
  flush_all(cache);
  before = cache.heap->refills;
  blocks = batch_of(64, count);
  const uint32_t batched = cache.heap->refills - before;
  EXPECT_LT(batched, single);
  EXPECT_LE(batched, count / batch_blocks_max + count * 64 / slice_bytes + 4);
  api::free_batch(blocks.data(), count);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What a list holds is used before slabs are, and filled before them.
TEST(Batch, UsesTheListFirst) {
  ThreadCache& cache = test::own_cache();
  flush_all(cache);
  void* last = api::malloc(48);
  free_block(last);
  void* block = nullptr;
  EXPECT_EQ(api::malloc_batch(48, 1, &block), 1u);
  EXPECT_EQ(block, last);
  api::free_batch(&block, 1);
  EXPECT_EQ(api::malloc(48), last);
  free_block(last);
}

TEST(Batch, ErrorsAndNothing) {
  errno = 5;
  EXPECT_EQ(api::malloc_batch(10, 0, nullptr), 0u);
  api::free_batch(nullptr, 0);
  void* nulls[3] = {};
  api::free_batch(nulls, 3);
  EXPECT_EQ(errno, 5);
  void* blocks[4];
  EXPECT_EQ(api::malloc_batch(SIZE_MAX, 4, blocks), 0u);
  EXPECT_EQ(errno, ENOMEM);
}

// At a limit: as many as there is room for, and these are good.
TEST(Batch, EndsWhereMemoryEnds) {
  test::live_bytes();
  std::vector<void*> blocks(10000);
  limits.set({0, collect_totals().space.given_bytes + 4 * mib});
  errno = 0;
  const size_t made = api::malloc_batch(1000, blocks.size(), blocks.data());
  EXPECT_EQ(errno, ENOMEM);
  limits.set({0, 0});
  EXPECT_GT(made, 1000u);
  EXPECT_LT(made, blocks.size());
  for (size_t i = 0; i < made; i++) memset(blocks[i], 1, 1000);
  EXPECT_EQ((std::set<void*>{blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(made)}).size(),
            made);
  api::free_batch(blocks.data(), made);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Each thread frees what its neighbour allocated, in batches of all sizes mixed.
TEST(Batch, CrossesThreads) {
  constexpr size_t thread_count = 4, sizes = 12;
  const size_t rounds = test::rounds_of(40) + 2;
  std::vector<std::vector<void*>> blocks(thread_count);
  for (size_t round = 0; round < rounds; round++) {
    test::on_threads(thread_count, [&](size_t self) {
      std::vector<void*> mine;
      for (size_t i = 0; i < sizes; i++) {
        const std::vector<void*> more = batch_of(i * i * 300, 100);
        for (void* block : more) memset(block, static_cast<int>(self), i == 0 ? 0 : 64);
        mine.insert(mine.end(), more.begin(), more.end());
      }
      blocks[self] = mine;
    });
    test::on_threads(thread_count, [&](size_t self) {
      std::vector<void*>& others = blocks[(self + 1) % thread_count];
      for (size_t i = sizes; i < others.size(); i++) std::swap(others[i], others[i * 7 % i]);
      api::free_batch(others.data(), others.size());
    });
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// What others freed and delivered comes home before slabs are asked.
TEST(Batch, BringsDeliveredBlocksHome) {
  Heap& heap = *test::own_cache().heap;
  std::vector<void*> blocks = batch_of(64, 4 * RemoteMessage::blocks_max);
  Atomic<bool> is_freed, may_end;
  std::thread other{[&] {
    api::free_batch(blocks.data(), blocks.size());
    is_freed.store_release(true);
    while (!may_end.load_acquire()) std::this_thread::yield();
  }};
  while (!is_freed.load_acquire()) std::this_thread::yield();
  std::vector<void*> more = batch_of(1000, 2000);
  EXPECT_TRUE(heap.remote_queue.is_empty());
  may_end.store_release(true);
  other.join();
  api::free_batch(more.data(), more.size());
  EXPECT_EQ(test::live_bytes(), 0u);
}

// ... and before a new slab is begun, also where slabs had a few blocks at first.
TEST(Batch, BringsDeliveredBlocksHomeBeforeANewSlab) {
  constexpr size_t bytes = 64, few = 10, freed = 3 * RemoteMessage::blocks_max;
  static_assert(freed * bytes < remote_wait_bytes);
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  ThreadCache& cache = test::own_cache();
  Heap& heap = *cache.heap;
  const SlabBins& available = heap.available[index_of(class_of(bytes))];
  std::vector<void*> blocks = batch_of(bytes, freed);
  std::vector<void*> own = batch_of(bytes, few);
  while (available.fullest() != nullptr) own.push_back(batch_of(bytes, 1)[0]);
  api::free_batch(own.data(), few);
  own.erase(own.begin(), own.begin() + few);
  flush_all(cache);
  Atomic<bool> is_freed, may_end;
  std::thread other{[&] {
    api::free_batch(blocks.data(), blocks.size());
    is_freed.store_release(true);
    while (!may_end.load_acquire()) std::this_thread::yield();
  }};
  while (!is_freed.load_acquire()) std::this_thread::yield();
  EXPECT_NE(available.fullest(), nullptr);
  EXPECT_FALSE(heap.remote_queue.is_empty());
  const size_t slabs_before = heap.slab_count;
  std::vector<void*> more = batch_of(bytes, 10 * few);
  EXPECT_TRUE(heap.remote_queue.is_empty());
  EXPECT_EQ(heap.slab_count, slabs_before);
  may_end.store_release(true);
  other.join();
  api::free_batch(own.data(), own.size());
  api::free_batch(more.data(), more.size());
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The child of a fork that other threads' batches were on their way at uses the heap.
TEST(Batch, CrossesAFork) {
  process_starts();
  std::vector<void*> blocks = batch_of(100, 3000);
  test::BusyThreads other(1, [](size_t) {
    return [] {
      std::vector<void*> some = batch_of(200, 700);
      api::free_batch(some.data(), some.size());
    };
  });
  for (size_t round = 0; round < test::rounds_of(20) + 2; round++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      api::free_batch(blocks.data(), blocks.size());
      void* own[500];
      if (api::malloc_batch(200, 500, own) != 500) _exit(1);
      api::free_batch(own, 500);
      purge_beyond(0);
      _exit(test::space_is_sound() ? 0 : 2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << round;
  }
  other.end();
  api::free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A mode that counts sees each block once.
TEST(Batch, IsCounted) {
  test::own_cache();
  begin_mode(counting::mode);
  const counting::Counts start = counting::collect();
  std::vector<void*> blocks = batch_of(100, 1000);
  const counting::Counts between = counting::collect();
  EXPECT_EQ(between.allocation_sum - start.allocation_sum, 1000u);
  EXPECT_EQ(between.live_bytes - start.live_bytes, 1000 * 112);
  api::free_batch(blocks.data(), blocks.size());
  void* one = api::realloc_no_preserve(api::rezalloc(nullptr, 50), 5000);
  EXPECT_EQ(api::expand_in_place(one, 5001), one);
  free_block(one);
  const counting::Counts end = counting::collect();
  EXPECT_EQ(end.frees - between.frees, end.allocation_sum - between.allocation_sum + 1000u);
  EXPECT_EQ(end.live_bytes, start.live_bytes);
  switch_off(counting::mode);
}

}  // namespace
}  // namespace talus::core
