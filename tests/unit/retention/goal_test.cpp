// SPDX-License-Identifier: MIT
// tests/unit/retention/goal: the goal of reclaim against the formula at the head of goal.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "retention/goal.hpp"

namespace talus::core {
namespace {

// The formula, written down once more, in numbers that may be negative.
struct Formula {
  int64_t G, S, M, R, P, B;
  bool keeps_nothing;

  static int64_t minus(int64_t x, int64_t y) { return std::max<int64_t>(x - y, 0); }
  int64_t c(int64_t x) const { return S > x / 8 ? x / 8 + x / 16 : 0; }
  int64_t U() const { return minus(G, S + M); }
  int64_t F() const { return U() + std::min(S, U() / 8); }
  int64_t L() const { return minus(P, U()); }
  int64_t all() const {
    const int64_t T = std::max(R, G / 8);
    return std::max({T - c(T), L(), B});
  }
  int64_t ranges() const {
    if (keeps_nothing) return 0;
    return std::max(minus(std::max({R - c(R), L(), B}), S), (R - c(R)) / 16);
  }
};

ReclaimGoal goal_of(const Formula& f) {
  ReclaimGoal goal;
  goal.given = static_cast<size_t>(f.G);
  goal.free_in_slabs = static_cast<size_t>(f.S);
  goal.moving = static_cast<size_t>(f.M);
  goal.retain = static_cast<size_t>(f.R);
  goal.footprint_most = static_cast<size_t>(f.P);
  goal.refaulted = static_cast<size_t>(f.B);
  goal.keeps_nothing = f.keeps_nothing;
  return goal;
}

TEST(ReclaimGoal, IsTheFormula) {
  std::mt19937_64 random{41};
  // Sums of all sizes: each term decides the result in some of these cases.
  const auto bytes = [&random] {
    if (random() % 4 == 0) return int64_t{0};
    return static_cast<int64_t>(random() % (size_t{1} << (10 + random() % 30)));
  };
  size_t by_bound = 0, by_use = 0, by_refault = 0, by_sixteenth = 0;
  for (int i = 0; i < 200000; i++) {
    Formula f{bytes(), bytes(), bytes(), bytes(), bytes(), bytes(), random() % 8 == 0};
    if (f.keeps_nothing) f.B = 0;
    const ReclaimGoal goal = goal_of(f);
    ASSERT_EQ(goal.in_use(), static_cast<size_t>(f.U()));
    ASSERT_EQ(goal.footprint(), static_cast<size_t>(f.F()));
    ASSERT_EQ(goal.ranges_max(), static_cast<size_t>(f.ranges()));
    ASSERT_EQ(goal.total_max(), static_cast<size_t>(f.all()));
    const int64_t dirty = bytes();
    ASSERT_EQ(goal.excess(static_cast<size_t>(dirty)),
              static_cast<size_t>(Formula::minus(f.S + dirty, f.all())));
    by_use += f.all() == f.L() && f.L() > f.B;
    by_refault += f.all() == f.B && f.B > f.L();
    by_bound += f.all() > f.L() && f.all() > f.B;
    by_sixteenth += f.ranges() != 0 && f.ranges() == (f.R - f.c(f.R)) / 16;
  }
  for (const size_t cases : {by_bound, by_use, by_refault, by_sixteenth}) EXPECT_GT(cases, 1000u);
}

// Each line of the head of goal.hpp, in figures.
constexpr ReclaimGoal base_case() {
  ReclaimGoal goal;
  goal.given = 100 * mib;
  goal.retain = 64 * mib;
  goal.footprint_most = 100 * mib;
  return goal;
}

TEST(ReclaimGoal, IsTheOptionWhereNothingWasUsedLately) {
  const ReclaimGoal goal = base_case();
  EXPECT_EQ(goal.ranges_max(), 64 * mib);
  EXPECT_EQ(goal.total_max(), 64 * mib);
  EXPECT_EQ(goal.excess(64 * mib), 0u);
  EXPECT_EQ(goal.excess(65 * mib), mib);
}

TEST(ReclaimGoal, LetsStayWhatWasInUseLately) {
  ReclaimGoal goal = base_case();
  goal.footprint_most = 300 * mib;
  EXPECT_EQ(goal.ranges_max(), 200 * mib);
  goal.moving = 50 * mib;
  EXPECT_EQ(goal.ranges_max(), 250 * mib) << "contents that move are in use once";
  goal.refaulted = 400 * mib;
  EXPECT_EQ(goal.ranges_max(), 400 * mib);
}

TEST(ReclaimGoal, CountsWhatSlabsKeep) {
  ReclaimGoal goal = base_case();
  goal.free_in_slabs = 4 * mib;
  goal.footprint_most = goal.footprint();
  EXPECT_EQ(goal.footprint(), 100 * mib) << "less than an eighth";
  EXPECT_EQ(goal.ranges_max(), 60 * mib);
  goal.free_in_slabs = 40 * mib;
  goal.footprint_most = goal.footprint();
  EXPECT_EQ(goal.footprint(), (60 * mib) + (60 * mib) / 8);
  EXPECT_EQ(goal.total_max(), 52 * mib) << "three sixteenths are for what is not counted";
  EXPECT_EQ(goal.ranges_max(), 12 * mib);
  goal.free_in_slabs = 60 * mib;
  EXPECT_EQ(goal.ranges_max(), 52 * mib / 16) << "the last sixteenth";
}

TEST(ReclaimGoal, LetsLargeHeapsKeepAnEighth) {
  ReclaimGoal goal = base_case();
  goal.given = goal.footprint_most = 8192 * mib;
  EXPECT_EQ(goal.total_max(), 1024 * mib);
  EXPECT_EQ(goal.ranges_max(), 64 * mib);
}

TEST(ReclaimGoal, KeepsNoRangesWhereNothingMayStay) {
  ReclaimGoal goal = base_case();
  goal.keeps_nothing = true;
  goal.footprint_most = 300 * mib;
  EXPECT_EQ(goal.ranges_max(), 0u);
}

}  // namespace
}  // namespace talus::core
