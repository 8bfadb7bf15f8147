// SPDX-License-Identifier: MIT
// tests/unit/store/empty_slabs: how many empty slabs a heap keeps when batches come again.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "passes.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t batch_slabs = 24;
constexpr size_t batch_rounds = 16;

class EmptySlabsOfHeap : public test::OwnPasses {
 protected:
  static Heap& heap() { return *test::own_cache().heap; }
  static size_t slabs(size_t bytes) { return heap().class_slabs[index_of(class_of(bytes))]; }
  // With heaps, or free and touched.
  static size_t touched() {
    Held held{space.lock()};
    return space.counters().given_bytes + space.dirty_bytes();
  }

  // A batch of blocks that fills `batch_slabs` slabs, and its end.
  static void run_batch(size_t bytes) {
    std::vector<void*> blocks(batch_slabs * size_class_row(class_of(bytes)).block_count);
    for (void*& block : blocks) block = allocate(bytes);
    for (void* block : blocks) free_block(block);
  }
  static void run_batches(size_t bytes) {
    for (size_t round = 0; round < batch_rounds; round++) run_batch(bytes);
  }
};

TEST_F(EmptySlabsOfHeap, ABatchThatComesOnceLeavesFew) {
  run_batch(3000);
  EXPECT_LE(slabs(3000), batch_slabs / 3);
}

TEST_F(EmptySlabsOfHeap, BatchesThatComeAgainFindTheirSlabs) {
  run_batches(3000);
  EXPECT_GE(slabs(3000), batch_slabs - batch_slabs / 4);
  const size_t before = touched();
  run_batches(3000);
  EXPECT_LE(touched(), before + slice_bytes);  // blocks in lists
  EXPECT_LE(heap().empty_slabs.allowed(class_of(3000)), batch_slabs + 1) << "no more than it had";
  EXPECT_TRUE(heap().is_sound());
}

// Slabs of more than one slice, of which not even one stays otherwise.
TEST_F(EmptySlabsOfHeap, LongSlabsStayToo) {
  constexpr size_t bytes = 28 * kib;
  ASSERT_GT(size_class_row(class_of(bytes)).slab_slices, 1u);
  run_batches(bytes);
  EXPECT_GE(slabs(bytes), batch_slabs / 2);
}

// What one class keeps is no obstacle for another.
TEST_F(EmptySlabsOfHeap, AnotherClassUsesThemBeforeNewMemory) {
  run_batches(3000);
  const size_t before = touched(), kept = slabs(3000);
  ASSERT_EQ(size_class_row(class_of(1700)).slab_slices, size_class_row(class_of(3000)).slab_slices);
  std::vector<void*> blocks;
  while (slabs(1700) < kept) blocks.push_back(allocate(1700));
  EXPECT_LE(touched(), before + slice_bytes);
  EXPECT_LE(slabs(3000), kept / 2);
  for (void* block : blocks) free_block(block);
}

TEST_F(EmptySlabsOfHeap, FurtherOnesStayOnlyWhereMemoryMayBeRetained) {
  for (const size_t bytes : {size_t{0}, 4 * 4 * slice_bytes}) {
    options.retain_bytes = bytes;
    purge_on_request(0);
    run_batches(3000);
    EXPECT_LE(slabs(3000), batch_slabs / 2) << bytes;
  }
}

TEST_F(EmptySlabsOfHeap, NoFurtherOnesStayWhereMemoryHasALimit) {
  for (const LimitBytes bytes : {LimitBytes{size_t{8} << 30, 0}, LimitBytes{0, size_t{8} << 30}}) {
    limits.set(bytes);
    run_batches(3000);
    EXPECT_LE(slabs(3000), batch_slabs / 2);
  }
}

TEST_F(EmptySlabsOfHeap, EachDecayPassBeginsAnew) {
  run_batches(3000);
  ASSERT_NE(heap().empty_slabs.allowed(class_of(3000)), 0u);
  test::make_passes(12);
  EXPECT_EQ(heap().empty_slabs.allowed(class_of(3000)), 0u);
  EXPECT_LE(slabs(3000), 8u) << "what was kept has decayed";
}

// The owner may be at rest, and no other heap can use what it keeps.
TEST_F(EmptySlabsOfHeap, NoneStayWhereAnotherThreadFrees) {
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  run_batches(3000);
  ASSERT_NE(heap().empty_slabs.allowed(class_of(3000)), 0u);
  std::vector<void*> blocks(2 * batch_slabs * size_class_row(class_of(3000)).block_count);
  for (void*& block : blocks) block = allocate(3000);
  test::on_threads(1, [&blocks](size_t) {
    for (void* block : blocks) free_block(block);
  });
  EXPECT_EQ(heap().empty_slabs.allowed(class_of(3000)), 0u);
  EXPECT_LE(slabs(3000), batch_slabs / 2);
}

TEST_F(EmptySlabsOfHeap, ARequestReturnsThemAll) {
  run_batches(3000);
  purge_on_request(0);
  EXPECT_LE(slabs(3000), 1u);
}

}  // namespace
}  // namespace talus::core
