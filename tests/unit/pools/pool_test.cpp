// SPDX-License-Identifier: MIT
// tests/unit/pools/pool: which blocks a pool hands out, how many, and how it divides.
#include "pools/pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace talus::core {
namespace {

TEST(WideReciprocal, DividesExactlyAtEveryBorder) {
  for (const SizeClass& row : size_class_table.rows) {
    const uint64_t reciprocal = wide_reciprocal_of(row.block_bytes);
    for (size_t near = 1; near <= bounded_budget_max; near *= 2) {
      const size_t index = near / row.block_bytes;
      for (size_t at = index; at < index + 3; at++) {
        const size_t start = at * row.block_bytes;
        ASSERT_EQ(divide_by_wide(start, reciprocal), at) << row.block_bytes;
        ASSERT_EQ(divide_by_wide(start + row.block_bytes - 1, reciprocal), at) << row.block_bytes;
      }
    }
  }
}

// Its addresses are never followed.
class PoolOfTen : public testing::Test {
 protected:
  std::vector<uint64_t> words = std::vector<uint64_t>(FreeBits::words_for(10));
  Pool pool;
  void* blocks[16] = {};
  void SetUp() override {
    pool.base = 0x100000;
    pool.block_bytes = 48;
    pool.block_count = 10;
    pool.reciprocal = wide_reciprocal_of(48);
    pool.returned.begin(words.data(), 10);
  }
  size_t take(size_t wanted) {
    Held held{pool.lock};
    return pool.take(held, blocks, wanted);
  }
  void give(size_t index) {
    Held held{pool.lock};
    pool.give(held, block(index));
  }
  static void* block(size_t index) { return reinterpret_cast<void*>(0x100000 + index * 48); }
};

TEST_F(PoolOfTen, HandsOutNoMoreThanItHas) {
  EXPECT_EQ(take(16), 10u);
  for (size_t index = 0; index < 10; index++) EXPECT_EQ(blocks[9 - index], block(index));
  EXPECT_EQ(take(1), 0u);
  give(4);
  EXPECT_EQ(take(5), 1u);
  EXPECT_EQ(blocks[0], block(4));
  EXPECT_EQ(pool.free_count(), 0u);
  EXPECT_TRUE(pool.is_sound());
}

TEST_F(PoolOfTen, PrefersLowAddressesAndThoseUsedBefore) {
  EXPECT_EQ(take(6), 6u);
  give(5);
  give(1);
  give(3);
  EXPECT_EQ(take(4), 4u);
  EXPECT_EQ(blocks[3], block(1));
  EXPECT_EQ(blocks[2], block(3));
  EXPECT_EQ(blocks[1], block(5));
  EXPECT_EQ(blocks[0], block(6));
  EXPECT_EQ(pool.fresh_count, 7u);
  EXPECT_EQ(pool.peak_count, 7u);
  EXPECT_TRUE(pool.is_sound());
}

}  // namespace
}  // namespace talus::core
