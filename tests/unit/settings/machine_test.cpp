// SPDX-License-Identifier: MIT
// tests/unit/settings/machine: what options and a machine's limit make of each other, and how the
// limits in effect are set.
#include <gtest/gtest.h>

#include "settings/machine.hpp"

namespace talus::core {
namespace {

constexpr size_t one_mib = size_t{1} << 20;

OptionAmount bytes(uint64_t value) { return {value, AmountKind::bytes}; }
OptionAmount percent(uint64_t value) { return {value, AmountKind::percent}; }

LimitBytes limits_of(OptionAmount soft, OptionAmount hard, size_t memory_bytes) {
  Options wanted;
  wanted.limit_soft = soft;
  wanted.limit_hard = hard;
  return effective_limits(wanted, MachineLimits{memory_bytes, 0});
}

void expect_limits(LimitBytes found, size_t soft_bytes, size_t hard_bytes) {
  EXPECT_EQ(found.soft_bytes, soft_bytes);
  EXPECT_EQ(found.hard_bytes, hard_bytes);
}

TEST(EffectiveLimits, WithoutOptionsSevenEighthsOfTheGroup) {
  expect_limits(limits_of({}, {}, 0), 0, 0);
  expect_limits(limits_of({}, {}, 256 * one_mib), 224 * one_mib, 0);
  expect_limits(limits_of({}, {}, 4096), 3584, 0);
  expect_limits(limits_of({}, {}, 4103), 3590, 0);  // 3590.1
}

TEST(EffectiveLimits, BytesAreTakenAsTheyAre) {
  for (const size_t group : {size_t{0}, 16 * one_mib, 256 * one_mib}) {
    expect_limits(limits_of(bytes(64 * one_mib), bytes(128 * one_mib), group), 64 * one_mib,
                  128 * one_mib);
  }
}

TEST(EffectiveLimits, ZeroIsNoneAlsoWhereTheGroupIsLimited) {
  expect_limits(limits_of(bytes(0), bytes(0), 256 * one_mib), 0, 0);
  expect_limits(limits_of(bytes(0), bytes(one_mib), 256 * one_mib), 0, one_mib);
}

TEST(EffectiveLimits, PercentagesAreOfTheGroup) {
  expect_limits(limits_of(percent(80), percent(100), 1000 * one_mib), 800 * one_mib,
                1000 * one_mib);
  expect_limits(limits_of(percent(1), {}, 1050), 10, 0);
  expect_limits(limits_of(percent(99), {}, 199), 197, 0);
}

TEST(EffectiveLimits, PercentagesOfNoLimitAreNone) {
  expect_limits(limits_of(percent(80), percent(90), 0), 0, 0);
  expect_limits(limits_of(percent(80), bytes(one_mib), 0), 0, one_mib);
}

TEST(EffectiveLimits, AShareOfASmallLimitIsNeverNone) {
  expect_limits(limits_of(percent(1), percent(1), 50), 1, 1);
}

TEST(EffectiveLimits, HugeLimitsDoNotOverflow) {
  constexpr size_t huge = ~size_t{0};
  expect_limits(limits_of({}, percent(100), huge), huge / 8 * 7 + 6, huge);
  const LimitBytes half = limits_of(percent(50), percent(99), huge);
  EXPECT_EQ(half.soft_bytes, huge / 2);
  EXPECT_GT(half.hard_bytes, huge / 100 * 98);
  EXPECT_LT(half.hard_bytes, huge);
}

TEST(EffectiveLimits, TheHardLimitBoundsTheSoftOne) {
  expect_limits(limits_of(bytes(10 * one_mib), bytes(one_mib), 0), one_mib, one_mib);
  expect_limits(limits_of({}, percent(50), 256 * one_mib), 128 * one_mib, 128 * one_mib);
  expect_limits(limits_of(percent(90), percent(10), 1000), 100, 100);
}

TEST(EffectiveLimits, WhatIsInEffectKeepsTheOrder) {
  EffectiveLimits in_effect;
  EXPECT_EQ(in_effect.soft_bytes.load_relaxed(), 0u);
  EXPECT_EQ(in_effect.hard_bytes.load_relaxed(), 0u);
  in_effect.set({5 * one_mib, 3 * one_mib});
  EXPECT_EQ(in_effect.soft_bytes.load_relaxed(), 3 * one_mib);
  EXPECT_EQ(in_effect.hard_bytes.load_relaxed(), 3 * one_mib);
  in_effect.set({5 * one_mib, 0});
  EXPECT_EQ(in_effect.soft_bytes.load_relaxed(), 5 * one_mib);
  EXPECT_EQ(in_effect.hard_bytes.load_relaxed(), 0u);
  in_effect.set({0, 0});
  EXPECT_EQ(in_effect.soft_bytes.load_relaxed(), 0u);
}

}  // namespace
}  // namespace talus::core
