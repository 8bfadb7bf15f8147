// SPDX-License-Identifier: MIT
// tests/death/providers: blocks of heaps in a buffer that are freed twice, or after their heap, or
// are none.
#include "buffer_heap.hpp"
#include "faults.hpp"

namespace talus::core {
namespace {

using namespace test;

class BlockInBuffer : public testing::Test {
 protected:
  static constexpr size_t bytes = 200;
  static inline char memory[256 * kib];
  talus_heap* heap = nullptr;
  void* block = nullptr;
  void* other = nullptr;

  void SetUp() override {
    heap = heap_in(memory, sizeof memory);
    other = api::heap_malloc(heap, bytes);
    block = api::heap_malloc(heap, bytes);
  }
  void TearDown() override { api::heap_destroy(heap); }
};

TEST_F(BlockInBuffer, FreedTwice) {
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::free(block);
    api::free(block);
  });
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), {
    api::free(block);
    api::heap_free(heap, block);
  });
}

TEST_F(BlockInBuffer, NotItsStart) {
  char* inside = static_cast<char*>(block) + 32;
  EXPECT_FAULT(interior_text(inside, block, 208), api::free(hide(inside)));
  EXPECT_FAULT(interior_text(inside, block, 208), api::heap_free(heap, inside));
  char* behind = static_cast<char*>(block) + 4096;
  EXPECT_FAULT(foreign_text(behind, "free"), api::free(hide(behind)));
  EXPECT_FAULT(foreign_text(behind, "realloc"), api::realloc(hide(behind), 5));
}

TEST_F(BlockInBuffer, OfAnotherHeap) {
  talus_heap* plain = api::heap_new(nullptr);
  EXPECT_FAULT(foreign_text(block, "talus_heap_free"), api::heap_free(plain, block));
  void* common = api::malloc(10);
  EXPECT_FAULT(foreign_text(common, "talus_heap_free"), api::heap_free(heap, common));
  EXPECT_FAULT(foreign_text(common, "talus_heap_realloc"), api::heap_realloc(heap, common, 50));
  api::free(common);
  api::heap_destroy(plain);
}

TEST_F(BlockInBuffer, FreedAfterItsHeap) {
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::heap_destroy(heap);
    api::free(block);
  });
  EXPECT_FAULT(foreign_text(block, "free"), {
    api::heap_clear(heap);
    api::free(block);
  });
}

// Asking about the buffer is right, and whatever would end it or write to it is not.
TEST(BufferOfHeap, IsABlockInUse) {
  void* buffer = api::malloc(mib);
  talus_heap* heap = heap_in(buffer, mib);
  const size_t usable = api::malloc_usable_size(buffer);
  EXPECT_GE(usable, mib);
  EXPECT_FAULT(foreign_text(buffer, "free"), api::free(buffer));
  EXPECT_FAULT(foreign_text(buffer, "realloc"), api::realloc(buffer, usable));
  EXPECT_FAULT(foreign_text(buffer, "realloc"), api::realloc(buffer, 2 * mib));
  EXPECT_FAULT(foreign_text(buffer, "free"), api::heap_free(nullptr, buffer));
  EXPECT_FAULT(foreign_text(buffer, "freezero"), api::freezero(buffer, mib));
  EXPECT_FAULT(foreign_text(buffer, "recallocarray"), api::recallocarray(buffer, mib, mib / 2, 1));
  api::heap_destroy(heap);
  api::free(buffer);
}

}  // namespace
}  // namespace talus::core
