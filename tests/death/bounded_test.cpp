// SPDX-License-Identifier: MIT
// tests/death/bounded: bounded instances and their blocks used after their end, or confused; with a
// cache the fault is told when the block comes to its pool, without one at once.
#include "api/bounded.hpp"
#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

talus_bounded* make_for_test() {
  const talus_bounded_options options{4, 64 * kib, nullptr, nullptr, 0};
  return api::bounded_new(&options);
}

TEST(DeadBounded, IsReportedByEveryCall) {
  talus_bounded* dead = make_for_test();
  void* block = api::bounded_malloc(dead, 20);
  api::bounded_destroy(dead);
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_malloc"), api::bounded_malloc(dead, 10));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_malloc"), api::bounded_malloc(dead, mib));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_calloc"), api::bounded_calloc(dead, 1, 10));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_aligned_alloc"),
               api::bounded_aligned_alloc(dead, 32, 10));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_realloc"),
               api::bounded_realloc(dead, block, 10));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_aligned_realloc"),
               api::bounded_aligned_realloc(dead, block, 32, 10));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_free"), api::bounded_free(dead, block));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_usable_size"),
               api::bounded_usable_size(dead, block));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_pool_of"), api::bounded_pool_of(dead, block));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_stats"), api::bounded_stats(dead, 0));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_destroy"), api::bounded_destroy(dead));
  EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_cache_new"),
               api::bounded_cache_new(dead, nullptr, TALUS_BOUNDED_COLD));
}

TEST(DeadBounded, CacheIsReportedByEveryCall) {
  talus_bounded* instance = make_for_test();
  talus_bounded_cache* dead = api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_WARM);
  void* block = api::bounded_cache_malloc(dead, 20);
  api::bounded_cache_destroy(dead);
  const auto expect_reports = [&] {
    EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_cache_malloc"),
                 api::bounded_cache_malloc(dead, 10));
    EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_cache_free"),
                 api::bounded_cache_free(dead, block));
    EXPECT_FAULT(dead_heap_text(dead, "talus_bounded_cache_destroy"),
                 api::bounded_cache_destroy(dead));
  };
  expect_reports();
  EXPECT_EQ(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_WARM), dead);
  api::bounded_destroy(instance);  // and the cache with it
  expect_reports();
}

class BlockOfPool : public testing::TestWithParam<bool> {
 protected:
  talus_bounded* instance = make_for_test();
  void* block = nullptr;
  void SetUp() override {
    if (GetParam()) {
      ASSERT_NE(api::bounded_cache_new(instance, nullptr, TALUS_BOUNDED_COLD), nullptr);
    }
    block = api::bounded_malloc(instance, 40);
  }
  void TearDown() override { api::bounded_destroy(instance); }
  // What a cache holds comes to the pools.
  void end_cache() {
    BoundedCache& cache = bounded_cache_of(api::bounded_in(instance));
    if (cache.instance != nullptr) destroy_bounded_cache(cache);
  }
};

TEST_P(BlockOfPool, FreedTwice) {
  EXPECT_FAULT(double_free_text(block, 48), {
    api::bounded_free(instance, block);
    api::bounded_free(instance, block);
    end_cache();
  });
}

TEST_P(BlockOfPool, FreedInTheMiddle) {
  char* middle = static_cast<char*>(block) + 16;
  EXPECT_FAULT(interior_text(middle, block, 48), {
    api::bounded_free(instance, middle);
    end_cache();
  });
}

TEST_P(BlockOfPool, ThatWasNeverGivenOut) {
  char* beyond = static_cast<char*>(block) + 48 * 1000;
  EXPECT_FAULT(foreign_text(beyond, "talus_bounded_free"), {
    api::bounded_free(instance, beyond);
    end_cache();
  });
}

TEST_P(BlockOfPool, GivenToTheHeapOrAnotherInstance) {
  talus_bounded* other = make_for_test();
  EXPECT_FAULT(foreign_text(block, "free"), api::free(block));
  EXPECT_FAULT(foreign_text(block, "free"), api::bounded_free(other, block));
  EXPECT_FAULT(foreign_text(block, "realloc"), api::bounded_realloc(other, block, mib));
  api::bounded_destroy(other);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutCache, BlockOfPool, testing::Bool());

}  // namespace
}  // namespace talus::core
