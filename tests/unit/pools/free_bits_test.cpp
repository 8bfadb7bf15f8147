// SPDX-License-Identifier: MIT
// tests/unit/pools/free_bits: the set against std::set, for one level and for several.
#include "pools/free_bits.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace talus::core {
namespace {

class FreeBitsOf : public testing::TestWithParam<size_t> {
 protected:
  std::vector<uint64_t> words = std::vector<uint64_t>(FreeBits::words_for(GetParam()));
  FreeBits bits;
  void SetUp() override { bits.begin(words.data(), GetParam()); }
};

TEST_P(FreeBitsOf, IsASetWhoseLowestAreTaken) {
  std::set<size_t> model;
  uint64_t random = 1;
  for (int step = 0; step < 20000; step++) {
    random = mix_bits(random + 1);
    const size_t number = random % GetParam();
    ASSERT_EQ(bits.has(number), model.count(number) == 1);
    if (model.insert(number).second) bits.add(number);
    if (step % 7 != 0) continue;
    const size_t wanted = random >> 32 & 15;
    const size_t expected = wanted < model.size() ? wanted : model.size();
    const size_t taken = bits.take_lowest(wanted, [&](size_t lowest) {
      ASSERT_EQ(lowest, *model.begin());
      model.erase(model.begin());
    });
    ASSERT_EQ(taken, expected);
    ASSERT_EQ(bits.is_empty(), model.empty());
  }
}

TEST_P(FreeBitsOf, HoldsAllAndNone) {
  for (size_t number = 0; number < GetParam(); number++) bits.add(number);
  size_t next = 0;
  const auto is_next = [&next](size_t number) { ASSERT_EQ(number, next++); };
  EXPECT_EQ(bits.take_lowest(GetParam() + 5, is_next), GetParam());
  EXPECT_TRUE(bits.is_empty());
  for (const uint64_t word : words) EXPECT_EQ(word, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FreeBitsOf,
                         testing::Values(1, 63, 64, 65, 4095, 4096, 4097, 300000));

TEST(FreeBits, OfNothingIsEmpty) {
  FreeBits bits;
  EXPECT_EQ(FreeBits::words_for(0), 0u);
  bits.begin(nullptr, 0);
  EXPECT_TRUE(bits.is_empty());
  EXPECT_EQ(bits.take_lowest(3, [](size_t) { FAIL(); }), 0u);
}

TEST(FreeBits, NeedsAnEighthOfAByteANumberAndLittleMore) {
  EXPECT_EQ(FreeBits::words_for(64), 1u);
  EXPECT_EQ(FreeBits::words_for(4096), 64u + 1);
  EXPECT_EQ(FreeBits::words_for(4097), 65u + 2 + 1);
  EXPECT_LE(FreeBits::words_for(size_t{1} << 36), (size_t{1} << 30) / 63 * 64 + 8);
}

}  // namespace
}  // namespace talus::core
