// SPDX-License-Identifier: MIT
// tests/unit/space/fill_probe: verdicts on a program that fills what it takes, or does not.
#include <gtest/gtest.h>

#include "space/fill_probe.hpp"

namespace talus::core {
namespace {

constexpr size_t place_bytes = FillProbe::place_bytes;

class FillProbeTest : public testing::Test {
 protected:
  FillProbeTest() {
    rare_calls.ask_when_needed([]() noexcept { return true; });
    base_ = reinterpret_cast<uintptr_t>(os::map_aligned(nullptr, bytes, place_bytes));
    os::System::advise_small(reinterpret_cast<void*>(base_), bytes);
    next_ = base_;
  }
  ~FillProbeTest() override { os::System::unmap(reinterpret_cast<void*>(base_), bytes); }

  // The next place begins.
  bool judge(size_t given_bytes = huge_dense_bytes_min) {
    uintptr_t first = next_;
    const bool verdict = probe_.judge(first, given_bytes);
    is_probe_ = first != next_;
    begun_ = next_;
    next_ += place_bytes;
    return verdict;
  }
  // The program writes `parts` of 16 parts of the place that began last.
  void fill(size_t parts) const {
    for (size_t at = 0; at < parts * (place_bytes / 16); at += page_bytes_min) {
      *reinterpret_cast<volatile char*>(begun_ + at) = 1;
    }
  }

  static constexpr size_t bytes = 40 * place_bytes;
  FillProbe probe_;
  uintptr_t base_ = 0, next_ = 0, begun_ = 0;
  bool is_probe_ = false;
};

TEST_F(FillProbeTest, TrustsAProgramThatFilledTheProbe) {
  EXPECT_FALSE(judge());
  EXPECT_TRUE(is_probe_) << "nothing is known yet";
  fill(13);
  EXPECT_TRUE(judge());
  EXPECT_FALSE(is_probe_);
  EXPECT_TRUE(judge()) << "the verdict stands";
}

TEST_F(FillProbeTest, DoesNotTrustAProgramThatLeftGaps) {
  for (int round = 0; round < 3; round++) {
    EXPECT_FALSE(judge());
    EXPECT_TRUE(is_probe_) << "each place is one until the verdict is yes";
    fill(11);
  }
  fill(16);
  EXPECT_TRUE(judge());
}

TEST_F(FillProbeTest, WantsProofAgainAfterAWhile) {
  judge();
  fill(16);
  EXPECT_TRUE(judge());
  probe_.trust(huge_trusted_bytes);
  EXPECT_TRUE(judge());
  EXPECT_TRUE(is_probe_) << "believed, but looked after";
  EXPECT_FALSE(judge()) << "and not filled this time";
}

// Says whether the next place is a probe once `bytes` more were trusted.
TEST_F(FillProbeTest, TrustsMoreEachTimeUpToHalfOfWhatIsUsed) {
  constexpr size_t given = 6 * huge_trusted_bytes;
  const auto is_due_after = [&](size_t bytes) {
    probe_.trust(bytes);
    EXPECT_TRUE(judge(given));
    if (is_probe_) fill(16);
    return is_probe_;
  };
  judge(given);
  fill(16);
  EXPECT_TRUE(judge(given));
  EXPECT_TRUE(is_due_after(huge_trusted_bytes)) << "once justified is no trust yet";
  EXPECT_FALSE(is_due_after(huge_trusted_bytes));
  EXPECT_TRUE(is_due_after(huge_trusted_bytes));
  EXPECT_FALSE(is_due_after(3 * huge_trusted_bytes - page_bytes_min));
  EXPECT_TRUE(is_due_after(page_bytes_min)) << "half of what is used, not four times as much";
  os::System::purge(reinterpret_cast<void*>(begun_), place_bytes);
  EXPECT_FALSE(judge(given)) << "not filled this time";
  fill(16);
  EXPECT_TRUE(judge(given));
  EXPECT_TRUE(is_due_after(huge_trusted_bytes)) << "and trust begins anew";
}

TEST_F(FillProbeTest, JudgesWhatItsUserGivesBack) {
  judge();
  fill(16);
  probe_.end_use(begun_, begun_ + slice_bytes, true);
  os::System::purge(reinterpret_cast<void*>(begun_), place_bytes);
  EXPECT_TRUE(judge());
}

TEST_F(FillProbeTest, LearnsNothingFromPagesThatWereTakenAlong) {
  judge();
  fill(16);
  EXPECT_TRUE(judge());
  probe_.trust(huge_trusted_bytes);
  judge();
  EXPECT_TRUE(is_probe_);
  probe_.end_use(begun_, begun_ + place_bytes, false);
  EXPECT_TRUE(judge()) << "the verdict before stands";
}

TEST_F(FillProbeTest, AsksOnlyWhereItMay) {
  RareCalls right;
  EXPECT_FALSE(right.are_allowed()) << "not known yet";
  right.ask_when_needed([]() noexcept { return false; });
  EXPECT_FALSE(right.are_allowed());
  RareCalls other;
  other.ask_when_needed([]() noexcept { return true; });
  EXPECT_TRUE(other.are_allowed());
  EXPECT_TRUE(other.are_allowed());
  other.forbid();
  EXPECT_FALSE(other.are_allowed());
  other.ask_when_needed([]() noexcept { return true; });
  EXPECT_FALSE(other.are_allowed()) << "never again";
}

TEST_F(FillProbeTest, AnUnseenFilterIsFoundByAskingAnew) {
  static bool is_open;
  is_open = true;
  RareCalls right;
  right.ask_when_needed([]() noexcept { return is_open; });
  EXPECT_TRUE(right.are_allowed());
  EXPECT_TRUE(right.ask());
  is_open = false;
  EXPECT_TRUE(right.are_allowed()) << "found out once";
  EXPECT_FALSE(right.ask());
  is_open = true;
  EXPECT_FALSE(right.ask()) << "never again";
  EXPECT_FALSE(right.are_allowed());
}

TEST_F(FillProbeTest, Forgets) {
  judge();
  fill(16);
  EXPECT_TRUE(judge());
  probe_.forget();
  EXPECT_FALSE(judge());
}

}  // namespace
}  // namespace talus::core
