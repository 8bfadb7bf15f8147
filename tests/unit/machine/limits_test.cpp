// SPDX-License-Identifier: MIT
// tests/unit/machine/limits: the limits in effect after the start of a process that has Talus
// inside, and the two functions by which a program changes them.
#define TALUS_HEADER_ONLY
#define TALUS_ONE_HEADER

#include "entry/header_only.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace talus::core {
namespace {

// The constructor of this program has run.
TEST(LimitsOfTheProcess, FollowFromWhatWasFoundAtStart) {
  ASSERT_TRUE(process_life.has_started.load_relaxed());
  const MachineLimits again = read_machine_limits();
  EXPECT_EQ(machine.memory_bytes, again.memory_bytes);
  EXPECT_EQ(machine.cpu_quota, again.cpu_quota);
  const LimitBytes expected = effective_limits(options, again);
  EXPECT_EQ(limits.soft_bytes.load_relaxed(), expected.soft_bytes);
  EXPECT_EQ(limits.hard_bytes.load_relaxed(), expected.hard_bytes);
}

TEST(LimitsOfTheProcess, AreChangedByTheProgram) {
  const LimitBytes before{limits.soft_bytes.load_relaxed(), limits.hard_bytes.load_relaxed()};
  talus_set_limits(size_t{1} << 40, size_t{1} << 41);
  EXPECT_EQ(limits.soft_bytes.load_relaxed(), size_t{1} << 40);
  EXPECT_EQ(limits.hard_bytes.load_relaxed(), size_t{1} << 41);
  talus_set_limits(size_t{1} << 42, size_t{1} << 41);
  EXPECT_EQ(limits.soft_bytes.load_relaxed(), size_t{1} << 41);
  talus_set_limits(0, 0);
  EXPECT_EQ(limits.soft_bytes.load_relaxed(), 0u);
  EXPECT_EQ(limits.hard_bytes.load_relaxed(), 0u);
  limits.set(before);
}

TEST(LimitsOfTheProcess, FollowBothOptions) {
  const LimitBytes before{limits.soft_bytes.load_relaxed(), limits.hard_bytes.load_relaxed()};
  const auto soft_with = [](const char* name, const char* value) {
    EXPECT_EQ(talus_set_option(name, value), 0);
    return limits.soft_bytes.load_relaxed();
  };
  constexpr size_t one = 1024 * mib;
  EXPECT_EQ(soft_with("limit_soft", "2G"), 2 * one);
  EXPECT_EQ(soft_with("limit_hard", "1G"), one);
  EXPECT_EQ(soft_with("limit_hard", "0"), 2 * one);  // as its option says
  EXPECT_EQ(limits.hard_bytes.load_relaxed(), 0u);
  limits.set(before);
}

int prepared = 0;

TEST(LimitsOfTheProcess, TheHandlerIsSeenWithWhatWasPreparedForIt) {
  EXPECT_EQ(limits.handler.load_acquire(), nullptr);
  std::thread other{[] {
    LimitHandler handler = nullptr;
    while (handler == nullptr) handler = limits.handler.load_acquire();
    EXPECT_EQ(handler(100), 142);
  }};
  prepared = 42;
  talus_set_limit_handler(
      [](size_t wanted_bytes) { return static_cast<int>(wanted_bytes) + prepared; });
  other.join();
  talus_set_limit_handler(nullptr);
  EXPECT_EQ(limits.handler.load_acquire(), nullptr);
}

}  // namespace
}  // namespace talus::core
