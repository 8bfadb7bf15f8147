// SPDX-License-Identifier: MIT
// tests/unit/cache/fitting: sizes that a program asks for often get a class of their own. Its
// blocks are like all others, and begin in different sets of a processor's cache.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "cache/fitting.hpp"
#include "classes/fitted.hpp"
#include "effort.hpp"
#include "instances/reshape.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

std::vector<void*> allocate_all(size_t bytes, size_t count) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < count; i++) {
    blocks.push_back(allocate(bytes));
    test::fill_pattern(blocks.back(), bytes, i);
  }
  return blocks;
}
void free_all(const std::vector<void*>& blocks, size_t bytes) {
  for (size_t i = 0; i < blocks.size(); i++) {
    ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i));
    free_block(blocks[i]);
  }
}
bool has_class_of_its_own(size_t bytes) {
  ClassId id{};
  return fitted_classes.find(bytes, id);
}
size_t most_in_one_set(const std::vector<void*>& blocks) {
  size_t sets[64] = {}, most = 0;
  for (const void* block : blocks) {
    size_t& count = sets[reinterpret_cast<uintptr_t>(block) / cache_line_bytes % 64];
    most = ++count > most ? count : most;
  }
  return most;
}

// A first-level cache has 8 ways or more.
TEST(Fitting, NeighboursOfOneSizeBeginInDifferentSets) {
  for (const size_t bytes : {size_t{40000}, 64 * kib, 64 * kib + 1, 256 * kib}) {
    const std::vector<void*> blocks = allocate_all(bytes, 64);
    EXPECT_LE(most_in_one_set(blocks), 8u) << bytes;
    EXPECT_EQ(usable_size(blocks.back()), fitted_bytes_of(bytes));
    free_all(blocks, bytes);
  }
  // Small ones leave slabs several at a time, before there is a class.
  const std::vector<void*> blocks = allocate_all(16 * kib, 64);
  EXPECT_LE(most_in_one_set(blocks), 16u);
  free_all(blocks, 16 * kib);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Fitting, SmallSizesNeedALongRowAndAGain) {
  free_all(allocate_all(4097, 400), 4097);
  EXPECT_TRUE(has_class_of_its_own(4097));
  free_all(allocate_all(8 * kib, 400), 8 * kib);
  EXPECT_FALSE(has_class_of_its_own(8 * kib)) << "nothing is saved";
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Either a block has a class of its own, or its slices have little room behind it.
TEST(Fitting, NoSizeOfAMebibyteOrLessCostsATenthMore) {
  for (size_t bytes = 4 * kib + 1; bytes <= fitted_bytes_max; bytes += 61) {
    const double size = static_cast<double>(bytes);
    double cost = static_cast<double>(usual_bytes_each(bytes)) / size;
    const SizeClass row = derive_fitted_class(bytes);
    if (is_worth_a_class(bytes, row)) {
      const double share = static_cast<double>(fitted_share_of(row.block_bytes, row.slab_slices));
      cost = static_cast<double>(row.block_bytes) / size * 65536 / share;
    }
    ASSERT_LE(cost, 1.10) << bytes;
  }
}

// Nothing waits in a list, so that a second free is always told (tests/death/large_blocks).
TEST(Fitting, LargeBlocksGoToTheirSlabsAtOnce) {
  constexpr size_t bytes = 300 * 1000;
  std::vector<void*> blocks = allocate_all(bytes, 40);
  ASSERT_TRUE(has_class_of_its_own(bytes));
  EXPECT_LE(most_in_one_set(blocks), 16u) << "the first ones have no class";
  for (int round = 0; round < 3; round++) {
    void* const block = blocks.back();
    EXPECT_EQ(usable_size(block), fitted_bytes_of(bytes));
    free_block(block);
    ThreadCache* const cache = cache_behind(current_context());
    EXPECT_EQ(list_length(*cache, ClassId{uint8_t{fitted_medium_first}}), 0u);
    blocks.back() = allocate(bytes);
    EXPECT_EQ(blocks.back(), block);
    test::fill_pattern(block, bytes, blocks.size() - 1);
  }
  free_all(blocks, bytes);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// A refusal is remembered until the thread asks for another size.
TEST(Fitting, PowersOfTwoAbove256KiBStayBlocksOfTheirOwn) {
  for (const size_t bytes : {512 * kib, mib}) {
    free_all(allocate_all(bytes, 20), bytes);
    EXPECT_FALSE(has_class_of_its_own(bytes));
  }
  constexpr size_t bytes = 512 * kib + 1;
  free_all(allocate_all(bytes, 20), bytes);
  EXPECT_TRUE(has_class_of_its_own(bytes));
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Fitting, ManySizesAtOnceGoOnWithFixedClasses) {
  const size_t before = fitted_classes.count();
  test::Random random{test::seed_of("Fitting.Random")};
  std::vector<void*> blocks;
  for (size_t round = 0; round < test::rounds_of(20000); round++) {
    blocks.push_back(allocate(32 * kib + 1 + random.below(224 * kib)));
    if (blocks.size() < 200) continue;
    std::swap(blocks[random.below(blocks.size())], blocks.back());
    free_block(blocks.back());
    blocks.pop_back();
  }
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(fitted_classes.count(), before);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// As vectors of a machine's widest instructions ask for.
TEST(Fitting, BlocksAtALineBeginInDifferentSetsToo) {
  for (const size_t bytes : {size_t{40000}, 256 * kib, size_t{300 * 1000}, mib}) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 64; i++) {
      blocks.push_back(allocate_aligned(cache_line_bytes, bytes));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % cache_line_bytes, 0u);
      test::fill_pattern(blocks.back(), bytes, i);
    }
    EXPECT_LE(most_in_one_set(blocks), bytes == mib ? 64u : 16u) << bytes;
    EXPECT_EQ(has_class_of_its_own(bytes), bytes != mib) << bytes;
    // One that is at hand serves.
    free_block(blocks.back());
    void* const again = allocate_aligned(32, bytes);
    EXPECT_EQ(again, blocks.back()) << bytes;
    test::fill_pattern(again, bytes, blocks.size() - 1);
    free_all(blocks, bytes);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Fitting, AlignedBlocksStayWhatTheyWere) {
  free_all(allocate_all(64 * kib, 20), 64 * kib);
  ASSERT_TRUE(has_class_of_its_own(64 * kib));
  for (int i = 0; i < 20; i++) {
    void* block = allocate_aligned(64 * kib, 64 * kib);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (64 * kib), 0u);
    free_block(block);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

// calloc knows what was never touched, also where blocks share pages.
void expect_zeroed_blocks(size_t bytes) {
  free_all(allocate_all(bytes, 40), bytes);
  ASSERT_TRUE(has_class_of_its_own(bytes));
  const std::vector<char> zeroes(bytes, 0);
  for (int round = 0; round < 4; round++) {
    std::vector<void*> blocks;
    for (int i = 0; i < 60; i++) {
      blocks.push_back(allocate_zeroed(bytes));
      ASSERT_EQ(std::memcmp(blocks.back(), zeroes.data(), bytes), 0);
      std::memset(blocks.back(), 1, bytes);
    }
    for (size_t i = round % 2; i < blocks.size(); i += 2) free_block(blocks[i]);
    purge_bytes(SIZE_MAX);
    for (size_t i = 1 - round % 2; i < blocks.size(); i += 2) free_block(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}
TEST(Fitting, ZeroedBlocksAreZero) {
  expect_zeroed_blocks(100 * 1000);
  expect_zeroed_blocks(300 * 1000);
}

// A block that is to be zero to its end has the class that its size promises.
TEST(Fitting, WholeZeroedBlocksAreZeroToTheirEnds) {
  for (const size_t bytes : {80 * kib, 160 * kib}) {
    free_all(allocate_all(bytes, 40), bytes);
    ASSERT_TRUE(has_class_of_its_own(bytes));
    for (int i = 0; i < 40; i++) {
      auto* const block = static_cast<char*>(allocate_zeroed_whole(1, bytes));
      const size_t usable = usable_size(block);
      for (size_t at = bytes - 100; at < usable; at++) ASSERT_EQ(block[at], 0) << at;
      std::memset(block, 1, usable);
      free_block(block);
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A purge takes the pages of free blocks, and nothing of those between them.
void expect_holes_to_go(size_t bytes) {
  std::vector<void*> blocks = allocate_all(bytes, 256);
  for (size_t i = 0; i < blocks.size(); i += 2) free_block(blocks[i]);
  purge_bytes(SIZE_MAX);
  std::vector<unsigned char> pages(bytes / page_bytes_min);
  size_t resident = 0;
  for (size_t i = 64; i < blocks.size(); i += 2) {  // the first ones have the fixed class
    const uintptr_t first = round_up(reinterpret_cast<uintptr_t>(blocks[i]), page_bytes_min);
    ASSERT_TRUE(os::System::look_for_pages(reinterpret_cast<void*>(first), bytes - page_bytes_min,
                                           pages.data()));
    for (size_t page = 0; page < pages.size() - 1; page++) resident += pages[page] & 1;
  }
  EXPECT_EQ(resident, 0u) << "pages of free blocks";
  for (size_t i = 1; i < blocks.size(); i += 2) {
    ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i));
  }
  for (size_t i = 0; i < blocks.size(); i += 2) blocks[i] = allocate(bytes);
  for (size_t i = 0; i < blocks.size(); i += 2) test::fill_pattern(blocks[i], bytes, i);
  free_all(blocks, bytes);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Fitting, HolesGoBackAndLiveBlocksStay) {
  expect_holes_to_go(64 * kib);
  expect_holes_to_go(300 * 1000);
}

void expect_use_by_others(size_t bytes) {
  std::vector<void*> blocks = allocate_all(bytes, 200);
  std::thread{[&blocks, bytes] {
    for (size_t i = 0; i < blocks.size(); i += 2) {
      ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i));
      free_block(blocks[i]);
    }
  }}.join();
  for (size_t i = 1; i < blocks.size(); i += 2) {
    void* const larger = reallocate(blocks[i], 3 * bytes);
    ASSERT_TRUE(test::has_pattern(larger, bytes, i));
    free_block(larger);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Fitting, OtherThreadsAndResizesUseThem) {
  expect_use_by_others(48 * kib + 5);
  expect_use_by_others(300 * 1000);
}

// Where each slab must keep its class, or there is a small limit, no class is made.
TEST(Fitting, OptionsAndLimitsThatForbidThem) {
  constexpr size_t bytes = 200 * 1000;
  options.keep_classes = true;
  free_all(allocate_all(bytes, 20), bytes);
  EXPECT_FALSE(has_class_of_its_own(bytes));
  options.keep_classes = false;
  const size_t limit = limits.hard_bytes.load_relaxed();
  limits.hard_bytes.store_relaxed(16 * mib);
  free_all(allocate_all(bytes, 20), bytes);
  EXPECT_FALSE(has_class_of_its_own(bytes));
  limits.hard_bytes.store_relaxed(limit);
  free_all(allocate_all(bytes, 20), bytes);
  EXPECT_TRUE(has_class_of_its_own(bytes));
}

}  // namespace
}  // namespace talus::core
