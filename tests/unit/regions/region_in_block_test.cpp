// SPDX-License-Identifier: MIT
// tests/unit/regions/region_in_block: heaps in a buffer that is a block of another heap, while that
// block gets another owner.
#include <gtest/gtest.h>

#include <vector>

#include "buffer_heap.hpp"
#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t medium_bytes = 160 * kib;
constexpr size_t large_bytes = 1 * mib;

// A heap in a block, with blocks all over it.
struct Inner {
  talus_heap* heap = nullptr;
  std::vector<void*> blocks;

  Inner(void* buffer, size_t bytes) : heap{test::heap_in(buffer, bytes)} {
    test::use_fixed_classes_only();  // blocks of others may have a slice less for the heap
    while (void* block = api::heap_malloc(heap, 1000)) blocks.push_back(block);
    EXPECT_GT(blocks.size(), bytes / 2000);
    for (void* block : blocks) test::fill_pattern(block, 1000, 7);
  }
  void expect_whole() const {
    for (void* block : blocks) {
      ASSERT_EQ(api::heap_of(block), heap);
      ASSERT_LT(usable_size(block), 1024u);
      ASSERT_TRUE(test::has_pattern(block, 1000, 7));
    }
  }
  // Some by free(), the others with the heap.
  void end() {
    expect_whole();
    for (size_t i = 0; i < blocks.size(); i += 2) free_block(blocks[i]);
    api::heap_destroy(heap);
  }
};

TEST(RegionInBlock, StaysItsOwnWhenAnotherThreadAdoptsTheSlab) {
  test::own_cache();
  void* buffer = nullptr;
  test::on_threads(1, [&](size_t) { buffer = allocate(medium_bytes); });
  Inner inner{buffer, medium_bytes};
  std::vector<void*> neighbours(64);
  for (void*& block : neighbours) block = allocate(medium_bytes);
  inner.end();
  for (void* block : neighbours) free_block(block);
  ASSERT_GE(usable_size(buffer), medium_bytes);
  free_block(buffer);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(RegionInBlock, StaysItsOwnWhenTheHeapOfTheBlockIsDeleted) {
  for (const size_t bytes : {medium_bytes, large_bytes}) {
    SCOPED_TRACE(bytes);
    talus_heap* outer = api::heap_new(nullptr);
    void* buffer = api::heap_malloc(outer, bytes);
    Inner inner{buffer, bytes};
    ASSERT_EQ(api::heap_delete(outer), 0);
    talus_heap* next = api::heap_new(nullptr);  // has the number of `outer`
    void* other = api::heap_malloc(next, bytes);
    inner.end();
    EXPECT_EQ(api::heap_of(buffer), nullptr);
    free_block(buffer);
    EXPECT_EQ(api::heap_of(other), next);
    api::heap_destroy(next);
    EXPECT_EQ(test::live_bytes(), 0u);
  }
}

TEST(RegionInBlock, StaysItsOwnInARegionInABlock) {
  talus_heap* outer = api::heap_new(nullptr);
  void* buffer = api::heap_malloc(outer, large_bytes);
  talus_heap* middle = test::heap_in(buffer, large_bytes);
  void* inner_buffer = api::heap_malloc(middle, large_bytes / 2);
  Inner inner{inner_buffer, large_bytes / 2};
  ASSERT_EQ(api::heap_delete(outer), 0);
  inner.end();
  EXPECT_EQ(api::heap_of(inner_buffer), middle);
  api::heap_destroy(middle);
  EXPECT_EQ(api::heap_of(buffer), nullptr);
  free_block(buffer);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The page map names the heap in it instead, wherever a slice of the block is a whole one.
TEST(RegionInBlock, LeavesTheBlockKnownToItsOwner) {
  talus_heap* outer = api::heap_new(nullptr);
  for (talus_heap* owner : {static_cast<talus_heap*>(nullptr), outer}) {
    for (const size_t bytes : {medium_bytes, medium_bytes * 8 / 5, large_bytes}) {
      SCOPED_TRACE(bytes);
      std::vector<void*> buffers;  // some of the medium ones start with a slice
      for (int i = 0; i < 5; i++) buffers.push_back(api::heap_malloc(owner, bytes));
      for (void* buffer : buffers) {
        const size_t usable = usable_size(buffer);
        Inner inner{buffer, bytes};
        EXPECT_EQ(api::malloc_usable_size(buffer), usable);
        EXPECT_EQ(api::heap_of(buffer), owner);
        EXPECT_EQ(api::heap_contains(outer, buffer), owner == outer);
        EXPECT_FALSE(api::heap_contains(inner.heap, buffer));
        EXPECT_EQ(api::heap_of(inner.blocks[0]), inner.heap);
        inner.end();
      }
      for (void* buffer : buffers) api::heap_free(owner, buffer);
    }
  }
  api::heap_destroy(outer);
}

TEST(RegionInBlock, LeavesABlockOfARegionKnownToItsOwner) {
  void* buffer = allocate(large_bytes);
  talus_heap* middle = test::heap_in(buffer, large_bytes);
  void* inner_buffer = api::heap_aligned_alloc(middle, slice_bytes, large_bytes / 2);
  ASSERT_NE(inner_buffer, nullptr);
  Inner inner{inner_buffer, large_bytes / 2};
  EXPECT_EQ(api::malloc_usable_size(inner_buffer), large_bytes / 2);
  EXPECT_EQ(api::heap_of(inner_buffer), middle);
  EXPECT_TRUE(api::heap_contains(middle, inner_buffer));
  EXPECT_GE(api::malloc_usable_size(buffer), large_bytes);
  EXPECT_EQ(api::heap_of(buffer), nullptr);
  inner.end();
  api::heap_destroy(middle);
  free_block(buffer);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
