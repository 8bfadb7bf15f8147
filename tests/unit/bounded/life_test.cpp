// SPDX-License-Identifier: MIT
// tests/unit/bounded/life: beginnings, ends, forks, and what memory an instance touches.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounded/bounded_test.hpp"

namespace talus::core {
namespace {

// Pages of a range that have memory.
size_t resident_pages(const void* at, size_t bytes) {
  std::vector<unsigned char> pages(bytes / os::page_bytes());
  if (mincore(const_cast<void*>(at), bytes, pages.data()) != 0) return SIZE_MAX;
  size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

TEST(BoundedOptions, AreChecked) {
  const auto refused = [](const talus_bounded_options* options) {
    errno = 0;
    return api::bounded_new(options) == nullptr && errno == EINVAL;
  };
  test::WatchedFallback watched;
  talus_bounded_fallback context = watched.context();
  talus_bounded_options options{1, 100, nullptr, &context, 0};
  EXPECT_TRUE(refused(nullptr));
  options.pools = 0;
  EXPECT_TRUE(refused(&options));
  options.pools = TALUS_BOUNDED_POOLS_MAX + 1;
  EXPECT_TRUE(refused(&options));
  options.pools = 1;
  options.flags = 2;
  EXPECT_TRUE(refused(&options));
  options.flags = 0;
  options.budget_bytes = bounded_budget_max + 1;
  EXPECT_TRUE(refused(&options));
  options.budget_bytes = 100;
  context.usable_size = nullptr;
  EXPECT_TRUE(refused(&options));
  context = watched.context();
  talus_bounded* instance = api::bounded_new(&options);
  ASSERT_NE(instance, nullptr);
  EXPECT_EQ(api::bounded_stats(instance, 0).blocks, 6u);
  api::bounded_destroy(instance);
  api::bounded_destroy(nullptr);
}

TEST(BoundedOptions, PoolsAreTheClassesOfTalus) {
  EXPECT_EQ(api::bounded_pools_for(15), 0u);
  EXPECT_EQ(api::bounded_pools_for(16), 1u);
  EXPECT_EQ(api::bounded_pools_for(160), 10u);
  EXPECT_EQ(api::bounded_pools_for(175), 10u);
  EXPECT_EQ(api::bounded_pools_for(SIZE_MAX), size_t{TALUS_BOUNDED_POOLS_MAX});
  for (size_t pool = 0; pool < TALUS_BOUNDED_POOLS_MAX; pool++) {
    EXPECT_EQ(api::bounded_pools_for(api::bounded_pool_bytes(pool)), pool + 1);
  }
  EXPECT_EQ(api::bounded_pool_bytes(TALUS_BOUNDED_POOLS_MAX), 0u);
}

TEST(BoundedOptions, BudgetsOfTheirOwn) {
  const size_t budgets[] = {1600, 0, 100000, 47};
  const talus_bounded_options options{4, 0, budgets, nullptr, 0};
  talus_bounded* instance = api::bounded_new(&options);
  const size_t counts[] = {100, 0, 2083, 0};
  for (size_t pool = 0; pool < 4; pool++) {
    EXPECT_EQ(api::bounded_stats(instance, pool).blocks, counts[pool]);
  }
  void* block = api::bounded_malloc(instance, 32);
  EXPECT_EQ(api::bounded_pool_of(instance, block), 2);
  EXPECT_EQ(api::bounded_stats(instance, 1).overflows, 1u);
  // All of them, and every byte of each: the pages are there.
  std::vector<void*> blocks;
  while (true) {
    void* each = api::bounded_malloc(instance, 48);
    if (api::bounded_pool_of(instance, each) < 0) {
      api::bounded_free(instance, each);
      break;
    }
    memset(each, 1, 48);
    blocks.push_back(each);
  }
  EXPECT_EQ(blocks.size(), 2082u);
  api::bounded_destroy(instance);
}

TEST(BoundedMemory, IsTouchedAsItIsUsedAndGoneAtTheEnd) {
  const talus_bounded_options options{3, 16 * mib, nullptr, nullptr, 0};
  talus_bounded* instance = api::bounded_new(&options);
  const Bounded& inside = api::bounded_in(instance);
  const void* base = reinterpret_cast<void*>(inside.base);
  EXPECT_EQ(resident_pages(base, 48 * mib), 0u);
  ASSERT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_HOT), nullptr);
  EXPECT_EQ(resident_pages(base, 48 * mib), 0u);
  memset(api::bounded_malloc(instance, 48), 1, 48);
  EXPECT_EQ(resident_pages(base, 48 * mib), 1u);
  api::bounded_destroy(instance);
  EXPECT_EQ(resident_pages(base, 48 * mib), SIZE_MAX);
}

TEST(BoundedMemory, IsThereAtOnceIfThatIsRequested) {
  const size_t budgets[] = {mib, 100};
  const talus_bounded_options options{2, 0, budgets, nullptr, TALUS_BOUNDED_TOUCH};
  talus_bounded* instance = api::bounded_new(&options);
  const void* base = reinterpret_cast<void*>(api::bounded_in(instance).base);
  EXPECT_EQ(resident_pages(base, mib + os::page_bytes()), mib / os::page_bytes() + 1);
  api::bounded_destroy(instance);
}

TEST(BoundedLife, PlacesAreUsedAgainAndStartAnew) {
  const talus_bounded_options options{2, 64 * kib, nullptr, nullptr, 0};
  for (int life = 0; life < 200; life++) {
    talus_bounded* instance = api::bounded_new(&options);
    ASSERT_NE(instance, nullptr);
    talus_bounded_cache* cache = api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_WARM);
    ASSERT_NE(cache, nullptr);
    memset(api::bounded_malloc(instance, 32), life, 32);
    EXPECT_EQ(api::bounded_stats(instance, SIZE_MAX).hits, 1u);
    EXPECT_EQ(api::bounded_stats(instance, 1).live_blocks, 1u);
    if (life % 2 == 0) api::bounded_cache_destroy(cache);
    api::bounded_destroy(instance);
  }
}

TEST(BoundedLife, TheNumberOfInstancesIsBounded) {
  const talus_bounded_options options{1, 4096, nullptr, nullptr, 0};
  std::vector<talus_bounded*> all;
  for (int i = 0; i < TALUS_BOUNDED_INSTANCES_MAX; i++) {
    all.push_back(api::bounded_new(&options));
    ASSERT_NE(all.back(), nullptr);
    ASSERT_NE(api::bounded_cache_new(all.back(), nullptr, TALUS_BOUNDED_COLD), nullptr);
  }
  errno = 0;
  EXPECT_EQ(api::bounded_new(&options), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  for (talus_bounded* instance : all) {
    void* block = api::bounded_malloc(instance, 1);
    for (talus_bounded* other : all) {
      ASSERT_EQ(api::bounded_pool_of(other, block), other == instance ? 0 : -1);
    }
  }
  for (talus_bounded* instance : all) api::bounded_destroy(instance);
}

// The cache of a thread that sleeps meanwhile ends with the instance.
TEST(BoundedLife, AnEndWithCachesOfOtherThreads) {
  const talus_bounded_options options{2, 64 * kib, nullptr, nullptr, 0};
  talus_bounded* instance = api::bounded_new(&options);
  Atomic<int> step;
  std::thread other([&] {
    EXPECT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_HOT), nullptr);
    api::bounded_free(instance, api::bounded_malloc(instance, 16));
    step.store_release(1);
    while (step.load_acquire() != 2) arch::pause();
    // The same place, another life: nothing of the old cache is in it.
    EXPECT_EQ(api::bounded_stats(instance, SIZE_MAX).cached_blocks, 0u);
    void* block = api::bounded_malloc(instance, 16);
    EXPECT_EQ(api::bounded_stats(instance, 0).misses, 1u);
    api::bounded_free(instance, block);
    EXPECT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_COLD), nullptr);
  });
  while (step.load_acquire() != 1) arch::pause();
  api::bounded_destroy(instance);
  talus_bounded* next = api::bounded_new(&options);
  EXPECT_EQ(next, instance);
  step.store_release(2);
  other.join();
  EXPECT_EQ(api::bounded_stats(next, SIZE_MAX).live_blocks, 0u);
  api::bounded_destroy(next);
}

// Ends the child with what was found in it.
template <typename Work>
void expect_in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(BoundedFork, TheChildHasItsCacheAndTakesThoseOfOthersHome) {
  const talus_bounded_options options{1, 1600, nullptr, nullptr, 0};  // 100 blocks
  talus_bounded* instance = api::bounded_new(&options);
  ASSERT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_COLD), nullptr);
  void* own = api::bounded_malloc(instance, 16);
  Atomic<int> step;
  std::thread other([&] {
    EXPECT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_HOT), nullptr);
    step.store_release(1);
    while (step.load_acquire() != 2) arch::pause();
  });
  while (step.load_acquire() != 1) arch::pause();
  const talus_bounded_numbers before = api::bounded_stats(instance, 0);
  EXPECT_EQ(before.live_blocks, 1u);
  EXPECT_EQ(before.cached_blocks, 99u);
  expect_in_child([&] {
    for (int i = 0; i < 99; i++) {
      if (api::bounded_pool_of(instance, api::bounded_malloc(instance, 16)) != 0) return false;
    }
    if (api::bounded_pool_of(instance, api::bounded_malloc(instance, 16)) != -1) return false;
    api::bounded_free(instance, own);
    std::thread([&] { api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_HOT); }).join();
    const talus_bounded_numbers after = api::bounded_stats(instance, 0);
    api::bounded_destroy(instance);
    return after.live_blocks == 99 && after.cached_blocks == 1;
  });
  step.store_release(2);
  other.join();
  api::bounded_free(instance, own);
  EXPECT_EQ(api::bounded_stats(instance, 0).live_blocks, 0u);
  api::bounded_destroy(instance);
}

}  // namespace
}  // namespace talus::core
