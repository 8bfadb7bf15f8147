// SPDX-License-Identifier: MIT
// tests/unit/base/bit_row: runs of bits, against one bit at a time.
#include <gtest/gtest.h>

#include <vector>

#include "base/bit_row.hpp"
#include "effort.hpp"

namespace talus::core {
namespace {

TEST(BitRow, AgreesWithOneBitAtATime) {
  constexpr size_t count = 300;
  uint64_t words[BitRow::bytes_for(count) / sizeof(uint64_t)] = {};
  BitRow row{words};
  std::vector<bool> model(count);
  test::Random random{test::seed_of("BitRow")};
  for (size_t round = 0; round < test::rounds_of(2000) + 100; round++) {
    const size_t from = random.below(count + 1);
    const size_t to = from + random.below(count + 1 - from);
    const bool value = random.below(2) != 0;
    row.set(from, to, value);
    for (size_t i = from; i < to; i++) model[i] = value;
    for (size_t i = 0; i < count; i++) ASSERT_EQ(row.has(i), model[i]) << i;
    const size_t start = random.below(count + 1);
    const size_t end = start + random.below(count + 1 - start);
    size_t expected = start;
    while (expected < end && model[expected] != value) expected++;
    ASSERT_EQ(row.next(start, end, value), expected) << start << " to " << end;
  }
}

TEST(BitRow, WritesNoWordBeyondARun) {
  uint64_t words[3] = {};
  BitRow row{words + 1};
  row.set(0, 64, true);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], ~uint64_t{0});
  EXPECT_EQ(words[2], 0u);
  row.set(5, 5, false);
  EXPECT_EQ(words[1], ~uint64_t{0});
}

}  // namespace
}  // namespace talus::core
