// SPDX-License-Identifier: MIT
// tests/unit/space/node_supply: however free memory comes to lie, there is a node for each range.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

// What was taken at an alignment leaves a touched island in what is untouched, time and again, and
// next to nothing has a user meanwhile.
TEST_F(SpaceTest, IslandsMayBeManyMoreThanUsers) {
  options.retain_bytes = 1024 * mib;
  test::Random random{test::seed_of("Space.Islands")};
  Held held{space_.lock()};
  std::vector<Range> slots(100);
  size_t ranges_most = 0;
  for (size_t round = 0; round < 20000; round++) {
    Range& slot = slots[random.below(slots.size())];
    if (slot.base != 0) space_.give(held, slot.base, slot.slices, true);
    const size_t alignment = slice_bytes << (1 + random.below(4));
    slot = space_.take(held, 1 + random.below(2), alignment);
    ASSERT_NE(slot.base, 0u);
    ASSERT_EQ(slot.base % alignment, 0u);
    page_map.set_ends(slot.base, slot.slices, PageEntry::large(), this);
    ranges_most = std::max(ranges_most, space_.free_range_count());
    if (round % 256 != 0) continue;
    ASSERT_TRUE(space_.is_sound());
  }
  EXPECT_GT(ranges_most, 3 * slots.size()) << "or this shows nothing";
  for (const Range& slot : slots) {
    if (slot.base != 0) space_.give(held, slot.base, slot.slices, true);
  }
}

// One user gives its range back in parts, of which every second was touched.
TEST_F(SpaceTest, PartsOfOneRangeMayBeMany) {
  constexpr size_t parts = 4000;
  options.retain_bytes = 1024 * mib;
  Held held{space_.lock()};
  const Range range = space_.take(held, parts + 1);
  ASSERT_NE(range.base, 0u);
  page_map.set_ends(range.base, range.slices, PageEntry::large(), this);
  for (size_t left = parts; left > 0; left--) {
    ASSERT_TRUE(space_.can_divide(held));
    space_.give_part(held, range.base + left * slice_bytes, 1, left % 2 == 0);
  }
  EXPECT_GE(space_.free_range_count(), parts);
  EXPECT_TRUE(space_.is_sound());
  space_.give(held, range.base, 1, true);
}

// An aligned range that was given back serves the next one, though nothing lies free around it.
TEST_F(SpaceTest, AlignedRangesAreUsedAgain) {
  constexpr size_t slices = arena_alignment / slice_bytes;
  Held held{space_.lock()};
  const Range first = space_.take(held, slices, arena_alignment);
  use(first);
  give(held, first.base);
  for (const size_t wanted : {slices, slices / 2, size_t{1}}) {
    const Range again = space_.take(held, wanted, arena_alignment);
    EXPECT_EQ(again.base, first.base);
    EXPECT_EQ(again.zeroed, Zeroed::no);
    use(again);
    give(held, again.base);
  }
  const Placing behind{arena_alignment, Filling::unknown, slice_bytes};
  const Range second = space_.take(held, slices - 1, behind);
  EXPECT_EQ(second.base, first.base + slice_bytes);
  use(second);
}

}  // namespace
}  // namespace talus::core
