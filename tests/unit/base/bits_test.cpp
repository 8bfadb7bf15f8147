// SPDX-License-Identifier: MIT
// tests/unit/base/bits: the small arithmetic against the slow and obvious way.
#include <gtest/gtest.h>

#include "base/base.hpp"
#include "effort.hpp"

namespace talus::core {
namespace {

TEST(Bits, PowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0));
  for (unsigned shift = 0; shift < 64; shift++) {
    const size_t power = size_t{1} << shift;
    EXPECT_TRUE(is_power_of_two(power));
    EXPECT_EQ(is_power_of_two(power - 1), shift == 1);
    EXPECT_EQ(is_power_of_two(power + 1), shift == 0);
  }
}

TEST(Bits, Rounding) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t value = 0; value < 10000; value += 7) {
      const size_t up = (value + alignment - 1) / alignment * alignment;
      EXPECT_EQ(round_up(value, alignment), up);
      EXPECT_EQ(round_down(value, alignment), value / alignment * alignment);
      EXPECT_EQ(divide_up(value, alignment), up / alignment);
    }
  }
}

TEST(Bits, Scans) {
  test::Random random{test::seed_of("Bits.Scans")};
  for (size_t round = 0; round < test::rounds_of(100000); round++) {
    uint64_t word = random.next() >> random.below(64);
    if (random.below(4) == 0) word &= random.next() & random.next();
    unsigned count = 0, lowest = 64, highest = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
      if ((word >> bit & 1) == 0) continue;
      count++;
      if (lowest == 64) lowest = bit;
      highest = bit;
    }
    ASSERT_EQ(count_bits(word), count) << word;
    if (word == 0) continue;
    ASSERT_EQ(lowest_bit(word), lowest) << word;
    ASSERT_EQ(highest_bit(word), highest) << word;
  }
  EXPECT_EQ(count_bits(~uint64_t{0}), 64u);
}

TEST(Bits, LowBits) {
  uint64_t expected = 0;
  for (size_t count = 0; count <= 64; count++) {
    EXPECT_EQ(low_bits(count), expected);
    expected = expected << 1 | 1;
  }
  EXPECT_EQ(low_bits(1000), ~uint64_t{0});
}

// Each block size there could be, at offsets up to the bound that bits.hpp states. In addition the
// product must fit in 64 bits, which it does for the first 2^16 blocks.
TEST(Bits, ReciprocalIsExactBelowItsBound) {
  test::Random random{test::seed_of("Bits.Reciprocal")};
  for (size_t divisor = block_alignment; divisor <= 4 * mib;
       divisor += divisor < 64 * kib ? block_alignment : 64 * 13) {
    const uint64_t reciprocal = reciprocal_of(divisor);
    const size_t bound = (uint64_t{1} << reciprocal_shift) / divisor - 1;
    const size_t most = bound < (divisor << 15) ? bound : divisor << 15;
    for (int round = 0; round < 50; round++) {
      const size_t limit = random.below(2) == 0 ? most : 16 * divisor;
      const size_t offset = random.below(limit < most ? limit : most);
      ASSERT_EQ(divide_by_reciprocal(offset, reciprocal), offset / divisor) << divisor;
    }
    const size_t near = most / divisor * divisor;
    ASSERT_EQ(divide_by_reciprocal(near, reciprocal), near / divisor) << divisor;
    ASSERT_EQ(divide_by_reciprocal(near - 1, reciprocal), near / divisor - 1) << divisor;
  }
}

// Neighbouring addresses get priorities that differ in about half their bits.
TEST(Bits, MixingSpreads) {
  uint64_t differing = 0;
  for (uint64_t value = 0; value < 10000; value++) {
    ASSERT_NE(mix_bits(value), mix_bits(value + 1));
    differing += count_bits(mix_bits(value) ^ mix_bits(value + 1));
  }
  EXPECT_GT(differing, 10000u * 31);
  EXPECT_LT(differing, 10000u * 33);
}

}  // namespace
}  // namespace talus::core
