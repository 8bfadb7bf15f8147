// SPDX-License-Identifier: MIT
// tests/unit/retention/retention: how much free memory may stay: what slabs keep counts, what was
// in use a moment ago may stay, and time is the helper's first.
#include <gtest/gtest.h>

#include "retention/retention.hpp"

namespace talus::core {
namespace {

class RetentionTest : public testing::Test {
 protected:
  RetentionTest() : before_{options} {}
  ~RetentionTest() override { options = before_; }

 private:
  Options before_;
};

TEST_F(RetentionTest, WhatSlabsKeepIsNotInUse) {
  options.retain_bytes = 64 * mib;
  Retention retention;
  // 64 MiB are in use, and slabs keep 128 MiB free beside.
  retention.note(64 * mib, 0);
  retention.add_free_in_slabs(128 * mib, 192 * mib);
  retention.note(192 * mib, 0);
  EXPECT_EQ(retention.excess_bytes(192 * mib, 0, Reclaimer::caller), (128 - 52) * mib);
  EXPECT_LT(retention.dirty_bytes_max(192 * mib, Reclaimer::caller), 4 * mib);
  // They become free ranges: these were not in use a moment ago either.
  retention.add_free_in_slabs(0 - 128 * mib, 64 * mib);
  EXPECT_EQ(retention.dirty_bytes_max(64 * mib, Reclaimer::caller), 64 * mib);
  EXPECT_EQ(retention.excess_bytes(64 * mib, 128 * mib, Reclaimer::caller), 64 * mib);
}

// The kernel moves 100 MiB to a range of 125: never were more than 125 in use.
TEST_F(RetentionTest, WhatMovesIsInUseOnce) {
  options.retain_bytes = 16 * mib;
  Retention retention;
  retention.note(100 * mib, 0);
  retention.begin_move(100 * mib);
  retention.note(225 * mib, 0);
  EXPECT_EQ(retention.dirty_bytes_max(225 * mib, Reclaimer::caller), 16 * mib);
  retention.end_move(100 * mib);
  EXPECT_EQ(retention.dirty_bytes_max(125 * mib, Reclaimer::caller), 16 * mib);
  EXPECT_EQ(retention.dirty_bytes_max(50 * mib, Reclaimer::caller), 75 * mib);
}

// What is too much only because time passed is the helper's for one turn.
TEST_F(RetentionTest, TheHelperComesFirst) {
  options.retain_bytes = 64 * mib;
  Retention retention;
  retention.note(512 * mib, 0);
  for (size_t turn = 0; turn <= LowMark::turns_kept; turn++) {
    EXPECT_EQ(retention.excess_bytes(0, 512 * mib, Reclaimer::background), 0u) << turn;
    retention.turn(1, 0, 512 * mib);
  }
  EXPECT_EQ(retention.excess_bytes(0, 512 * mib, Reclaimer::background), 448 * mib);
  EXPECT_EQ(retention.excess_bytes(0, 512 * mib, Reclaimer::caller), 0u);
  retention.turn(1, 0, 512 * mib);
  EXPECT_EQ(retention.excess_bytes(0, 512 * mib, Reclaimer::caller), 448 * mib);
}

}  // namespace
}  // namespace talus::core
