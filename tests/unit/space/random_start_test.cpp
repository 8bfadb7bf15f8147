// SPDX-License-Identifier: MIT
// tests/unit/space/random_start: where a process begins to take addresses.
#include "space/random_start.hpp"

#include <set>

#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

constexpr size_t huge_place = RandomStart::place_bytes;
constexpr uintptr_t first_base = 16 * huge_place;
constexpr size_t slices_in_place = huge_place / slice_bytes;

constexpr uintptr_t first_end = first_base + 2 * huge_place;

size_t nothing_free(uintptr_t) { return 0; }
// Of an untouched range of two places.
uintptr_t choose(RandomStart& start, size_t bytes) {
  return start.choose(first_base, first_end, bytes, nothing_free);
}

TEST(RandomStart, WithoutRandomBitsChangesNothing) {
  RandomStart start;
  EXPECT_EQ(choose(start, slice_bytes), first_base);
}

TEST(RandomStart, AnySliceOfThePlaceMayBeTheFirst) {
  for (size_t slices : {1u, 7u, 31u}) {
    std::set<uintptr_t> found;
    for (uint64_t i = 1; i < 2000; i++) {
      RandomStart start;
      start.begin(mix_bits(i));
      found.insert(choose(start, slices * slice_bytes));
    }
    EXPECT_EQ(found.size(), slices_in_place - slices + 1);
    EXPECT_EQ(*found.begin(), first_base);
    EXPECT_EQ(*found.rbegin(), first_base + huge_place - slices * slice_bytes);
    for (const uintptr_t at : found) EXPECT_EQ(at % slice_bytes, 0u);
  }
}

TEST(RandomStart, ARangeThatMayHoldAHugePageKeepsItsPlace) {
  RandomStart start;
  start.begin(mix_bits(1));
  EXPECT_EQ(choose(start, huge_place), first_base);
  std::set<uintptr_t> found;
  for (uint64_t i = 1; i < 200; i++) {
    start.begin(mix_bits(i));
    found.insert(choose(start, slice_bytes));
  }
  EXPECT_GT(found.size(), 20u) << "the next smaller one begins at random";
}

TEST(RandomStart, TheGapIsTakenBeforeTheNextPlaceBegins) {
  RandomStart start;
  uintptr_t first = first_base;
  for (uint64_t i = 1; first == first_base; i++) {
    start.begin(mix_bits(i));
    first = choose(start, slice_bytes);
  }
  const size_t gap = first - first_base;
  static size_t free_bytes;
  free_bytes = gap;
  const auto gap_free = [](uintptr_t at) { return at == first_base ? free_bytes : size_t{0}; };
  const uintptr_t last = first_base + huge_place - slice_bytes;
  const uintptr_t next = first_base + huge_place;
  EXPECT_EQ(start.choose(last, first_end, slice_bytes, gap_free), last);
  EXPECT_EQ(start.choose(last, first_end, 2 * slice_bytes, nothing_free), last)
      << "where the gap is no longer free";
  EXPECT_EQ(start.choose(next, first_end, gap, gap_free), first_base);
  EXPECT_EQ(start.choose(next, first_end, slice_bytes, gap_free), next) << "the gap is used up";
}

// As many slices as a place has lie in one place, wherever they begin.
TEST_F(SpaceTest, TheFirstPlaceIsFilledFirst) {
  std::set<uintptr_t> firsts;
  Held held{space_.lock()};
  for (uint64_t i = 1; i <= 60; i++) {
    space_.start_at_random(held, mix_bits(i));
    std::set<uintptr_t> taken;
    for (size_t count = 0; count < slices_in_place; count++) {
      const Range range = space_.take(held, 1);
      ASSERT_NE(range.base, 0u);
      EXPECT_EQ(range.zeroed, Zeroed::yes);
      page_map.set_ends(range.base, 1, PageEntry::large(), this);
      if (count == 0) firsts.insert(range.base % huge_place);
      taken.insert(range.base);
    }
    EXPECT_EQ(taken.size(), slices_in_place);
    EXPECT_EQ(*taken.begin() % huge_place, 0u);
    EXPECT_EQ(*taken.rbegin() - *taken.begin(), huge_place - slice_bytes);
    for (const uintptr_t at : taken) space_.give(held, at, 1, false);
    EXPECT_TRUE(space_.is_sound());
  }
  EXPECT_GT(firsts.size(), 20u);
}

}  // namespace
}  // namespace talus::core
