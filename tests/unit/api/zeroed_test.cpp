// SPDX-License-Identifier: MIT
// tests/unit/api/zeroed: blocks that are zero to their end, and stay so behind what was asked for.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "api/extended.hpp"
#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

bool is_all_zero(const void* block, size_t from, size_t to) {
  const auto* at = static_cast<const unsigned char*>(block);
  for (size_t i = from; i < to; i++) {
    if (at[i] != 0) return false;
  }
  return true;
}

// Leaves free blocks of this size behind whose every byte is written.
void leave_dirty(size_t bytes) {
  void* blocks[8];
  for (void*& block : blocks) {
    block = api::malloc(bytes);
    memset(block, 0xa5, usable_size(block));
  }
  for (void* block : blocks) free_block(block);
}

TEST(Zeroed, WholeBlocksAreZero) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{33}, size_t{1000}, size_t{5000},
                             small_bytes_max, small_bytes_max + 1, 3 * slice_bytes + 5}) {
    leave_dirty(bytes);
    void* block = api::calloc_whole(block_alignment, 1, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_all_zero(block, 0, usable_size(block))) << bytes;
    free_block(block);
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, 2 * slice_bytes}) {
      leave_dirty(bytes);
      block = api::calloc_whole(alignment, bytes, 1);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      EXPECT_GE(usable_size(block), bytes);
      EXPECT_TRUE(is_all_zero(block, 0, usable_size(block))) << bytes << " at " << alignment;
      free_block(block);
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The program writes all it asked for at each step; what it has more at the next one is zero.
TEST(Zeroed, ResizingKeepsTheRestZero) {
  test::Random random{test::seed_of("Zeroed.Resizing")};
  for (size_t round = 0; round < test::rounds_of(400) + 10; round++) {
    const unsigned bits_max = round % 10 == 0 ? 21 : 14;
    size_t bytes = random.of_any_length(bits_max);
    leave_dirty(bytes);
    void* at = round % 2 == 0 ? api::rezalloc(nullptr, bytes) : api::recalloc(nullptr, 1, bytes);
    for (int step = 0; step < 10; step++) {
      ASSERT_NE(at, nullptr);
      ASSERT_TRUE(is_all_zero(at, bytes, usable_size(at))) << bytes;
      memset(at, 0xff, bytes);
      const size_t wanted = 1 + random.of_any_length(bits_max);
      leave_dirty(wanted);
      at = step % 2 == 0 ? api::rezalloc(at, wanted) : api::recalloc(at, wanted, 1);
      ASSERT_NE(at, nullptr);
      const size_t kept = bytes < wanted ? bytes : wanted;
      ASSERT_TRUE(is_all_zero(at, kept, usable_size(at))) << bytes << " to " << wanted;
      for (size_t i = 0; i < kept; i++) {
        ASSERT_EQ(static_cast<unsigned char*>(at)[i], 0xff) << bytes << " to " << wanted;
      }
      bytes = wanted;
    }
    free_block(at);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// A large block grows, shrinks and grows again where it is: old bytes do not come back.
TEST(Zeroed, LargeBlocksShrinkAndGrow) {
  char* at = static_cast<char*>(api::rezalloc(nullptr, 4 * mib));
  memset(at, 0xff, 4 * mib);
  at = static_cast<char*>(api::rezalloc(at, 3 * mib + 100));
  at = static_cast<char*>(api::rezalloc(at, 8 * mib));
  ASSERT_NE(at, nullptr);
  EXPECT_TRUE(is_all_zero(at, 3 * mib + 100, 8 * mib));
  EXPECT_EQ(at[3 * mib + 99], static_cast<char>(0xff));
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Zeroed, Errors) {
  errno = 0;
  EXPECT_EQ(api::calloc_whole(64, SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(api::calloc_whole(48, 1, 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(api::rezalloc(nullptr, SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  char* block = static_cast<char*>(api::rezalloc(nullptr, 100));
  memset(block, 7, 100);
  for (const size_t count : {SIZE_MAX / 2, size_t{1}}) {
    errno = 0;
    EXPECT_EQ(api::recalloc(block, count, SIZE_MAX / 3), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  EXPECT_EQ(block[99], 7) << "the block is untouched";
  errno = 5;
  EXPECT_EQ(api::rezalloc(block, 0), nullptr) << "frees";
  EXPECT_EQ(errno, 5);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
