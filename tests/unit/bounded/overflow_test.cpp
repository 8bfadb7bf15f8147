// SPDX-License-Identifier: MIT
// tests/unit/bounded/overflow: used-up pools, larger pools, the fallback, alignment and resizing.
#include "bounded/bounded_test.hpp"

namespace talus::core {
namespace {

class BoundedOverflow : public test::BoundedTest {
 protected:
  static constexpr size_t pools = 6;  // 16 to 96 bytes
  std::vector<void*> blocks;

  void SetUp() override { instance = make(pools, 960); }  // 60, 30, 20, 15, 12, 10 blocks
  void TearDown() override {
    for (void* block : blocks) give(block);
    EXPECT_EQ(sums().live_blocks, 0u);
    BoundedTest::TearDown();
  }
  void* keep(void* block) {
    blocks.push_back(block);
    return block;
  }
  int pool_of(const void* block) { return api::bounded_pool_of(instance, block); }
};

TEST_F(BoundedOverflow, GoesUpThreePoolsAndThenToTheFallback) {
  const int used_pools[] = {0, 1, 2, 3, -1};
  const size_t counts[] = {60, 30, 20, 15, 5};
  for (int step = 0; step < 5; step++) {
    for (size_t i = 0; i < counts[step]; i++) {
      ASSERT_EQ(pool_of(keep(take(9))), used_pools[step]) << step << " " << i;
    }
  }
  EXPECT_EQ(stats(0).misses, 60u);
  EXPECT_EQ(stats(0).overflows, 65u);
  EXPECT_EQ(stats(0).routed, 5u);
  EXPECT_EQ(stats(1).misses + stats(1).hits + stats(1).overflows, 0u);
  EXPECT_EQ(stats(1).live_blocks, 30u);
  EXPECT_EQ(fallback.allocs, 5u);
  for (size_t pool = 0; pool < 4; pool++) EXPECT_EQ(stats(pool).live_blocks, stats(pool).blocks);
  // A pool that gets one back serves again.
  give(blocks[3]);
  blocks[3] = take(16);
  EXPECT_EQ(pool_of(blocks[3]), 0);
}

TEST_F(BoundedOverflow, BlocksAreApartAndWithinBudget) {
  std::set<char*> starts;
  for (size_t bytes = 1; bytes <= 96; bytes += 5) {
    for (int i = 0; i < 12; i++) {
      auto* block = static_cast<char*>(keep(take(bytes)));
      ASSERT_GE(api::bounded_usable_size(instance, block), bytes);
      memset(block, static_cast<int>(blocks.size()), api::bounded_usable_size(instance, block));
      starts.insert(block);
    }
  }
  EXPECT_EQ(starts.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); i++) {
    const auto* block = static_cast<unsigned char*>(blocks[i]);
    const size_t usable = api::bounded_usable_size(instance, block);
    ASSERT_EQ(block[0], static_cast<unsigned char>(i + 1));
    ASSERT_EQ(block[usable - 1], static_cast<unsigned char>(i + 1));
  }
  EXPECT_LE(sums().peak_blocks, 147u);
  EXPECT_EQ(sums().misses + sums().overflows + sums().routed, blocks.size());
}

TEST_F(BoundedOverflow, CachesOfLargerClassesServeToo) {
  ASSERT_NE(cache(nullptr, TALUS_BOUNDED_HOT), nullptr);
  for (int i = 0; i < 61; i++) keep(take(16));
  EXPECT_EQ(pool_of(blocks.back()), 1);
  EXPECT_EQ(stats(0).hits, 60u);
  EXPECT_EQ(stats(0).overflows, 1u);
  EXPECT_EQ(stats(1).hits, 0u);
  EXPECT_EQ(stats(1).cached_blocks, 29u);
  EXPECT_EQ(stats(1).live_blocks, 1u);
}

TEST_F(BoundedOverflow, WhatNoPoolIsForIsRouted) {
  for (const size_t bytes : {size_t{97}, size_t{5000}, small_bytes_max, small_bytes_max + 1}) {
    EXPECT_EQ(pool_of(keep(take(bytes))), -1);
  }
  EXPECT_EQ(sums().routed, 4u);
  EXPECT_EQ(stats(5).routed, 0u);
  EXPECT_EQ(stats(pools).blocks, 0u);
  EXPECT_EQ(pool_of(keep(take(0))), 0);
}

TEST_F(BoundedOverflow, AlignmentIsKeptThroughOverflow) {
  for (int i = 0; i < 60; i++) {
    void* block = keep(api::bounded_aligned_alloc(instance, 32, 10));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 32, 0u);
    const int pool = pool_of(block);
    ASSERT_TRUE(pool == 1 || pool == 3 || pool == 5 || pool == -1) << pool;
  }
  EXPECT_EQ(stats(1).overflows, 25u);
  EXPECT_EQ(stats(1).routed, 5u);
  void* page = keep(api::bounded_aligned_alloc(instance, 8192, 10));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(page) % 8192, 0u);
  EXPECT_EQ(api::bounded_aligned_alloc(instance, 24, 10), nullptr);
  EXPECT_EQ(errno, EINVAL);
  keep(api::bounded_aligned_alloc(instance, 1, 10));
}

TEST_F(BoundedOverflow, ErrnoIsThatOfTheContract) {
  fallback.is_empty = true;
  errno = 0;
  EXPECT_EQ(take(1000), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(api::bounded_calloc(instance, SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  fallback.is_empty = false;
  errno = 7;
  void* block = take(1000);
  EXPECT_EQ(api::bounded_usable_size(instance, block), 1000u);
  block = api::bounded_realloc(instance, block, 3000);
  give(block);
  give(take(16));
  give(nullptr);
  EXPECT_EQ(api::bounded_usable_size(instance, nullptr), 0u);
  EXPECT_EQ(errno, 7);
  fallback.is_empty = true;
  block = take(50);
  EXPECT_EQ(api::bounded_realloc(instance, block, 500), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  give(block);
  fallback.is_empty = false;
}

TEST_F(BoundedOverflow, CallocClearsWhatWasUsed) {
  void* used = take(96);
  memset(used, 1, 96);
  give(used);
  auto* block = static_cast<char*>(keep(api::bounded_calloc(instance, 12, 8)));
  EXPECT_EQ(block, used);
  for (size_t i = 0; i < 96; i++) ASSERT_EQ(block[i], 0);
  auto* routed = static_cast<char*>(keep(api::bounded_calloc(instance, 100, 10)));
  for (size_t i = 0; i < 1000; i++) ASSERT_EQ(routed[i], 0);
}

TEST_F(BoundedOverflow, ReallocStaysOrMovesEitherWay) {
  auto* block = static_cast<char*>(api::bounded_realloc(instance, nullptr, 30));
  for (char i = 0; i < 30; i++) block[int{i}] = i;
  const auto is_kept = [&block](int count) {
    for (int i = 0; i < count; i++) {
      if (block[i] != i) return false;
    }
    return true;
  };
  const auto resize = [&](size_t bytes) {
    block = static_cast<char*>(api::bounded_realloc(instance, block, bytes));
    return pool_of(block);
  };
  void* before = block;
  EXPECT_EQ(resize(17), 1);
  EXPECT_EQ(block, before);
  EXPECT_EQ(resize(32), 1);
  EXPECT_EQ(block, before);
  EXPECT_EQ(resize(80), 4);
  EXPECT_TRUE(is_kept(30));
  EXPECT_EQ(resize(50), 4);  // more than half of it
  EXPECT_EQ(resize(500), -1);
  EXPECT_TRUE(is_kept(30));
  EXPECT_EQ(fallback.live.size(), 1u);
  EXPECT_EQ(resize(5000), -1);
  EXPECT_EQ(fallback.reallocs, 1u);
  EXPECT_TRUE(is_kept(30));
  EXPECT_EQ(resize(90), 5);
  EXPECT_TRUE(is_kept(30));
  EXPECT_EQ(fallback.live.size(), 0u);
  EXPECT_EQ(resize(5), 0);
  EXPECT_TRUE(is_kept(5));
  block = static_cast<char*>(api::bounded_aligned_realloc(instance, block, 64, 60));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_TRUE(is_kept(5));
  EXPECT_EQ(api::bounded_aligned_realloc(instance, block, 3, 60), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(api::bounded_realloc(instance, block, 0), nullptr);
  EXPECT_EQ(sums().live_blocks, 0u);
}

TEST_F(BoundedOverflow, AShrinkingBlockStaysWhereNothingElseIsLeft) {
  void* large = take(96);
  fallback.is_empty = true;
  while (void* block = take(16)) keep(block);
  EXPECT_EQ(api::bounded_realloc(instance, large, 16), large);
  give(large);
  fallback.is_empty = false;
}

TEST(BoundedDefaults, TheHeapIsTheFallback) {
  const talus_bounded_options options{2, 4096, nullptr, nullptr, 0};
  talus_bounded* instance = api::bounded_new(&options);
  auto* block = static_cast<char*>(api::bounded_malloc(instance, 100));
  memset(block, 5, 100);
  EXPECT_EQ(api::malloc_usable_size(block), api::bounded_usable_size(instance, block));
  block = static_cast<char*>(api::bounded_realloc(instance, block, 200000));
  EXPECT_EQ(block[99], 5);
  block = static_cast<char*>(api::bounded_aligned_realloc(instance, block, 65536, 300000));
  EXPECT_EQ(block[99], 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 65536, 0u);
  api::free(block);  // it is one of the heap's
  block = static_cast<char*>(api::bounded_calloc(instance, 1000, 1000));
  EXPECT_EQ(block[999999], 0);
  api::bounded_free(instance, block);
  EXPECT_EQ(api::bounded_malloc(instance, SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(api::bounded_aligned_alloc(instance, size_t{1} << 63, 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(api::bounded_stats(instance, SIZE_MAX).routed, 6u);
  api::bounded_destroy(instance);
}

}  // namespace
}  // namespace talus::core
