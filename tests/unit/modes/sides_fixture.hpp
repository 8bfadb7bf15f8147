// SPDX-License-Identifier: MIT
// tests/unit/modes/sides_fixture: a thread whose lists have two sides.
//
// Owns: the fixture, which counts the calls of the test by tallies.
// Called on: a test's main thread.
#ifndef TALUS_TESTS_UNIT_MODES_SIDES_FIXTURE_HPP
#define TALUS_TESTS_UNIT_MODES_SIDES_FIXTURE_HPP

#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "late.hpp"
#include "quiet.hpp"
#include "tallies.hpp"

namespace talus::core::test {

// A size that the compiler knows would lead to the list of its class.
[[gnu::noinline]] inline void* make(size_t bytes) {
  asm volatile("" : "+r"(bytes));
  return allocate(bytes);
}

class SidesTest : public testing::Test {
 protected:
  void SetUp() override {
    own_cache();
    ASSERT_TRUE(switch_on(tallies::mode));
    free_block(make(1));  // comes back to the context with two sides
    ASSERT_TRUE(current_context().operations->has_sides);
    before_ = tallies::collect();
  }
  void TearDown() override {
    switch_off(tallies::mode);
    EXPECT_EQ(live_bytes(), 0u);
    EXPECT_TRUE(space_is_sound());
  }
  uint64_t allocations() const {
    return tallies::sum_of(tallies::collect().allocations) - tallies::sum_of(before_.allocations);
  }
  uint64_t frees() const {
    return tallies::sum_of(tallies::collect().frees) - tallies::sum_of(before_.frees);
  }
  tallies::Tallies before_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_MODES_SIDES_FIXTURE_HPP
