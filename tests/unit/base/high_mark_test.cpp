// SPDX-License-Identifier: MIT
// tests/unit/base/high_mark: the most of the last turns is remembered, and not longer.
#include <gtest/gtest.h>

#include "base/high_mark.hpp"
#include "base/mark_shadow.hpp"

namespace talus::core {
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
  test::expect_extreme_of_all<HighMark>(
      "HighMark.Random", [](size_t one, size_t other) { return std::max(one, other); },
      [](const HighMark& mark) { return mark.most(); });
}

}  // namespace
}  // namespace talus::core
