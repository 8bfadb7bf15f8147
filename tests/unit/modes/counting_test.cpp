// SPDX-License-Identifier: MIT
// tests/unit/modes/counting: every call is counted, in the range of its size, on every thread.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "late.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

counting::Counts operator-(const counting::Counts& after, const counting::Counts& before) {
  counting::Counts difference = after;
  for (size_t i = 0; i < counting::range_count; i++) {
    difference.allocations[i] -= before.allocations[i];
  }
  difference.allocation_sum -= before.allocation_sum;
  difference.frees -= before.frees;
  difference.requested_bytes -= before.requested_bytes;
  difference.live_bytes -= before.live_bytes;
  return difference;
}

class CountingTest : public testing::Test {
 protected:
  // Counting is never switched off again, so the tests look at differences.
  static void SetUpTestSuite() {
    test::own_cache();
    start_counting();
  }
  void SetUp() override { before_ = counting::collect(); }
  counting::Counts difference() const { return counting::collect() - before_; }
  counting::Counts before_;
};

TEST_F(CountingTest, RangesAreClosedAbove) {
  for (size_t range = 0; range + 1 < counting::range_count; range++) {
    EXPECT_EQ(counting::range_of(counting::range_limits[range]), range);
    EXPECT_EQ(counting::range_of(counting::range_limits[range] + 1), range + 1);
  }
  EXPECT_EQ(counting::range_of(0), 0u);
  EXPECT_EQ(counting::range_of(~size_t{0}), counting::range_count - 1);
}

TEST_F(CountingTest, CountsEachCallInItsRange) {
  uint64_t expected[counting::range_count] = {};
  uint64_t requested = 0;
  int64_t live = 0;
  std::vector<void*> blocks;
  test::Random random{test::seed_of("Counting")};
  for (int i = 0; i < 3000; i++) {
    const size_t bytes = random.of_any_length(21);
    void* block = i % 3 == 0   ? allocate(bytes)
                  : i % 3 == 1 ? allocate_zeroed(bytes)
                               : allocate_aligned(64, bytes);
    ASSERT_NE(block, nullptr);
    expected[counting::range_of(bytes)]++;
    requested += bytes;
    if (i % 5 == 0) {
      free_block(block);
      continue;
    }
    live += static_cast<int64_t>(usable_size(block));
    blocks.push_back(block);
    if (blocks.size() > 40) {
      live -= static_cast<int64_t>(usable_size(blocks.front()));
      free_block(blocks.front());
      blocks.erase(blocks.begin());
    }
  }
  const counting::Counts counted = difference();
  for (size_t i = 0; i < counting::range_count; i++) EXPECT_EQ(counted.allocations[i], expected[i]);
  EXPECT_EQ(counted.allocation_sum, 3000u);
  EXPECT_EQ(counted.frees, 3000u - blocks.size());
  EXPECT_EQ(counted.requested_bytes, requested);
  EXPECT_EQ(counted.live_bytes, live);
  EXPECT_GE(counted.peak_bytes, counted.live_bytes);
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(difference().live_bytes, 0);
  EXPECT_EQ(difference().frees, 3000u);
}

TEST_F(CountingTest, NullIsNotCounted) {
  free_block(nullptr);
  EXPECT_EQ(allocate(~size_t{0}), nullptr);
  EXPECT_EQ(difference().frees, 0u);
  EXPECT_EQ(difference().allocation_sum, 0u);
}

TEST_F(CountingTest, ResizingIsAFreeAndAnAllocation) {
  void* block = allocate(100);
  block = reallocate(block, 110);      // in place
  block = reallocate(block, 5000);     // moved
  block = reallocate(block, 500000);   // to a large one
  block = reallocate(block, 9000000);  // grown or moved by the kernel
  EXPECT_EQ(difference().allocation_sum, 5u);
  EXPECT_EQ(difference().frees, 4u);
  EXPECT_EQ(difference().live_bytes, static_cast<int64_t>(usable_size(block)));
  EXPECT_EQ(reallocate(block, ~size_t{0}), nullptr);
  EXPECT_EQ(difference().live_bytes, static_cast<int64_t>(usable_size(block)));
  free_block(block);
  EXPECT_EQ(difference().live_bytes, 0);
}

TEST_F(CountingTest, AllThreadsAreCountedAndTheirCountsSurviveThem) {
  constexpr size_t thread_count = 6, each = 2000;
  std::vector<void*> handed(thread_count * each);
  test::on_threads(thread_count, [&](size_t self) {
    for (size_t i = 0; i < each; i++) {
      free_block(allocate(i));
      handed[self * each + i] = allocate(64);
    }
  });
  counting::Counts counted = difference();
  EXPECT_EQ(counted.allocation_sum, 2 * thread_count * each);
  EXPECT_EQ(counted.frees, thread_count * each);
  EXPECT_EQ(counted.live_bytes, int64_t{64 * thread_count * each});
  for (void* block : handed) free_block(block);  // of other heaps
  counted = difference();
  EXPECT_EQ(counted.frees, 2 * thread_count * each);
  EXPECT_EQ(counted.live_bytes, 0);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(CountingTest, PeakIsRightToAStepAThread) {
  const int64_t live_before = counting::collect().live_bytes;
  void* block = allocate(64 * mib);
  free_block(block);
  // Every context of this process, ended threads' too, may hold back up to a step.
  const auto contexts = static_cast<int64_t>(collect_totals().cache_count + 64);
  EXPECT_GE(counting::collect().peak_bytes,
            live_before + int64_t{64 * mib} - contexts * counting::step_bytes);
}

// Neither a resize that fails nor one that was only tried in place.
TEST_F(CountingTest, WhatFailsIsNoCall) {
  void* block = allocate(100000);
  const counting::Counts made = difference();
  EXPECT_EQ(made.allocation_sum, 1u);
  EXPECT_EQ(reallocate(block, size_t{1} << 62), nullptr);
  EXPECT_FALSE(expand(block, size_t{1} << 62));
  EXPECT_EQ(difference().allocation_sum, 1u);
  EXPECT_EQ(difference().frees, 0u);
  EXPECT_EQ(difference().requested_bytes, made.requested_bytes);
  EXPECT_EQ(difference().live_bytes, made.live_bytes);
  EXPECT_TRUE(expand(block, 90000));
  EXPECT_EQ(difference().requested_bytes, made.requested_bytes + 90000);
  EXPECT_EQ(difference().live_bytes, static_cast<int64_t>(usable_size(block)));
  block = reallocate_empty(block, 3 * mib);
  EXPECT_EQ(difference().allocation_sum, 3u);
  EXPECT_EQ(difference().frees, 2u);
  free_block(block);
  EXPECT_EQ(difference().live_bytes, 0);
}

// Each begins with another call, and none has called malloc before.
TEST_F(CountingTest, ThreadsThatOnlyUseAHeapOfOnesOwn) {
  talus_heap* heap = api::heap_new(nullptr);
  void* blocks[100];
  test::on_threads(1, [&](size_t) {
    for (void*& block : blocks) block = api::heap_malloc(heap, 1000);
  });
  EXPECT_EQ(difference().allocation_sum, 100u);
  test::on_threads(1, [&](size_t) {
    for (size_t i = 0; i < 40; i++) api::heap_free(heap, blocks[i]);
  });
  EXPECT_EQ(difference().frees, 40u);
  EXPECT_EQ(difference().live_bytes, static_cast<int64_t>(60 * usable_size(blocks[50])));
  test::on_threads(1, [&](size_t) { api::heap_clear(heap); });
  EXPECT_EQ(difference().frees, 100u);
  EXPECT_EQ(difference().live_bytes, 0);
  test::on_threads(1, [&](size_t) { api::heap_calloc(heap, 1, 50000); });
  test::on_threads(1, [&](size_t) { api::heap_aligned_alloc(heap, 4096, 5000); });
  EXPECT_EQ(difference().allocation_sum, 102u);
  test::on_threads(1, [&](size_t) { api::heap_destroy(heap); });
  EXPECT_EQ(difference().frees, 102u);
  EXPECT_EQ(difference().live_bytes, 0);
}

TEST_F(CountingTest, WhatThreadsDoAfterTheEndOfTheirCaches) {
  void* block = allocate(1000);
  for (uint64_t round = 1; round <= 3; round++) {
    test::LateInAThread late{[&block] {
      for (int i = 0; i < 100; i++) free_block(allocate(100));
      block = reallocate(block, 200 * kib);
    }};
    block = reallocate(block, 1000);
    EXPECT_EQ(difference().allocation_sum, 1 + round * 103);
    EXPECT_EQ(difference().frees, round * 103);
    EXPECT_EQ(difference().live_bytes, static_cast<int64_t>(usable_size(block)));
  }
  free_block(block);
  EXPECT_EQ(difference().live_bytes, 0);
}

// Where the kernel has no memory for the page map, the heap alone knows its blocks.
TEST_F(CountingTest, BlocksThatTheirHeapAloneKnowsAreNotCounted) {
  talus_heap_options options{};
  options.flags = TALUS_HEAP_OWN_PAGES;
  talus_heap* heap = api::heap_new(&options);
  ASSERT_NE(heap, nullptr);
  region_of(api::handle_in(heap), "test")->has_page_entries = false;
  void* block = api::heap_malloc(heap, 100);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(api::heap_of(block), nullptr);
  memset(block, 1, 100);
  block = api::heap_realloc(heap, block, 100000);
  ASSERT_NE(block, nullptr);
  EXPECT_NE(api::heap_calloc(heap, 1, 5000), nullptr);
  EXPECT_NE(api::heap_aligned_alloc(heap, 256, 5000), nullptr);
  api::heap_free(heap, block);
  api::heap_clear(heap);
  EXPECT_NE(api::heap_malloc(heap, 100), nullptr);
  api::heap_destroy(heap);
  EXPECT_EQ(difference().allocation_sum, 0u);
  EXPECT_EQ(difference().frees, 0u);
  EXPECT_EQ(difference().live_bytes, 0);
}

}  // namespace
}  // namespace talus::core
