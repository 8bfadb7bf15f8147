// SPDX-License-Identifier: MIT
// tests/unit/store/large: blocks of their own range: kept for the next one, given back, bounded.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

TEST(Large, UsableSizeIsWholePages) {
  for (size_t bytes = medium_bytes_max + 1; bytes < 3 * mib; bytes += 70001) {
    void* at = allocate(bytes);
    ASSERT_NE(at, nullptr);
    ASSERT_EQ(usable_size(at), round_up(bytes, os::page_bytes()));
    test::fill_pattern(at, usable_size(at), bytes);
    ASSERT_TRUE(test::has_pattern(at, usable_size(at), bytes));
    free_block(at);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Large, AFreedBlockServesTheNextOfItsSize) {
  test::live_bytes();
  void* first = allocate(300 * kib);
  free_block(first);
  EXPECT_EQ(collect_totals().live(), 0u);
  EXPECT_GE(collect_totals().kept_large, 300 * kib);
  void* second = allocate(299 * kib);
  EXPECT_EQ(second, first);
  EXPECT_EQ(collect_totals().kept_large, 0u);
  EXPECT_EQ(usable_size(second), round_up(299 * kib, os::page_bytes()));
  free_block(second);
  void* other = allocate(400 * kib);  // too much for the kept one
  EXPECT_NE(other, first);
  free_block(other);
}

TEST(Large, KeptBlocksAreBounded) {
  std::vector<void*> blocks;
  for (int i = 0; i < 40; i++) blocks.push_back(allocate((i % 5 + 7) * 40 * kib));
  for (void* block : blocks) {
    free_block(block);
    ASSERT_LE(collect_totals().kept_large, large_kept_bytes_max);
  }
  EXPECT_EQ(collect_totals().live_large_count, 0u);
  test::quiet_totals();
  EXPECT_EQ(collect_totals().kept_large, 0u);
}

TEST(Large, FreedMemoryIsGivenBackByTrim) {
  std::vector<void*> blocks;
  for (int i = 0; i < 8; i++) {
    blocks.push_back(allocate(4 * mib));
    test::fill_pattern(blocks.back(), 4 * mib, 1);
  }
  for (void* block : blocks) free_block(block);
  EXPECT_GE(collect_totals().dirty, 30 * mib);
  EXPECT_GE(purge_beyond(0), 30 * mib);
  EXPECT_EQ(collect_totals().dirty, 0u);
  auto* again = static_cast<unsigned char*>(allocate(4 * mib));
  EXPECT_TRUE(test::is_zero(again, 4 * mib));
  free_block(again);
}

TEST(Large, ImpossibleSizesAreRefused) {
  for (size_t bytes : {size_t{PTRDIFF_MAX}, ~size_t{0}, size_t{1} << 62, size_t{1} << 48}) {
    EXPECT_EQ(allocate(bytes), nullptr) << bytes;
    EXPECT_EQ(allocate_zeroed(bytes), nullptr) << bytes;
    void* small = allocate(100);
    void* large = allocate(100 * kib);
    test::fill_pattern(small, 100, 3);
    test::fill_pattern(large, 100 * kib, 4);
    EXPECT_EQ(reallocate(small, bytes), nullptr) << bytes;
    EXPECT_EQ(reallocate(large, bytes), nullptr) << bytes;
    EXPECT_TRUE(test::has_pattern(small, 100, 3));
    EXPECT_TRUE(test::has_pattern(large, 100 * kib, 4));
    free_block(small);
    free_block(large);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(is_sound_at_rest());
}

TEST(Large, ZeroedOnRecycledMemory) {
  for (size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, 40 * kib, 300 * kib, 3 * mib,
                       calloc_purge_bytes_min + 12345}) {
    for (int round = 0; round < 3; round++) {
      void* dirty = allocate(bytes);
      ASSERT_NE(dirty, nullptr);
      test::fill_pattern(dirty, usable_size(dirty), bytes);
      free_block(dirty);
      auto* zeroed = static_cast<unsigned char*>(allocate_zeroed(bytes));
      ASSERT_NE(zeroed, nullptr);
      // One assertion for all bytes: one for each would take minutes under a sanitizer.
      size_t sum = 0;
      for (size_t i = 0; i < bytes; i++) sum += zeroed[i];
      ASSERT_EQ(sum, 0u) << bytes;
      free_block(zeroed);
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A block is written to its end, then becomes smaller where it is. It leaves written pages behind
// its end; when the kernel moves it away, these must not pass for untouched.
TEST(Large, ZeroedAfterAShrunkenBlockWasMoved) {
  test::live_bytes();
  void* at = allocate(1 * mib);
  test::fill_pattern(at, 1 * mib, 1);
  at = reallocate(at, 850 * kib);
  void* wall = allocate(64 * kib);
  at = reallocate(at, 8 * mib);
  std::vector<void*> zeroed;
  for (int i = 0; i < 8; i++) {
    zeroed.push_back(allocate_zeroed(1 * mib));
    EXPECT_TRUE(test::is_zero(zeroed.back(), 1 * mib)) << "calloc " << i;
  }
  for (void* block : zeroed) free_block(block);
  free_block(at);
  free_block(wall);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
