// SPDX-License-Identifier: MIT
// tests/unit/reclaim/resized: what realloc returns of large blocks serves again or goes by its age.
#include <gtest/gtest.h>

#include <vector>

#include "passes.hpp"
#include "pattern.hpp"
#include "quiet.hpp"
#include "space_counts.hpp"

namespace talus::core {
namespace {

using test::dirty_bytes;
using test::given_bytes;
using test::make_passes;
using test::purged_bytes;

class ResizedTest : public test::OwnPasses {};

// Blocks of these bytes, written, so that their pages are there.
std::vector<void*> take_written(size_t count, size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = allocate(bytes);
    test::fill_pattern(block, bytes, 1);
  }
  return blocks;
}

TEST_F(ResizedTest, WhatShrinkingLeavesIsOffered) {
  const std::vector<void*> blocks = take_written(32, 384 * kib);
  purge_request.is_much.store_relaxed(false);
  for (void* block : blocks) {
    ASSERT_EQ(reallocate(block, 192 * kib), block);
  }
  ASSERT_GT(dirty_bytes(), purge_request_bytes_min);
  EXPECT_TRUE(purge_request.is_much.load_relaxed());
  for (void* block : blocks) free_block(block);
}

// Tables that shrink and grow in turn would fault what was purged in between.
TEST_F(ResizedTest, WhatShrinkingLeavesServesUntilAPass) {
  const std::vector<void*> blocks = take_written(8, 4 * mib);
  make_passes(1);  // as a background thread that is at work
  const size_t purged = purged_bytes(), given = given_bytes();
  for (int round = 0; round < 5; round++) {
    for (void* block : blocks) ASSERT_EQ(reallocate(block, 2 * mib), block);
    EXPECT_GE(dirty_bytes(), 16 * mib);
    for (void* block : blocks) ASSERT_EQ(reallocate(block, 4 * mib), block);
    EXPECT_EQ(given_bytes(), given);
  }
  EXPECT_EQ(purged_bytes(), purged);
  for (void* block : blocks) ASSERT_EQ(reallocate(block, 2 * mib), block);
  make_passes(14);
  EXPECT_EQ(dirty_bytes(), 0u);
  EXPECT_GE(purged_bytes() - purged, 16 * mib);
  for (void* block : blocks) free_block(block);
}

TEST_F(ResizedTest, WithoutABackgroundThreadItGoesAtOnceAndAsksForOne) {
  const std::vector<void*> blocks = take_written(8, mib);
  purge_request.is_much.store_relaxed(false);
  ASSERT_EQ(reallocate(blocks[0], mib / 2), blocks[0]);
  EXPECT_FALSE(purge_request.is_much.load_relaxed());
  for (size_t i = 1; i < blocks.size(); i++) ASSERT_EQ(reallocate(blocks[i], mib / 2), blocks[i]);
  EXPECT_EQ(dirty_bytes(), 0u);
  EXPECT_TRUE(purge_request.is_much.load_relaxed());
  for (void* block : blocks) free_block(block);
}

// As of a block that moved and grows on: it returns most of what lies behind its contents.
TEST_F(ResizedTest, HeadRoomThatComesBackIsUntouched) {
  Zeroed zeroed = Zeroed::no;
  LargeBlock* large = take_large(mib, 4 * mib / slice_bytes, Placing{}, zeroed);
  ASSERT_NE(large, nullptr);
  test::fill_pattern(start_of(*large), mib, 1);
  const size_t dirty = dirty_bytes();
  ASSERT_TRUE(resize_large_in_place(*large, mib + os::page_bytes()));
  EXPECT_EQ(large->slices, mib / slice_bytes + 1);
  EXPECT_EQ(dirty_bytes(), dirty);
  EXPECT_TRUE(test::has_pattern(start_of(*large), mib, 1));
  free_block(start_of(*large));
}

}  // namespace
}  // namespace talus::core
