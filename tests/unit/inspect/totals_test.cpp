// SPDX-License-Identifier: MIT
// tests/unit/inspect/totals: the numbers are exact when no thread allocates; their parts sum up.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

TEST(Totals, LiveIsExactlyWhatTheProgramHolds) {
  ASSERT_EQ(test::live_bytes(), 0u);
  test::Random random{test::seed_of("Totals.Live")};
  std::vector<void*> blocks;
  size_t small = 0, large = 0, large_count = 0;
  for (size_t round = 0; round < test::rounds_of(20000) + 500; round++) {
    if (blocks.size() < 300 || random.below(2) == 0) {
      void* block = allocate(random.of_any_length(20));
      const size_t usable = usable_size(block);
      (usable > medium_bytes_max ? large : small) += usable;
      large_count += usable > medium_bytes_max;
      blocks.push_back(block);
    } else {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      const size_t usable = usable_size(blocks.back());
      (usable > medium_bytes_max ? large : small) -= usable;
      large_count -= usable > medium_bytes_max;
      free_block(blocks.back());
      blocks.pop_back();
    }
    if (round % 100 != 0) continue;
    const HeapTotals totals = collect_totals();
    ASSERT_EQ(totals.live_small, small);
    ASSERT_EQ(totals.live_large, large);
    ASSERT_EQ(totals.live_large_count, large_count);
  }
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(collect_totals().live(), 0u);
}

// Free, listed and on their way: an ended thread delivered all, so the owner's numbers are exact
// even before it has looked into its remote_queue.
TEST(Totals, DeliveredBlocksAreNotLive) {
  test::live_bytes();
  std::vector<void*> blocks;
  for (int i = 0; i < 500; i++) blocks.push_back(allocate(64));
  EXPECT_EQ(collect_totals().live(), 500u * 64);
  test::on_threads(1, [&](size_t) {
    for (int i = 0; i < 300; i++) free_block(blocks[static_cast<size_t>(i)]);
  });
  const HeapTotals totals = collect_totals();
  EXPECT_EQ(totals.live(), 200u * 64);
  for (size_t i = 300; i < 500; i++) free_block(blocks[i]);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// 64 GiB of 16 bytes are in reach of one thread.
TEST(Totals, AClassHasMoreBlocksThan32BitsCount) {
  const ClassId id = class_of(16);
  const size_t index = index_of(id);
  const uint32_t slabs = 1 << 20;
  const size_t more = size_t{slabs} * size_class_row(id).block_count;
  ASSERT_EQ(more, size_t{1} << 32);
  Heap& heap = *test::own_cache().heap;
  const ClassTotals before = collect_totals().classes[index];
  heap.class_slabs[index] += slabs;  // all of whose blocks are with the program
  heap.taken_blocks[index] += more;
  const ClassTotals after = collect_totals().classes[index];
  heap.class_slabs[index] -= slabs;
  heap.taken_blocks[index] -= more;
  EXPECT_EQ(after.live - before.live, more);
  EXPECT_EQ(after.free, before.free);
}

TEST(Totals, AddressSpaceSumsUp) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 100; i++) blocks.push_back(allocate(i * 1000));
  const HeapTotals totals = collect_totals();
  Held held{space.lock()};
  EXPECT_EQ(totals.space.given_bytes + space.dirty_bytes() + space.clean_bytes(),
            totals.space.reserved_bytes);
  EXPECT_GE(totals.space.given_bytes, totals.live() + totals.free_in_slabs + totals.listed);
  held.unlock_for_a_while();
  for (void* block : blocks) free_block(block);
  held.lock_again();
}

TEST(Totals, MayBeAskedForWhileOthersAllocate) {
  test::ask_while_others_allocate(test::rounds_of(200000), 17, [] {
    const HeapTotals totals = collect_totals();
    if (totals.space.given_bytes > totals.space.reserved_bytes) std::abort();
    purge_beyond(mib);
  });
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
