// SPDX-License-Identifier: MIT
// tests/unit/fake_os/guards: guards where the kernel has none, or refuses one step.
//
// Owns: nothing; each test has an object of its own, because the first guard decides how.
#include <gtest/gtest.h>

#include "os/guards.hpp"
#include "os/os.hpp"

namespace talus::core {
namespace {

class GuardsTest : public testing::Test {
 protected:
  static constexpr size_t page_count = 8;

  void SetUp() override {
    pages_ = static_cast<char*>(os::map_pages(nullptr, page_count * os::page_bytes()));
    ASSERT_NE(pages_, nullptr);
  }
  void TearDown() override {
    for (Atomic<uint64_t>& from : os::fake_plan.refuse_from) from.store_relaxed(0);
    os::System::unmap(pages_, page_count * os::page_bytes());
  }
  static void refuse(os::FakeCall kind) {
    os::fake_plan.refuse_from[static_cast<size_t>(kind)].store_relaxed(1);
  }
  static void permit(os::FakeCall kind) {
    os::fake_plan.refuse_from[static_cast<size_t>(kind)].store_relaxed(0);
  }
  static uint64_t calls(os::FakeCall kind) {
    return os::fake_plan.calls[static_cast<size_t>(kind)].load_relaxed();
  }
  bool set(size_t page) { return guards_.set(pages_ + page * os::page_bytes(), os::page_bytes()); }
  bool lift(size_t page) {
    return guards_.lift(pages_ + page * os::page_bytes(), os::page_bytes());
  }

  char* pages_ = nullptr;
  Guards guards_;
};

TEST_F(GuardsTest, AreMappingsWhereTheKernelHasNone) {
  refuse(os::FakeCall::set_guards);
  const uint64_t before = calls(os::FakeCall::decommit);
  EXPECT_TRUE(set(1));
  EXPECT_TRUE(set(3));
  EXPECT_EQ(calls(os::FakeCall::decommit), before + 2);
  EXPECT_EQ(guards_.count(), 2u);
  permit(os::FakeCall::set_guards);
  const uint64_t asked = calls(os::FakeCall::set_guards);
  EXPECT_TRUE(set(5));
  EXPECT_EQ(calls(os::FakeCall::set_guards), asked) << "the first guard decided";
  EXPECT_TRUE(lift(1) && lift(3) && lift(5));
  EXPECT_EQ(guards_.count(), 0u);
  EXPECT_EQ(guards_.missing_count(), 0u);
  for (size_t i = 0; i < page_count * os::page_bytes(); i++) pages_[i] = 1;
}

TEST_F(GuardsTest, EndWithTheMappingsThatTheyMayHave) {
  refuse(os::FakeCall::set_guards);
  guards_.bound_mappings(2 * Guards::mappings_each);
  EXPECT_TRUE(set(1));
  EXPECT_TRUE(set(3));
  EXPECT_FALSE(set(5));
  pages_[5 * os::page_bytes()] = 1;
  EXPECT_EQ(guards_.missing_count(), 1u);
  EXPECT_TRUE(lift(1));
  EXPECT_TRUE(set(5)) << "there is room again";
  EXPECT_EQ(guards_.count(), 2u);
}

TEST_F(GuardsTest, AreMissingWhereNothingHelps) {
  refuse(os::FakeCall::set_guards);
  refuse(os::FakeCall::decommit);
  EXPECT_FALSE(set(1));
  pages_[os::page_bytes()] = 1;
  EXPECT_EQ(guards_.count(), 0u);
  EXPECT_EQ(guards_.missing_count(), 1u);
}

TEST_F(GuardsTest, AreMissingWhereTheKernelRefusesALaterOne) {
  const uint64_t before = calls(os::FakeCall::decommit);
  const bool is_set = set(1);
  if (!is_set || calls(os::FakeCall::decommit) != before) GTEST_SKIP() << "the kernel has none";
  refuse(os::FakeCall::set_guards);
  EXPECT_FALSE(set(3));
  EXPECT_EQ(calls(os::FakeCall::decommit), before) << "no guard is lifted in two ways";
  EXPECT_TRUE(lift(1));
}

TEST_F(GuardsTest, StayWhereTheyCannotBeLifted) {
  refuse(os::FakeCall::set_guards);
  EXPECT_TRUE(set(1));
  refuse(os::FakeCall::allow);
  EXPECT_FALSE(lift(1));
  EXPECT_EQ(guards_.count(), 1u);
  permit(os::FakeCall::allow);
  EXPECT_TRUE(lift(1));
  pages_[os::page_bytes()] = 1;
}

}  // namespace
}  // namespace talus::core
