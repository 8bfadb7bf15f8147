// SPDX-License-Identifier: MIT
// tests/unit/retention/futile: after a futile reclaim a pause, unless there is clearly more.
#include <gtest/gtest.h>

#include "retention/futile.hpp"

namespace talus::core {
namespace {

constexpr uint64_t futile_ms = 1000000;

TEST(FutileReclaim, PausesForAMoment) {
  FutileReclaim futile;
  EXPECT_FALSE(futile.is_in_vain(mib, futile_ms)) << "none was futile";
  futile.note(mib, futile_ms);
  EXPECT_TRUE(futile.is_in_vain(mib, futile_ms));
  EXPECT_TRUE(futile.is_in_vain(mib, futile_ms + reclaim_pause_ms - 1));
  EXPECT_FALSE(futile.is_in_vain(mib, futile_ms + reclaim_pause_ms));
}

TEST(FutileReclaim, TriesAgainWhereThereIsClearlyMore) {
  FutileReclaim futile;
  futile.note(mib, futile_ms);
  EXPECT_TRUE(futile.is_in_vain(mib + reclaim_bytes_max - 1, futile_ms));
  EXPECT_FALSE(futile.is_in_vain(mib + reclaim_bytes_max, futile_ms));
  EXPECT_TRUE(futile.is_in_vain(0, futile_ms)) << "less than then";
}

}  // namespace
}  // namespace talus::core
