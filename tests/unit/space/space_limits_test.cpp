// SPDX-License-Identifier: MIT
// tests/unit/space/space_limits: what is free and touched, where limits leave no room for it or the
// kernel does not take it.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

class SpaceLimits : public SpaceTest {
 protected:
  SpaceLimits() {
    options.retain_bytes = 1024 * mib;
    options.decay_ms = 1000000;
  }
  ~SpaceLimits() override {
    limits.soft_bytes.store_relaxed(0);
    limits.hard_bytes.store_relaxed(0);
    space_.relax();
  }
  size_t touched_bytes() const { return space_.counters().given_bytes + space_.dirty_bytes(); }
  static constexpr size_t most = 64 * mib;
};

TEST_F(SpaceLimits, AHardLimitAloneBoundsWhatIsFreeAsWell) {
  limits.hard_bytes.store_relaxed(most);
  Held held{space_.lock()};
  const Range first = space_.take(held, most / 2 / slice_bytes);
  use(first);
  give(held, first.base);
  EXPECT_EQ(space_.dirty_bytes(), most / 2);
  const Range second = space_.take(held, most * 3 / 4 / slice_bytes);
  ASSERT_NE(second.base, 0u);
  use(second);
  EXPECT_LE(touched_bytes(), most);
}

TEST_F(SpaceLimits, FreeMemoryGoesAtOnceAboveTheSoftLimit) {
  limits.soft_bytes.store_relaxed(most);
  Held held{space_.lock()};
  Range ranges[8];
  for (Range& range : ranges) use(range = space_.take(held, most / 4 / slice_bytes));
  for (const Range& range : ranges) {
    give(held, range.base);
    EXPECT_LE(touched_bytes(), std::max(most, space_.counters().given_bytes + most / 32));
  }
  EXPECT_GT(space_.dirty_bytes(), most / 2) << "what the limit has room for stays";
}

// Pages that a program locked in memory, and freed: wherever they lie, the rest goes.
TEST_F(SpaceLimits, WhatTheKernelRefusesKeepsNothingElse) {
  constexpr size_t slices = 32 * mib / slice_bytes, page = 4 * kib;
  Held held{space_.lock()};
  for (const size_t place : {size_t{0}, 16 * mib - page, 16 * mib, 32 * mib - page}) {
    const Range range = space_.take(held, slices), wall = space_.take(held, 1);
    const Range other = space_.take(held, slices / 2);
    for (const Range& user : {range, wall, other}) use(user);
    void* const locked = reinterpret_cast<void*>(round_down(range.base + place, os::page_bytes()));
    if (mlock(locked, 1) != 0) GTEST_SKIP() << "no page may be locked";
    for (const Range& user : {range, other}) give(held, user.base);
    space_.purge_beyond(held, 0);
    EXPECT_LE(space_.dirty_bytes(), slice_bytes) << "with one at " << place;
    munlock(locked, 1);
    space_.purge_beyond(held, 0);
    EXPECT_EQ(space_.dirty_bytes(), 0u);
  }
}

}  // namespace
}  // namespace talus::core
