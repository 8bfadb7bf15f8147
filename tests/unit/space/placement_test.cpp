// SPDX-License-Identifier: MIT
// tests/unit/space/placement: which of several free ranges serves, and which end of it.
#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

// Touched free ranges between users: one of exactly a few slices, and above it a larger one.
class TwoTouchedRanges : public SpaceTest {
 protected:
  static constexpr size_t few = 2, many = 5;

  void lay(Held<SpaceLock>& held) {
    const Range whole = space_.take(held, few + many + 2);
    ASSERT_NE(whole.base, 0u);
    lower_ = whole.base;
    upper_ = whole.base + (few + 1) * slice_bytes;
    use(Range{lower_, few, Zeroed::no});
    use(Range{lower_ + few * slice_bytes, 1, Zeroed::no});
    use(Range{upper_, many, Zeroed::no});
    use(Range{upper_ + many * slice_bytes, 1, Zeroed::no});
    give(held, lower_);
    give(held, upper_);
  }
  uintptr_t take(Held<SpaceLock>& held, size_t slices, Filling filling) {
    const Range range = space_.take(held, slices, slice_bytes, filling);
    EXPECT_EQ(range.zeroed, Zeroed::no);
    use(range);
    return range.base;
  }

  uintptr_t lower_ = 0, upper_ = 0;
};

TEST_F(TwoTouchedRanges, TheUpperServesThoughTheLowerFits) {
  Held held{space_.lock()};
  ASSERT_NO_FATAL_FAILURE(lay(held));
  EXPECT_EQ(take(held, few, Filling::unknown), upper_);
  EXPECT_EQ(take(held, many - few, Filling::unknown), upper_ + few * slice_bytes);
  EXPECT_EQ(take(held, few, Filling::unknown), lower_) << "only when the upper one is used up";
}

TEST_F(TwoTouchedRanges, SlabsTakeTheUpperEndAndLeaveRoomBelow) {
  Held held{space_.lock()};
  ASSERT_NO_FATAL_FAILURE(lay(held));
  EXPECT_EQ(take(held, 1, Filling::sparse), upper_ + (many - 1) * slice_bytes);
  EXPECT_EQ(take(held, 1, Filling::dense), upper_ + (many - 2) * slice_bytes);
  EXPECT_EQ(take(held, 1, Filling::unknown), upper_) << "may grow to where the slabs begin";
}

// Free ranges of touched and of untouched slices beside each other, between two users.
class RangesBesideEachOther : public SpaceTest {
 protected:
  static constexpr size_t part = 8;  // slices of the touched range, and of each user

  void lay(Held<SpaceLock>& held, bool dirty_first, size_t clean = part) {
    const Range whole = space_.take(held, 3 * part + clean);
    ASSERT_NE(whole.base, 0u);
    first_ = whole.base + part * slice_bytes;
    const uintptr_t dirty = dirty_first ? first_ : first_ + clean * slice_bytes;
    use(Range{whole.base, part, Zeroed::no});
    use(Range{first_ + (part + clean) * slice_bytes, part, Zeroed::no});
    use(Range{dirty, part, Zeroed::no});
    space_.give_part(held, dirty_first ? first_ + part * slice_bytes : first_, clean, false);
    give(held, dirty);
    ASSERT_EQ(space_.dirty_bytes(), part * slice_bytes);
  }

  uintptr_t first_ = 0;  // address of the first of them
};

TEST_F(RangesBesideEachOther, MakeRoomTogether) {
  Held held{space_.lock()};
  for (const bool dirty_first : {true, false}) {
    for (const size_t slices : {part + 1, 2 * part - 1, 2 * part}) {
      ASSERT_NO_FATAL_FAILURE(lay(held, dirty_first));
      const Range both = space_.take(held, slices);
      const uintptr_t wanted = dirty_first ? first_ : first_ + (2 * part - slices) * slice_bytes;
      EXPECT_EQ(both.base, wanted) << slices;
      EXPECT_EQ(both.slices, slices);
      EXPECT_EQ(both.zeroed, Zeroed::no);
      EXPECT_EQ(space_.dirty_bytes(), 0u);
      EXPECT_TRUE(space_.is_sound());
      use(both);
    }
  }
}

TEST_F(RangesBesideEachOther, AreLeftToOthersWhereMostIsUntouched) {
  Held held{space_.lock()};
  ASSERT_NO_FATAL_FAILURE(lay(held, true, 3 * part));
  const Range other = space_.take(held, 2 * part + 2);
  EXPECT_EQ(other.zeroed, Zeroed::yes);
  use(other);
  EXPECT_EQ(space_.dirty_bytes(), part * slice_bytes);
}

TEST_F(SpaceTest, RangesBeginWhereTheyAreRequested) {
  Held held{space_.lock()};
  for (size_t phase = 0; phase < arena_alignment; phase += 5 * slice_bytes) {
    const Range range =
        space_.take(held, 40, Placing{arena_alignment, Filling::unknown, phase, false});
    ASSERT_NE(range.base, 0u);
    EXPECT_EQ(range.base % arena_alignment, phase);
    ASSERT_NO_FATAL_FAILURE(check(range, slice_bytes));
    use(range);
    EXPECT_TRUE(space_.is_sound());
  }
}

// Free memory in ranges that are too short does not stay beside what is taken for want of them.
TEST_F(SpaceTest, UntouchedMemoryIsTakenInExchange) {
  Held held{space_.lock()};
  constexpr size_t slices = 2 * mib / slice_bytes;
  const Range before = space_.take(held, 1), first = space_.take(held, slices);
  const Range between = space_.take(held, 1), second = space_.take(held, slices);
  const Range behind = space_.take(held, 1);
  for (const Range& range : {before, first, between, second, behind}) use(range);
  give(held, first.base);
  give(held, second.base);
  ASSERT_EQ(space_.dirty_bytes(), 4 * mib);
  const Range longer = space_.take(held, slices + 1);
  use(longer);
  EXPECT_EQ(longer.zeroed, Zeroed::yes) << "it fits into neither";
  EXPECT_LE(space_.dirty_bytes(), 2 * mib);
}

// A touched range with room at its end is not purged in exchange for what it can serve.
TEST_F(SpaceTest, NothingIsPurgedWhereTwoNeighboursMakeRoom) {
  Held held{space_.lock()};
  constexpr size_t slices = 2 * mib / slice_bytes;
  const Range other = space_.take(held, slices), between = space_.take(held, 1);
  const Range whole = space_.take(held, 3 * slices), behind = space_.take(held, 1);
  use(other);
  use(between);
  use(Range{whole.base, slices, Zeroed::no});
  use(behind);
  space_.give_part(held, whole.base + slices * slice_bytes, 2 * slices, false);
  give(held, other.base);
  give(held, whole.base);
  ASSERT_EQ(space_.dirty_bytes(), 4 * mib);
  const Range both = space_.take(held, 2 * slices);
  use(both);
  EXPECT_EQ(both.base, whole.base);
  EXPECT_EQ(space_.dirty_bytes(), 2 * mib) << "the other range is as it was";
}

TEST_F(TwoTouchedRanges, AnOptionalRequestTakesNoUntouchedPages) {
  Held held{space_.lock()};
  ASSERT_NO_FATAL_FAILURE(lay(held));
  const size_t phase = (upper_ + slice_bytes) % arena_alignment;
  const auto take_placed = [&](bool is_request) {
    const Range range =
        space_.take(held, many, Placing{arena_alignment, Filling::moved, phase, is_request});
    use(range);
    return range;
  };
  EXPECT_EQ(take_placed(false).base % arena_alignment, phase);
  EXPECT_EQ(take_placed(true).base, upper_);
  EXPECT_EQ(take_placed(true).base % arena_alignment, phase) << "no touched memory is left";
}

}  // namespace
}  // namespace talus::core
