// SPDX-License-Identifier: MIT
// tests/unit/base/high_mark: the most of the last turns is remembered, and not longer.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/high_mark.hpp"
#include "effort.hpp"

namespace talus {
namespace {

TEST(HighMark, IsForgottenWhenItsTurnIsOld) {
  HighMark mark;
  mark.note(1000);
  for (unsigned turn = 0; turn < HighMark::turns_kept; turn++) {
    mark.turn(10);
    EXPECT_EQ(mark.most(), 1000u);
  }
  mark.turn(10);
  EXPECT_EQ(mark.most(), 10u);
}

TEST(HighMark, AgreesWithTheMostOfAllValues) {
  test::Random random{test::seed_of("HighMark.Random")};
  HighMark mark;
  std::deque<size_t> most(HighMark::turns_kept, 0);  // of closed turns
  size_t value = 0, now = 0;
  for (size_t round = 0; round < test::rounds_of(20000); round++) {
    value = random.below(1000000);
    if (random.below(4) != 0) {
      mark.note(value);
      now = std::max(now, value);
    } else {
      most.pop_front();
      most.push_back(now);
      now = value;
      mark.turn(value);
    }
    ASSERT_EQ(mark.most(), std::max(now, *std::max_element(most.begin(), most.end())));
  }
}

}  // namespace
}  // namespace talus
