// SPDX-License-Identifier: MIT
// tests/unit/space/regret: giving back is regretted where most of what went is taken within a
// moment, and for a while only.
#include <gtest/gtest.h>

#include "space/regret.hpp"

namespace talus {
namespace {

constexpr uint64_t start_ms = 1000000;
constexpr size_t kept = 100 * mib;

TEST(RegretTest, WidensTheBoundForAWhile) {
  Regret regret;
  EXPECT_FALSE(regret.is_any());
  regret.note_given(8 * mib, kept, start_ms);
  regret.note_given(8 * mib, kept - 8 * mib, start_ms + 20);
  regret.note_taken(8 * mib - 1, start_ms + 30);
  EXPECT_EQ(regret.may_keep(start_ms + 30), 0u) << "not yet half";
  regret.note_taken(1, start_ms + 40);
  EXPECT_TRUE(regret.is_any());
  EXPECT_EQ(regret.may_keep(start_ms + 40), kept + kept / 2);
  EXPECT_EQ(regret.may_keep(start_ms + 40 + regret_ms - 1), kept + kept / 2);
  EXPECT_EQ(regret.may_keep(start_ms + 40 + regret_ms), 0u);
}

TEST(RegretTest, IsForWhatWentAMomentAgo) {
  Regret regret;
  regret.note_given(64 * mib, kept, start_ms);
  regret.note_taken(64 * mib, start_ms + regret_moment_ms + 1);
  EXPECT_FALSE(regret.is_any());
  // What was taken before counts no more in the next moment.
  regret.note_taken(31 * mib, start_ms + 2);
  regret.note_given(64 * mib, kept, start_ms + regret_moment_ms + 2);
  regret.note_taken(31 * mib, start_ms + regret_moment_ms + 3);
  EXPECT_FALSE(regret.is_any());
  regret.note_taken(1 * mib, start_ms + regret_moment_ms + 4);
  EXPECT_TRUE(regret.is_any());
}

TEST(RegretTest, IsNoneForLittle) {
  Regret regret;
  regret.note_taken(64 * mib, start_ms);
  EXPECT_FALSE(regret.is_any()) << "nothing went";
  regret.note_given(regret_bytes_min - 1, kept, start_ms);
  regret.note_taken(64 * mib, start_ms + 1);
  EXPECT_FALSE(regret.is_any());
}

}  // namespace
}  // namespace talus
