// SPDX-License-Identifier: MIT
// tests/unit/base/low_mark: what was free at the worst moment of the last turns is surplus, and
// nothing else is.
#include <gtest/gtest.h>

#include "base/low_mark.hpp"
#include "base/mark_shadow.hpp"

namespace talus::core {
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

TEST(LowMark, WhatIsPurgedIsSubtractedOnce) {
  LowMark mark;
  for (unsigned turn = 0; turn < 10; turn++) mark.turn(1000);
  mark.subtract_purged(400);
  EXPECT_EQ(mark.surplus(), 600u);
  EXPECT_EQ(mark.turn(600), 600u);
  mark.subtract_purged(10000);  // more than there was: none is left, not a wrapped number
  EXPECT_EQ(mark.surplus(), 0u);
}

TEST(LowMark, AgreesWithTheLeastOfAllValues) {
  test::expect_extreme_of_all<LowMark>(
      "LowMark.Random", [](size_t one, size_t other) { return std::min(one, other); },
      [](const LowMark& mark) { return mark.surplus(); });
}

}  // namespace
}  // namespace talus::core
