// SPDX-License-Identifier: MIT
// tests/unit/modes/mapped: every call gives blocks beside a page without access; freed addresses
// stay without access for a while; blocks are ordinary ones when mappings run out.
#include <gtest/gtest.h>

#include <set>

#include "api/extended.hpp"
#include "mapped_mode.hpp"

namespace talus::core {
namespace {

using test::is_accessible;
using test::is_mapped;
using test::MappedTest;

char* bytes_of(void* block) { return static_cast<char*>(block); }

// A new block of `bytes` bytes: special, zero, writable to its end, and not beyond the next
// multiple of its alignment.
void expect_slow_list(void* block, size_t bytes, size_t alignment = block_alignment) {
  ASSERT_NE(block, nullptr);
  ASSERT_TRUE(is_mapped(block)) << bytes;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u) << bytes;
  EXPECT_EQ(usable_size(block), bytes);
  for (size_t i = 0; i < bytes; i++) ASSERT_EQ(bytes_of(block)[i], 0) << i;
  memset(block, 1, bytes);
  const size_t step = alignment < os::page_bytes() ? alignment : os::page_bytes();
  const uintptr_t guard = round_up(reinterpret_cast<uintptr_t>(block) + bytes, step);
  EXPECT_FALSE(is_accessible(reinterpret_cast<void*>(guard))) << bytes;
  if (guard % os::page_bytes() == 0 && bytes != 0) {
    EXPECT_TRUE(is_accessible(reinterpret_cast<void*>(guard - 1)));
  }
}

TEST_F(MappedTest, EachSizeEndsAtAGuard) {
  test::Random random{test::seed_of("Mapped")};
  for (size_t i = 0; i < 600; i++) {
    const size_t bytes = i < 100 ? i : random.of_any_length(19);
    void* block = allocate(bytes);
    expect_slow_list(block, bytes);
    free_block(block);
    EXPECT_FALSE(is_accessible(block));
  }
}

TEST_F(MappedTest, EveryCallGivesSuchBlocks) {
  for (const size_t bytes : {1u, 100u, 5000u, 40000u, 300000u}) {
    void* const made[] = {api::malloc(bytes), api::calloc(1, bytes),
                          api::calloc_whole(block_alignment, 1, bytes),
                          api::realloc(nullptr, bytes), api::rezalloc(nullptr, bytes)};
    for (void* block : made) {
      expect_slow_list(block, bytes);
      api::free(block);
    }
    void* paged = api::valloc(bytes);
    expect_slow_list(paged, bytes, os::page_bytes());
    api::free(paged);
    for (size_t alignment = 16; alignment <= 4 * mib; alignment *= 4) {
      for (void* block : {api::memalign(alignment, bytes), api::aligned_alloc(alignment, bytes),
                          api::calloc_whole(alignment, 1, bytes)}) {
        expect_slow_list(block, bytes, alignment);
        api::free_aligned_sized(block, alignment, bytes);
      }
    }
    void* blocks[7] = {};
    ASSERT_EQ(api::malloc_batch(bytes, 7, blocks), 7u);
    for (void* block : blocks) expect_slow_list(block, bytes);
    api::free_batch(blocks, 7);
    EXPECT_FALSE(is_accessible(blocks[0]));
    EXPECT_EQ(api::malloc_good_size(bytes), bytes);
    const talus_block least = api::allocate_at_least(64, bytes);
    EXPECT_EQ(least.bytes, bytes);
    api::free(least.pointer);
  }
  char* text = api::strdup("a text");
  EXPECT_TRUE(is_mapped(text));
  EXPECT_EQ(usable_size(text), 7u);
  api::free(text);
}

TEST_F(MappedTest, PlacesInsideAreAligned) {
  for (size_t alignment = 32; alignment <= slice_bytes; alignment *= 2) {
    for (size_t offset : {size_t{16}, alignment / 2, alignment - 16}) {
      void* block = api::memalign_at(alignment, offset, 1000);
      ASSERT_TRUE(is_mapped(block));
      EXPECT_EQ((reinterpret_cast<uintptr_t>(block) + offset) % alignment, 0u);
      memset(block, 1, 1000);
      api::free(block);
    }
  }
}

TEST_F(MappedTest, ResizingMovesAndKeepsContents) {
  void* block = allocate(1);
  for (size_t bytes : {2u, 100u, 99u, 5000u, 70000u, 4000000u, 60000u, 17u, 17u}) {
    const size_t before = usable_size(block);
    test::fill_all(block, before, before);
    void* moved = reallocate(block, bytes);
    ASSERT_TRUE(is_mapped(moved));
    EXPECT_NE(moved, block);
    EXPECT_FALSE(is_accessible(block)) << "the old place can be used";
    EXPECT_TRUE(test::has_all(moved, before < bytes ? before : bytes, before));
    EXPECT_EQ(usable_size(moved), bytes);
    block = moved;
  }
  EXPECT_EQ(api::expand_in_place(block, 18), nullptr);
  EXPECT_EQ(api::expand_in_place(block, 17), block);
  block = api::realloc_no_preserve(block, 800);
  expect_slow_list(block, 800);
  block = api::aligned_realloc(block, 512, 900);
  EXPECT_TRUE(is_mapped(block));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 512, 0u);
  EXPECT_EQ(bytes_of(block)[799], 1);
  block = api::rezalloc(block, 20000);
  EXPECT_EQ(bytes_of(block)[19999], 0);
  block = api::recallocarray(block, 20000, 30000, 1);
  EXPECT_EQ(usable_size(block), 30000u);
  EXPECT_EQ(allocate(~size_t{0}), nullptr);
  EXPECT_EQ(reallocate(block, ~size_t{0} / 2), nullptr);
  api::freezero(block, 30000);
}

TEST_F(MappedTest, BlocksFromBeforeTheModeAreFreedAndResized) {
  ASSERT_EQ(early.size(), 4u);
  for (size_t i = 0; i < early.size(); i++) {
    void* block = early[i].block;
    EXPECT_FALSE(is_mapped(block));
    EXPECT_TRUE(test::has_all(block, early[i].bytes, i));
    if (i % 2 == 0) {
      block = reallocate(block, early[i].bytes + 1);
      EXPECT_TRUE(is_mapped(block));
      EXPECT_TRUE(test::has_all(block, early[i].bytes, i));
    }
    free_block(block);
  }
  early.clear();
  EXPECT_TRUE(test::space_is_sound());
}

TEST_F(MappedTest, AddressesAreUsedAgainWhenManyOthersWereFreed) {
  const size_t slots = mapped::pool.settings.quarantine_bytes / slice_bytes;
  std::set<void*> seen;
  void* first = nullptr;
  for (size_t i = 0; i < 10 * slots; i++) {
    void* block = allocate(40);
    if (i == 0) first = block;
    if (i > 0 && i <= slots) {
      EXPECT_NE(block, first) << i;
    }
    seen.insert(block);
    free_block(block);
    EXPECT_LE(mapped::pool.quarantined_bytes, mapped::pool.settings.quarantine_bytes);
  }
  EXPECT_GE(seen.size(), slots);
  EXPECT_LE(seen.size(), 3 * slots) << "the quarantine is not bounded";
}

TEST_F(MappedTest, FreedBlocksCostFewMappings) {
  const size_t mappings = test::mapping_count();
  const size_t part = mapped::pool.settings.mappings / mapped::quarantine_mappings_part;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 2000; i++) blocks.push_back(allocate(100));
  const size_t with_live = test::mapping_count();
  const size_t of_each = mapped::pool.has_guards ? 0 : mapped::live_mappings;
  EXPECT_LE(with_live, mappings + 2000 * of_each + 20);
  for (void* block : blocks) free_block(block);
  EXPECT_LE(test::mapping_count(), mappings + 40) << "of freed small blocks";
  for (size_t i = 0; i < 3 * part; i++) free_block(allocate(100 * kib));
  EXPECT_LE(mapped::pool.quarantined_mappings, part);
  EXPECT_LE(test::mapping_count(), mappings + part + 40);
}

// Both sums are off by some, either way; then the rest.
void expect_equations(mapped::Pool& pool) {
  Held held{space.lock()};
  ASSERT_TRUE(pool.is_sound());
  for (size_t* number : {&pool.quarantined_bytes, &pool.quarantined_mappings}) {
    *number += slice_bytes;
    EXPECT_FALSE(pool.is_sound()) << "too much";
    *number -= 2 * slice_bytes;
    EXPECT_FALSE(pool.is_sound()) << "too little";
    *number += slice_bytes;
    EXPECT_TRUE(pool.is_sound());
  }
  ASSERT_NE(pool.quarantine.first, nullptr);
  pool.quarantine.first->state = mapped::State::live;
  EXPECT_FALSE(pool.is_sound()) << "a live block in the quarantine";
  pool.quarantine.first->state = mapped::State::freed;
  const size_t live = special_pool.live_count;
  special_pool.live_count = 0;
  EXPECT_FALSE(pool.is_sound()) << "bytes without a block";
  special_pool.live_count = live;
  EXPECT_TRUE(pool.is_sound());
}

TEST_F(MappedTest, EachCounterHasItsEquation) {
  void* block = allocate(100);
  free_block(allocate(200));
  free_block(allocate(200 * kib));
  expect_equations(mapped::pool);
  free_block(block);
}

TEST_F(MappedTest, OrdinaryBlocksBeyondTheirBound) {
  mapped::Pool& pool = mapped::pool;
  const size_t blocks_before = pool.settings.blocks;
  pool.has_warned = false;
  pool.settings.blocks = special_pool.live_count + 20;
  testing::internal::CaptureStderr();
  std::vector<void*> blocks;
  size_t mapped_count = 0;
  for (size_t i = 0; i < 100; i++) {
    blocks.push_back(i % 2 == 0 ? allocate(1000) : allocate_aligned(64, 300));
    ASSERT_NE(blocks.back(), nullptr);
    test::fill_all(blocks.back(), 300, i);
    mapped_count += is_mapped(blocks.back()) ? 1 : 0;
  }
  void* batch[4] = {};
  EXPECT_EQ(allocate_batch(50, 4, batch), 4u);
  for (void* block : batch) free_block(block);
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(warning.find("talus: no more blocks, mappings or addresses"), 0u) << warning;
  EXPECT_EQ(warning.find('\n'), warning.size() - 1) << "not one line: " << warning;
  EXPECT_LE(mapped_count, 20u);
  EXPECT_GE(mapped_count, 15u);
  for (size_t i = 0; i < blocks.size(); i++) {
    EXPECT_TRUE(test::has_all(blocks[i], 300, i));
    void* moved = reallocate(blocks[i], 350);  // of each kind, to each kind
    EXPECT_TRUE(test::has_all(moved, 300, i));
    free_block(moved);
  }
  void* again = allocate(10);
  EXPECT_TRUE(is_mapped(again)) << "others have ended";
  free_block(again);
  pool.settings.blocks = blocks_before;
}

// They end behind what was asked for.
TEST_F(MappedTest, BlocksThatAreZeroAreAligned) {
  for (const size_t alignment : {size_t{1}, size_t{8}, size_t{16}}) {
    void* block = allocate_zeroed_whole(alignment, 82001);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % block_alignment, 0u) << alignment;
    free_block(block);
  }
}

TEST_F(MappedTest, OrdinaryBlocksAreZeroToTheirEnd) {
  mapped::Pool& pool = mapped::pool;
  const size_t blocks_before = pool.settings.blocks;
  pool.has_warned = true;  // standard error is the test's
  void* mapped_block = allocate(10);
  pool.settings.blocks = special_pool.live_count;
  for (const size_t bytes : {100u, 5000u, 33000u, 100001u, 300001u}) {
    void* dirty = allocate(bytes);
    ASSERT_FALSE(is_mapped(dirty));
    memset(dirty, 0xee, usable_size(dirty));
    free_block(dirty);
    void* block = allocate_zeroed_whole(block_alignment, bytes);
    EXPECT_GT(usable_size(block), bytes);
    EXPECT_TRUE(test::is_zero(block, usable_size(block))) << bytes;
    memset(block, 0xee, bytes);
    block = reallocate_zeroed(block, usable_size(block));
    EXPECT_TRUE(test::is_zero(bytes_of(block) + bytes, usable_size(block) - bytes)) << bytes;
    free_block(block);
  }
  free_block(mapped_block);
  pool.settings.blocks = blocks_before;
}

TEST_F(MappedTest, AddressesAreBounded) {
  mapped::Pool& pool = mapped::pool;
  pool.has_warned = true;
  const size_t bytes = 10 * mib;
  pool.settings.address_bytes = pool.address_bytes + 5 * bytes / 2;
  void* blocks[4] = {};
  for (void*& block : blocks) block = allocate(bytes);
  EXPECT_TRUE(is_mapped(blocks[0]));
  EXPECT_TRUE(is_mapped(blocks[1]));
  EXPECT_FALSE(is_mapped(blocks[2]));
  EXPECT_FALSE(is_mapped(blocks[3]));
  for (void* block : blocks) free_block(block);
  void* again = allocate(bytes);
  EXPECT_TRUE(is_mapped(again)) << "addresses of freed blocks are used again early";
  free_block(again);
  pool.settings.address_bytes = 0;
}

TEST_F(MappedTest, TotalsCountSuchBlocks) {
  const HeapTotals before = collect_totals();
  void* small = allocate(100);
  void* large = allocate(3 * mib);
  const HeapTotals after = collect_totals();
  EXPECT_EQ(after.live_large - before.live_large, 100 + 3 * mib);
  EXPECT_EQ(after.live_large_count - before.live_large_count, 2u);
  free_block(small);
  free_block(large);
  EXPECT_EQ(collect_totals().live_large, before.live_large);
}

}  // namespace
}  // namespace talus::core
