// SPDX-License-Identifier: MIT
// tests/unit/retention/bursts: three bursts of one size make a pattern, until three fail to come.
#include <gtest/gtest.h>

#include "retention/bursts.hpp"

namespace talus::core {
namespace {

constexpr size_t full = 200 * mib, rest = 5 * mib;

class BurstsTest : public testing::Test {
 protected:
  // Turns of 250 ms without demand.
  void rest_for(uint64_t ms) {
    for (; ms >= 250; ms -= 250) turn(rest, rest, 250);
  }
  void turn(size_t most, size_t now, uint64_t ms) {
    now_ms_ += ms;
    bursts_.turn(most, now, now_ms_);
  }
  // A burst within one turn.
  void burst(size_t bytes = full) { turn(bytes, rest, 250); }
  size_t expected() const { return bursts_.expected(now_ms_); }

  Bursts bursts_;
  uint64_t now_ms_ = 1'000'000;
};

TEST_F(BurstsTest, ThreeMakeAPattern) {
  for (int i = 0; i < 2; i++) {
    burst();
    EXPECT_EQ(expected(), 0u) << i;
    rest_for(5000);
  }
  burst();
  EXPECT_EQ(expected(), full);
  rest_for(15000);
  EXPECT_EQ(expected(), full) << "three bursts are not yet missed";
  rest_for(1000);
  EXPECT_EQ(expected(), 0u);
  burst();
  EXPECT_EQ(expected(), 0u) << "the pattern begins anew";
}

TEST_F(BurstsTest, TheLongerOfTheLastIntervalsCounts) {
  burst();
  rest_for(9000);
  burst();
  rest_for(1000);
  burst();
  rest_for(27000);
  EXPECT_EQ(expected(), full);
  burst();
  rest_for(1000);
  burst();
  rest_for(1000);
  burst();
  rest_for(4000);
  EXPECT_EQ(expected(), 0u) << "the long intervals are forgotten";
}

TEST_F(BurstsTest, OneBurstEndsInSteps) {
  rest_for(1000);
  for (int i = 0; i < 3; i++) {
    turn(full, full, 250);
    turn(full, full / 2, 250);  // this is the end
    turn(full / 2, rest, 250);  // nothing rose meanwhile
    rest_for(2000);
  }
  EXPECT_EQ(expected(), full);
}

TEST_F(BurstsTest, WhatReturnsAtOnceIsOneBurst) {
  for (int i = 0; i < 20; i++) {
    burst();
    turn(rest, rest, 250);
  }
  EXPECT_EQ(expected(), 0u);
}

TEST_F(BurstsTest, RareOrSmallOrGrowingDemandIsNoPattern) {
  for (int i = 0; i < 5; i++) {
    burst();
    rest_for(burst_interval_ms_max + 500);
    EXPECT_EQ(expected(), 0u);
  }
  for (int i = 0; i < 5; i++) {
    burst(burst_bytes_min - 1);
    rest_for(2000);
    EXPECT_EQ(expected(), 0u);
  }
  size_t bytes = full;
  for (int i = 0; i < 5; i++) {
    burst(bytes);
    rest_for(2000);
    EXPECT_EQ(expected(), 0u);
    bytes += bytes / 2;
  }
}

// A smaller burst neither continues the pattern nor ends it.
TEST_F(BurstsTest, SmallerBurstsLieBetween) {
  for (int i = 0; i < 3; i++) {
    burst();
    rest_for(1000);
    burst(full / 2);
    rest_for(1000);
  }
  EXPECT_EQ(expected(), full);
}

// A program may need more memory once, at its start or later, than its bursts do.
TEST_F(BurstsTest, OneLargerBurstHidesNoPattern) {
  burst(3 * full);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(expected(), 0u) << i;
    rest_for(2000);
    burst();
  }
  EXPECT_EQ(expected(), full) << "after a larger one at the start";
  burst(5 * full);
  rest_for(2000);
  EXPECT_EQ(expected(), full) << "after a larger one within";
  rest_for(6000);
  EXPECT_EQ(expected(), 0u);
}

// A server has data that stay. Its bursts are a small part of its memory.
TEST_F(BurstsTest, BurstsStandUponWhatStays) {
  constexpr size_t data = 2000 * mib;
  turn(data + full, data, 250);
  for (uint64_t ms = 0; ms <= burst_interval_ms_max; ms += 250) turn(data, data, 250);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(expected(), 0u) << i;
    turn(data + full, data, 2000);
  }
  EXPECT_EQ(expected(), data + full);
  turn(data, data / 2, 250);
  EXPECT_EQ(expected(), data / 2 + full) << "what stays becomes less";
  for (int i = 0; i < 30; i++) turn(data / 2, data / 2, 250);
  EXPECT_EQ(expected(), 0u);
}

// The program needs much as it begins, and keeps most of it.
TEST_F(BurstsTest, AHighStartHidesNothing) {
  constexpr size_t data = 150 * mib;
  turn(30 * mib, 30 * mib, 250);
  turn(270 * mib, data + 50 * mib, 250);
  turn(data + 50 * mib, data, 250);
  for (uint64_t ms = 0; ms <= burst_fall_ms_max; ms += 250) turn(data, data, 250);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(expected(), 0u) << i;
    turn(data + 64 * mib, data, 1000);
  }
  EXPECT_EQ(expected(), data + 64 * mib);
}

// The first turn of a process ends at any point of its first burst.
TEST_F(BurstsTest, TheFirstTurnEndsWithinABurst) {
  constexpr size_t data = 100 * mib;
  turn(data + 64 * mib, data + 50 * mib, 250);
  turn(data + 50 * mib, data, 250);
  turn(data, data - 1000, 250);  // pages that follow are no fall
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(expected(), 0u) << i;
    turn(data + 64 * mib, data, 1000);
  }
  EXPECT_EQ(expected(), data + 64 * mib);
}

// The first turn of a process ends before it has its data.
TEST_F(BurstsTest, TheFirstTurnEndsBeforeTheDataAreThere) {
  constexpr size_t data = 100 * mib;
  turn(mib, mib, 250);
  turn(data, data, 250);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(expected(), 0u) << i;
    turn(data + 64 * mib, data + 20 * mib, 250);
    for (int rest_turn = 0; rest_turn < 4; rest_turn++) {
      turn(rest_turn == 0 ? data + 20 * mib : data, data, 250);
    }
  }
  EXPECT_EQ(expected(), data + 64 * mib);
}

TEST_F(BurstsTest, TwoSizesAreTwoPatterns) {
  for (int i = 0; i < 3; i++) {
    rest_for(5000);
    burst();
    rest_for(1000);
    burst(full / 3);
  }
  EXPECT_EQ(expected(), full);
  for (int i = 0; i < 5; i++) {
    rest_for(5000);
    burst(full / 3);
  }
  EXPECT_EQ(expected(), full / 3) << "the larger ones fail to come";
}

// The end of a move raises the footprint, and no mark notes it.
TEST_F(BurstsTest, AMarkBelowTheFootprintIsNoBurst) {
  turn(rest, rest, 250);
  for (int i = 0; i < 5; i++) {
    turn(rest, full, 1000);
    turn(rest, full + mib, 1000);
    EXPECT_TRUE(bursts_.is_sound());
    EXPECT_EQ(expected(), 0u);
  }
}

TEST_F(BurstsTest, ASteadyHeapIsNoBurst) {
  for (int i = 0; i < 40; i++) turn(full, full - burst_bytes_min + 1, 1000);
  EXPECT_EQ(expected(), 0u);
}

}  // namespace
}  // namespace talus::core
