// SPDX-License-Identifier: MIT
// tests/unit/cache/medium: blocks between small and large: several to a slab, kept within what a
// thread may keep, zero without being touched while the program has not touched them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"
#include "space_counts.hpp"

namespace talus::core {
namespace {

class Medium : public test::FixedClasses {};

size_t resident_pages(const void* at, size_t bytes) {
  std::vector<unsigned char> pages(bytes / page_bytes_min);
  EXPECT_TRUE(os::System::look_for_pages(const_cast<void*>(at), bytes, pages.data()));
  size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

using test::given_bytes;

TEST_F(Medium, BlocksShareTheirSlabsWithLittleRest) {
  for (size_t index = small_class_count; index < fixed_class_count; index++) {
    test::live_bytes();
    const size_t before = given_bytes();
    const size_t bytes = size_class_table.rows[index].block_bytes;
    const size_t count = 8 * size_t{size_class_table.rows[index].block_count};
    std::vector<void*> blocks;
    for (size_t i = 0; i < count; i++) {
      blocks.push_back(allocate(bytes - i));
      ASSERT_EQ(usable_size(blocks.back()), bytes);
      test::fill_pattern(blocks.back(), bytes, i);
    }
    EXPECT_LE((given_bytes() - before) * (slab_rest_part - 1), count * bytes * slab_rest_part);
    for (size_t i = 0; i < count; i++) {
      ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i));
      free_block(blocks[i]);
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// In lists and as kept large blocks together, whatever sizes come in which order.
TEST_F(Medium, WhatAThreadKeepsIsBounded) {
  ThreadCache& cache = test::own_cache();
  const auto kept = [&cache] {
    size_t bytes = cache.kept.bytes.load_relaxed();
    for (size_t index = small_class_count; index < fixed_class_count; index++) {
      const ClassId id{static_cast<uint8_t>(index)};
      bytes += list_length(cache, id) * size_class_row(id).block_bytes;
    }
    return bytes;
  };
  test::Random random{test::seed_of("Medium.Bound")};
  std::vector<void*> blocks;
  size_t most = 0;
  for (size_t round = 0; round < test::rounds_of(20000) + 1000; round++) {
    if (blocks.size() < 20 || random.below(2) == 0) {
      blocks.push_back(allocate(small_bytes_max + 1 + random.below(400 * kib)));
    } else {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      free_block(blocks.back());
      blocks.pop_back();
    }
    ASSERT_LE(kept(), large_kept_bytes_max);
    most = kept() > most ? kept() : most;
  }
  EXPECT_GT(most, large_kept_bytes_max / 2) << "little is kept";
  for (void* block : blocks) free_block(block);
  EXPECT_LE(kept(), large_kept_bytes_max);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Medium, AFreedBlockServesTheNextOfItsSizeAndALittleLess) {
  test::live_bytes();
  void* first = allocate(75 * kib);
  free_block(first);
  EXPECT_EQ(allocate(80 * kib), first);
  free_block(first);
  EXPECT_EQ(allocate(60 * kib), first) << "memory that was touched comes first";
  EXPECT_EQ(usable_size(first), 80 * kib);
  free_block(first);
  void* smaller = allocate(40 * kib);
  EXPECT_NE(smaller, first) << "half of it would be wasted";
  void* aligned = allocate_aligned(slice_bytes, 60 * kib);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % slice_bytes, 0u);
  free_block(smaller);
  free_block(aligned);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// ... but not for ever: where sizes come at random, each class has a block then.
TEST_F(Medium, AClassThatOftenBorrowsGetsABlockOfItsOwn) {
  ThreadCache& cache = test::own_cache();
  for (const bool may_keep_more : {true, false}) {
    test::live_bytes();  // lists are empty
    if (!may_keep_more) {
      // With these and the larger block there is no room for the other one.
      constexpr size_t most = large_kept_slices * slice_bytes;
      size_t left = kept_bytes_most() - 2 * slice_bytes;
      std::vector<void*> blocks;
      for (; left > medium_bytes_max; left -= std::min(left, most)) {
        blocks.push_back(allocate(std::min(left, most)));
      }
      for (void* block : blocks) free_block(block);
      ASSERT_EQ(cache.kept.bytes.load_relaxed(), kept_bytes_most() - 2 * slice_bytes - left);
      ASSERT_LE(left, slice_bytes);
    }
    void* larger = allocate(80 * kib);
    free_block(larger);
    size_t own = 0;
    for (uint32_t turn = 0; turn < 3 * borrowed_count_most; turn++) {
      void* block = allocate(60 * kib);
      own += block != larger;
      free_block(block);
    }
    if (may_keep_more) {
      EXPECT_EQ(own, 2 * borrowed_count_most);
      EXPECT_EQ(list_length(cache, class_of(60 * kib)), 1u);
    } else {
      EXPECT_EQ(own, 0u) << "two would not fit into what the thread may keep";
    }
    flush_all(cache);
  }
}

// Where sizes come at random all classes are in use, and none of their blocks should have to come
// from a slab.
TEST_F(Medium, AThreadMayKeepABlockOfEachClass) {
  ThreadCache& cache = test::own_cache();
  test::live_bytes();  // lists are empty
  std::vector<void*> blocks;
  for (size_t index = small_class_count; index < fixed_class_count; index++) {
    blocks.push_back(allocate(size_class_table.rows[index].block_bytes));
  }
  for (void* block : blocks) free_block(block);
  for (size_t index = small_class_count; index < fixed_class_count; index++) {
    EXPECT_EQ(list_length(cache, ClassId{static_cast<uint8_t>(index)}), 1u) << index;
  }
  flush_all(cache);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Blocks that lie at other multiples wait in the lists meanwhile.
TEST_F(Medium, AlignedBlocksAreAligned) {
  std::vector<void*> blocks;
  for (size_t round = 0; round < 2; round++) {
    for (size_t bytes = small_bytes_max / 2; bytes <= 300 * kib; bytes += 5555) {
      for (size_t alignment = 16; alignment <= 2 * slice_bytes; alignment *= 2) {
        void* block = allocate_aligned(alignment, bytes);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u) << bytes;
        ASSERT_GE(usable_size(block), bytes);
        blocks.push_back(block);
        if (blocks.size() < 40) continue;
        free_block(blocks[blocks.size() - 40]);
        blocks[blocks.size() - 40] = nullptr;
      }
    }
  }
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(Medium, ZeroedBlocksOfUntouchedMemoryStayUntouched) {
  if (!kernel_tells_pages()) GTEST_SKIP() << "the kernel does not tell which pages are resident";
  test::live_bytes();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 40; i++) {
    blocks.push_back(allocate_zeroed(100 * kib));
    ASSERT_EQ(resident_pages(blocks.back(), 96 * kib), 0u) << i;
  }
  for (void* block : blocks) {
    ASSERT_TRUE(test::is_zero(static_cast<unsigned char*>(block), 100 * kib));
    memset(block, 1, 100 * kib);
    free_block(block);
  }
  for (size_t i = 0; i < 40; i++) {  // the same again
    blocks[i] = i % 2 == 0 ? allocate_zeroed(100 * kib) : allocate(90 * kib);
    if (i % 2 == 0) {
      ASSERT_TRUE(test::is_zero(static_cast<unsigned char*>(blocks[i]), 100 * kib));
    }
    memset(blocks[i], 1, 90 * kib);
  }
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A block in a slab in use is a hole; once its pages are gone it is as good as new.
TEST_F(Medium, PurgedBlocksAreZeroWithoutBeingTouched) {
  if (!kernel_tells_pages()) GTEST_SKIP() << "the kernel does not tell which pages are resident";
  test::live_bytes();
  void* stays = allocate(160 * kib);
  void* goes = allocate(160 * kib);
  ASSERT_EQ(page_map.descriptor_of(reinterpret_cast<uintptr_t>(stays)),
            page_map.descriptor_of(reinterpret_cast<uintptr_t>(goes)));
  test::fill_pattern(stays, 160 * kib, 1);
  memset(goes, 2, 160 * kib);
  free_block(goes);
  ASSERT_EQ(resident_pages(goes, 160 * kib), 160 * kib / os::page_bytes());
  purge_beyond(0);
  ASSERT_EQ(resident_pages(goes, 160 * kib), 0u);
  void* again = allocate_zeroed(160 * kib);
  EXPECT_EQ(again, goes);
  EXPECT_EQ(resident_pages(again, 160 * kib), 0u);
  EXPECT_TRUE(test::is_zero(static_cast<unsigned char*>(again), 160 * kib));
  EXPECT_TRUE(test::has_pattern(stays, 160 * kib, 1));
  free_block(again);
  free_block(stays);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// By little: it gets a range of its own, which grows in place, so bytes are copied seldom.
TEST_F(Medium, BlocksThatGrowByLittleMoveSeldom) {
  auto* at = static_cast<char*>(allocate(40 * kib));
  at[0] = 7;
  size_t moves = 0, moved_bytes = 0;
  for (size_t bytes = 40 * kib; bytes <= mib; bytes += 64) {
    char* before = at;
    at = static_cast<char*>(reallocate(at, bytes));
    ASSERT_NE(at, nullptr);
    if (at != before) moves++, moved_bytes += bytes;
    at[bytes - 1] = 1;
  }
  EXPECT_EQ(at[0], 7);
  EXPECT_LE(moves, 8u);
  EXPECT_LE(moved_bytes, 2 * mib);
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(Medium, BlocksThatShrinkByAQuarterGiveItUp) {
  void* at = allocate(256 * kib);
  test::fill_pattern(at, 256 * kib, 3);
  EXPECT_EQ(reallocate(at, 200 * kib), at);
  void* moved = reallocate(at, 150 * kib);
  EXPECT_EQ(usable_size(moved), 160 * kib);
  EXPECT_TRUE(test::has_kept_pattern(moved, 256 * kib, 150 * kib, 3));
  moved = reallocate(moved, 1000);
  EXPECT_LT(usable_size(moved), size_t{2000});
  free_block(moved);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What doubles is as large as asked for; bytes survive all ways between small, medium and large.
TEST_F(Medium, BlocksThatDoubleStayTight) {
  size_t bytes = 10 * kib;
  void* at = allocate(bytes);
  test::fill_pattern(at, bytes, 9);
  while (bytes < 160 * kib) {
    at = reallocate(at, 2 * bytes);
    EXPECT_EQ(usable_size(at), 2 * bytes);
    ASSERT_TRUE(test::has_kept_pattern(at, bytes, bytes, 9));
    bytes *= 2;
    test::fill_pattern(at, bytes, 9);
  }
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Another thread's blocks go home; none of them stays with the freeing thread.
TEST_F(Medium, BlocksFreedElsewhereAreUsedAgain) {
  test::live_bytes();
  size_t most = 0;
  const size_t before = given_bytes();
  for (int round = 0; round < 50; round++) {
    std::vector<void*> blocks;
    for (int i = 0; i < 16; i++) blocks.push_back(allocate(100 * kib));
    test::on_threads(1, [&](size_t) {
      for (void* block : blocks) free_block(block);
    });
    most = given_bytes() - before > most ? given_bytes() - before : most;
  }
  EXPECT_LT(most, 4 * mib) << "of 1.75 MiB that live at a time";
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
