// SPDX-License-Identifier: MIT
// tests/unit/bounded/caches: what thread caches hold, what is counted, and where blocks go when a
// cache ends, with its thread or before.
#include "bounded/bounded_test.hpp"
#include "late.hpp"

namespace talus::core {
namespace {

class BoundedCaches : public test::BoundedTest {
 protected:
  static constexpr size_t pools = 4;
  void SetUp() override { instance = make(pools, 64 * kib); }
};

TEST_F(BoundedCaches, ColdWarmAndHot) {
  const size_t capacities[pools] = {100, 1000, 0, 5000};
  const size_t all[] = {4096, 2048, 1365, 1024};
  for (const auto start : {TALUS_BOUNDED_COLD, TALUS_BOUNDED_WARM, TALUS_BOUNDED_HOT}) {
    talus_bounded_cache* made = cache(capacities, start);
    ASSERT_NE(made, nullptr);
    for (size_t pool = 0; pool < pools; pool++) {
      const size_t room = capacities[pool] < all[pool] ? capacities[pool] : all[pool];
      EXPECT_EQ(stats(pool).cached_blocks, room * start / 2) << pool;
      EXPECT_EQ(stats(pool).blocks, all[pool]);
      EXPECT_EQ(stats(pool).live_blocks, 0u);
    }
    api::bounded_cache_destroy(made);
    EXPECT_EQ(sums().cached_blocks, 0u);
  }
  EXPECT_EQ(sums().hits + sums().misses, 0u);
  EXPECT_EQ(stats(3).peak_blocks, 1024u);
}

TEST_F(BoundedCaches, HitsAndMissesAreExact) {
  const size_t capacities[pools] = {16, 16, 16, 16};
  ASSERT_NE(cache(capacities), nullptr);
  std::vector<void*> blocks;
  for (int i = 0; i < 17; i++) blocks.push_back(take(32));  // batches of 8
  EXPECT_EQ(stats(1).misses, 3u);
  EXPECT_EQ(stats(1).hits, 14u);
  EXPECT_EQ(stats(1).live_blocks, 17u);
  EXPECT_EQ(stats(1).cached_blocks, 7u);
  EXPECT_EQ(stats(1).peak_blocks, 24u);
  for (void* block : blocks) give(block);
  EXPECT_EQ(stats(1).live_blocks, 0u);
  EXPECT_LE(stats(1).cached_blocks, 16u);
  EXPECT_EQ(sums().hits, 14u);
  EXPECT_EQ(sums().misses, 3u);
  EXPECT_EQ(sums().routed + sums().overflows, 0u);
}

TEST_F(BoundedCaches, TheBlockFreedLastComesFirst) {
  ASSERT_NE(cache(nullptr), nullptr);
  void* first = take(20);
  void* second = take(20);
  give(first);
  give(second);
  EXPECT_EQ(take(20), second);
  EXPECT_EQ(take(17), first);
}

TEST_F(BoundedCaches, BothEntryPointsUseOneList) {
  talus_bounded_cache* made = cache(nullptr);
  void* block = api::bounded_cache_malloc(made, 48);
  EXPECT_EQ(api::bounded_pool_of(instance, block), 2);
  give(block);
  EXPECT_EQ(api::bounded_cache_malloc(made, 48), block);
  api::bounded_cache_free(made, block);
  EXPECT_EQ(take(48), block);
  give(block);
  api::bounded_cache_free(made, nullptr);
  void* large = api::bounded_cache_malloc(made, 100000);
  EXPECT_EQ(api::bounded_pool_of(instance, large), -1);
  api::bounded_cache_free(made, large);
  EXPECT_EQ(fallback.frees, 1u);
}

TEST_F(BoundedCaches, OneForEachThreadAndInstance) {
  ASSERT_NE(cache(nullptr), nullptr);
  errno = 0;
  EXPECT_EQ(cache(nullptr), nullptr);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(cache(nullptr, static_cast<talus_bounded_start>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  talus_bounded* other = make(pools, 64 * kib);
  talus_bounded_cache* second = api::bounded_cache_new(other, nullptr, TALUS_BOUNDED_HOT);
  EXPECT_NE(second, nullptr);
  void* block = api::bounded_malloc(other, 16);
  EXPECT_EQ(api::bounded_pool_of(other, block), 0);
  EXPECT_EQ(api::bounded_pool_of(instance, block), -1);
  EXPECT_EQ(sums().hits, 0u);
  EXPECT_EQ(api::bounded_stats(other, 0).hits, 1u);
  std::thread([&] { EXPECT_NE(cache(nullptr), nullptr); }).join();
  api::bounded_destroy(other);
}

TEST_F(BoundedCaches, EndWithTheirThreads) {
  void* left = nullptr;
  std::thread([&] {
    ASSERT_NE(cache(nullptr, TALUS_BOUNDED_HOT), nullptr);
    left = take(64);
    give(take(64));
    EXPECT_GT(sums().cached_blocks, 0u);
  }).join();
  EXPECT_EQ(sums().cached_blocks, 0u);
  EXPECT_EQ(sums().live_blocks, 1u);
  EXPECT_EQ(stats(3).hits, 2u);
  give(left);
  EXPECT_EQ(sums().live_blocks, 0u);
}

// A key whose destructor runs after the one that ends the thread's caches.
TEST_F(BoundedCaches, AreNotMadeAfterTheEndOfTheirThread) {
  static talus_bounded* used;
  static bool is_refused;
  used = instance;
  is_refused = false;
  api::free(api::malloc(1));  // the key of the library comes first
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* rounds) {
                                 if (rounds == reinterpret_cast<void*>(1)) {
                                   void* block = api::bounded_malloc(used, 16);
                                   is_refused = api::bounded_cache_new(
                                                    used, nullptr, TALUS_BOUNDED_COLD) == nullptr &&
                                                errno == ENOMEM &&
                                                api::bounded_pool_of(used, block) == 0;
                                   api::bounded_free(used, block);
                                 }
                               }),
            0);
  std::thread([&] {
    ASSERT_NE(cache(nullptr), nullptr);
    pthread_setspecific(key, reinterpret_cast<void*>(1));
  }).join();
  pthread_key_delete(key);
  EXPECT_TRUE(is_refused);
  EXPECT_EQ(sums().live_blocks, 0u);
}

// It ended with its thread, and is perhaps another thread's by now.
TEST_F(BoundedCaches, AnEndAfterThatOfTheThreadIsIgnored) {
  talus_bounded_cache* ended = nullptr;
  const auto make_it = [&] { ended = cache(nullptr, TALUS_BOUNDED_HOT); };
  const auto end_it_late = [&] {
    EXPECT_EQ(sums().cached_blocks, 0u);
    api::bounded_cache_destroy(ended);
    Atomic<int> step;
    std::thread other([&] {
      EXPECT_EQ(cache(nullptr, TALUS_BOUNDED_HOT), ended);
      step.store_release(1);
      while (step.load_acquire() != 2) arch::pause();
    });
    while (step.load_acquire() != 1) arch::pause();
    api::bounded_cache_destroy(ended);
    EXPECT_GT(sums().cached_blocks, 0u);
    step.store_release(2);
    other.join();
  };
  const test::LateInAThread late{end_it_late, make_it};
  EXPECT_EQ(sums().cached_blocks, 0u);
}

TEST_F(BoundedCaches, AFullListGoesHalfToThePool) {
  const size_t capacities[pools] = {10, 0, 1, 0};
  ASSERT_NE(cache(capacities), nullptr);
  std::vector<void*> blocks;
  for (int i = 0; i < 11; i++) blocks.push_back(take(16));
  for (void* block : blocks) give(block);
  EXPECT_EQ(stats(0).live_blocks, 0u);
  EXPECT_GT(stats(0).cached_blocks, 0u);
  EXPECT_LE(stats(0).cached_blocks, 10u);
  void* uncached[] = {take(32), take(32), take(48), take(48)};
  for (void* block : uncached) give(block);
  EXPECT_EQ(stats(1).cached_blocks, 0u);
  EXPECT_EQ(stats(1).misses, 2u);
  EXPECT_EQ(stats(2).cached_blocks, 1u);
  EXPECT_EQ(stats(2).live_blocks, 0u);
}

TEST_F(BoundedCaches, BlocksPassBetweenThreads) {
  ASSERT_NE(cache(nullptr), nullptr);
  for (int round = 0; round < 20; round++) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 900; i++) {
      blocks.push_back(take(64));
      memset(blocks.back(), round, 64);
    }
    std::thread([&, this] {
      if (round % 2 == 0) {
        EXPECT_NE(cache(nullptr), nullptr);
      }
      for (void* block : blocks) {
        ASSERT_EQ(static_cast<char*>(block)[63], round);
        give(block);
      }
    }).join();
  }
  EXPECT_EQ(sums().live_blocks, 0u);
  EXPECT_EQ(sums().routed + sums().overflows, 0u);
}

}  // namespace
}  // namespace talus::core
