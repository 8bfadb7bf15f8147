// SPDX-License-Identifier: MIT
// tests/unit/base/check: what happens when Talus notices a bug of its own, and the atomics' names.
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "os/os.hpp"

namespace talus::core {
namespace {

struct Thing {
  bool sound;
  bool is_sound() const noexcept { return sound; }
};

TEST(CheckDeathTest, NamesTheBrokenExpression) {
  const int two = 2;
  TALUS_CHECK(two == 2);
  EXPECT_EXIT(TALUS_CHECK(two == 3), testing::KilledBySignal(SIGABRT),
              "talus: internal error, please report: two == 3 at .*check_test.cpp:[0-9]+\n");
}

// Asserts and audits cost nothing where they are off, and stop where they are on.
TEST(CheckDeathTest, AssertAndAuditFollowTheBuild) {
  const Thing broken{false};
#if TALUS_AUDIT
  EXPECT_EXIT(TALUS_AUDIT_SOUND(broken), testing::KilledBySignal(SIGABRT), "is_sound");
  EXPECT_EXIT(TALUS_ASSERT(broken.sound), testing::KilledBySignal(SIGABRT), "broken.sound");
#else
  TALUS_AUDIT_SOUND(broken);
  TALUS_ASSERT(broken.sound);
#endif
}

TEST(Atomic, DoesWhatItsNamesSay) {
  Atomic<uint64_t> word{5};
  EXPECT_EQ(word.exchange_acq_rel(7), 5u);
  EXPECT_EQ(word.fetch_add_relaxed(3), 7u);
  EXPECT_EQ(word.fetch_sub_relaxed(2), 10u);
  EXPECT_EQ(word.fetch_or_release(16), 8u);
  EXPECT_EQ(word.fetch_or_acq_rel(1), 24u);
  EXPECT_EQ(word.load_acquire(), 25u);
  uint64_t expected = 24;
  EXPECT_FALSE(word.cas_acq_rel(expected, 1));
  EXPECT_EQ(expected, 25u);
  EXPECT_TRUE(word.cas_acquire(expected, 1));
  word.own_add(4);
  EXPECT_EQ(word.exchange_acquire(0), 5u);
  EXPECT_EQ(word.exchange_release(9), 0u);
}

TEST(Atomic, AddsOfManyThreadsAddUp) {
  Atomic<uint64_t> sum;
  constexpr uint64_t each = 20000;
  auto add = [&sum] {
    for (uint64_t i = 0; i < each; i++) sum.fetch_add_relaxed(1);  // [stat]
  };
  std::thread first{add}, second{add};
  first.join();
  second.join();
  EXPECT_EQ(sum.load_relaxed(), 2 * each);
}

}  // namespace
}  // namespace talus::core
