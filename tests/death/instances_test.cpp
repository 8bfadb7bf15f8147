// SPDX-License-Identifier: MIT
// tests/death/instances: heaps of one's own and their blocks used after their end, or confused.
#include "api/heaps.hpp"
#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

class DeadHeap : public testing::Test {
 protected:
  talus_heap* heap = api::heap_new(nullptr);
  void SetUp() override { api::heap_destroy(heap); }
};

TEST_F(DeadHeap, IsReportedByEveryCall) {
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_malloc"), api::heap_malloc(heap, 10));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_malloc"), api::heap_malloc(heap, 100000));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_calloc"), api::heap_calloc(heap, 1, 10));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_aligned_alloc"),
               api::heap_aligned_alloc(heap, 64, 10));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_realloc"), api::heap_realloc(heap, nullptr, 10));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_realloc"),
               api::heap_realloc(heap, api::malloc(5), 10));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_free"), api::heap_free(heap, api::malloc(5)));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_clear"), api::heap_clear(heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_destroy"), api::heap_destroy(heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_delete"), api::heap_delete(heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_contains"), api::heap_contains(heap, &heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_stats"), api::heap_stats(heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_name"), api::heap_name(heap));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_walk"), api::heap_walk(heap, nullptr, nullptr));
}

TEST_F(DeadHeap, IsNotTheOneThatCameAfterIt) {
  talus_heap* next = api::heap_new(nullptr);
  EXPECT_EQ(index_of(id_in_handle(api::handle_in(next))),
            index_of(id_in_handle(api::handle_in(heap))));
  EXPECT_FAULT(dead_heap_text(heap, "talus_heap_malloc"), api::heap_malloc(heap, 10));
  api::heap_destroy(next);
}

TEST(NoHeap, IsReported) {
  int local = 0;
  for (auto* wrong : {reinterpret_cast<talus_heap*>(&local), reinterpret_cast<talus_heap*>(1),
                      reinterpret_cast<talus_heap*>(~uintptr_t{0})}) {
    EXPECT_FAULT(dead_heap_text(wrong, "talus_heap_malloc"), api::heap_malloc(wrong, 10));
  }
  talus_heap* none = nullptr;
  EXPECT_FAULT(dead_heap_text(none, "talus_heap_clear"), api::heap_clear(none));
}

class BlockOfHeap : public testing::TestWithParam<size_t> {
 protected:
  talus_heap* heap = api::heap_new(nullptr);
  void* block = api::heap_malloc(heap, GetParam());
};

TEST_P(BlockOfHeap, FreedAfterItsHeap) {
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::heap_destroy(heap);
    api::free(block);
  });
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::heap_clear(heap);
    on_another_thread([&] { api::free(block); });
  });
  EXPECT_FAULT(foreign_text(block, "realloc"), {
    api::heap_destroy(heap);
    EXPECT_EQ(api::realloc(block, 77), nullptr);
  });
  api::heap_destroy(heap);
}

// At once, and not only when a list is flushed.
TEST_P(BlockOfHeap, FreedTwice) {
  void* other = api::heap_malloc(heap, GetParam());
  const bool is_small = GetParam() <= small_bytes_max;
  const std::string text =
      is_small ? double_free_text(block, usable_size(block)) : foreign_text(block, "free");
  EXPECT_FAULT(text, {
    api::free(block);
    api::free(block);
  });
  EXPECT_FAULT(is_small ? text : foreign_text(block, "talus_heap_free"), {
    api::free(block);
    api::heap_free(heap, block);
  });
  api::heap_free(heap, other);
  api::heap_destroy(heap);
}

TEST_P(BlockOfHeap, GivenToAnotherHeap) {
  talus_heap* other = api::heap_new(nullptr);
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(other, block));
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(nullptr, block));
  EXPECT_FAULT(foreign_text(block, "talus_heap_realloc"), api::heap_realloc(other, block, 50));
  void* common = api::malloc(GetParam());
  EXPECT_FAULT(foreign_text(common, "talus_heap_free"), api::heap_free(heap, common));
  api::free(common);
  api::heap_destroy(other);
  api::heap_destroy(heap);
}

TEST_P(BlockOfHeap, FreedInTheMiddle) {
  char* middle = static_cast<char*>(block) + 16;
  EXPECT_FAULT(interior_text(middle, block, usable_size(block)), api::free(middle));
  EXPECT_FAULT(interior_text(middle, block, usable_size(block)), api::heap_free(heap, middle));
  api::heap_destroy(heap);
}

INSTANTIATE_TEST_SUITE_P(SmallAndLarge, BlockOfHeap, testing::Values(112, 100000));

}  // namespace
}  // namespace talus::core
