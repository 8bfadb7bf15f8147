// SPDX-License-Identifier: MIT
// tests/unit/base/low_mark: what was free at the worst moment of the last turns is surplus, and
// nothing else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/low_mark.hpp"
#include "effort.hpp"

namespace talus {
namespace {

TEST(LowMark, NothingIsSurplusBeforeTheTurnsHavePassed) {
  LowMark mark;
  for (unsigned turn = 0; turn < LowMark::turns_kept; turn++) EXPECT_EQ(mark.turn(1000), 0u);
  EXPECT_EQ(mark.turn(1000), 1000u);
}

TEST(LowMark, WhatIsReusedOnceATurnIsNoSurplus) {
  LowMark mark;
  for (unsigned turn = 0; turn < 20; turn++) {
    mark.note(100);   // in use
    mark.turn(5000);  // and free again when the turn ends
  }
  EXPECT_EQ(mark.surplus(), 100u);
}

TEST(LowMark, WhatIsGivenAwayIsNotGivenAwayTwice) {
  LowMark mark;
  for (unsigned turn = 0; turn < 10; turn++) mark.turn(1000);
  mark.give_away(400);
  EXPECT_EQ(mark.surplus(), 600u);
  EXPECT_EQ(mark.turn(600), 600u);
  mark.give_away(10000);  // more than there was: none is left, not a wrapped number
  EXPECT_EQ(mark.surplus(), 0u);
}

TEST(LowMark, AgreesWithTheLeastOfAllValues) {
  test::Random random{test::seed_of("LowMark.Random")};
  LowMark mark;
  std::deque<size_t> least(LowMark::turns_kept, 0);  // of closed turns
  size_t value = 0, now = 0;
  for (size_t round = 0; round < test::rounds_of(20000); round++) {
    value = random.below(1000000);
    if (random.below(4) != 0) {
      mark.note(value);
      now = std::min(now, value);
      continue;
    }
    now = std::min(now, value);
    least.pop_front();
    least.push_back(now);
    now = value;
    ASSERT_EQ(mark.turn(value), std::min(now, *std::min_element(least.begin(), least.end())));
  }
}

}  // namespace
}  // namespace talus
