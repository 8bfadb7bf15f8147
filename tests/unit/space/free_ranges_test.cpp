// SPDX-License-Identifier: MIT
// tests/unit/space/free_ranges: where the nodes of free ranges come from, and what goes with a
// range that is taken out.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "space/free_ranges.hpp"

namespace talus::core {
namespace {

// Made-up addresses, beside the other tests' addresses: no thread touches the ranges.
constexpr uintptr_t apart = uintptr_t{0x7000} << 32;

class Ranges : public FreeRanges {
 public:
  using FreeRanges::add_nodes;
  using FreeRanges::nodes_left;
  Ranges() { EXPECT_TRUE(page_map.cover(apart, 2 * ranges_most * slice_bytes)); }
  ~Ranges() {
    for (; used_ > 0; used_--) {
      FreeRange& range = *range_at(base_of(used_ - 1));
      carve(range, range.base, range.slices);
    }
  }
  // One more range that touches no other.
  FreeRange* use_node() {
    insert(base_of(used_), 1, RangeState::dirty);
    return range_at(base_of(used_++));
  }

 private:
  static constexpr size_t ranges_most = 100;
  static uintptr_t base_of(size_t number) { return apart + 2 * number * slice_bytes; }
  size_t used_ = 0;
};

bool is_untouched(const FreeRange& node) {
  return node.base == 0 && node.slices == 0 && node.left == nullptr && node.right == nullptr;
}

// On a large heap there are many more nodes than ranges: what is never used takes no memory.
TEST(FreeRanges, WhatIsLeftOfASupplyStaysUntouchedAndServesLater) {
  constexpr size_t supplied = 8, supplies = 3;
  std::vector<std::vector<FreeRange>> nodes(supplies, std::vector<FreeRange>(supplied));
  std::set<FreeRange*> used;
  Ranges ranges;
  for (std::vector<FreeRange>& supply : nodes) {
    ranges.add_nodes(supply.data(), supplied);
    used.insert(ranges.use_node());
    EXPECT_EQ(std::count_if(supply.begin(), supply.end(), is_untouched),
              static_cast<ptrdiff_t>(&supply == &nodes[0] ? supplied - 1 : supplied - 2))
        << "one is used, and one holds what is left of the supply before";
  }
  EXPECT_EQ(std::count_if(nodes[0].begin(), nodes[0].end(), is_untouched),
            static_cast<ptrdiff_t>(supplied - 1));
  EXPECT_EQ(ranges.nodes_left(), supplied * supplies - used.size());
  while (used.size() < supplied * supplies) ASSERT_TRUE(used.insert(ranges.use_node()).second);
}

// Two places of four slices, and what lies before and behind them; d: touched and free, c: free and
// untouched, u: in use. What is taken out is marked X.
struct Taken {
  const char* before;
  const char* taken_out;  // the requested part of it
  const char* after;
};

class TakeOut : public testing::TestWithParam<Taken>, public FreeRanges {
 protected:
  static constexpr size_t place = 4, count = 4 * place;
  static constexpr uintptr_t base = apart + place * slice_bytes * 64;

  TakeOut() {
    EXPECT_TRUE(page_map.cover(base, count * slice_bytes));
    add_nodes(nodes_.data(), nodes_.size());
    for (size_t i = 0; i < count; i++) {
      const char state = GetParam().before[i];
      if (state == 'd') insert(address(i), 1, RangeState::dirty);
      if (state == 'c') insert(address(i), 1, RangeState::clean);
    }
  }
  ~TakeOut() override {
    for (size_t i = 0; i < count; i++) {
      if (FreeRange* range = range_at(address(i))) carve(*range, range->base, range->slices);
    }
  }
  static uintptr_t address(size_t i) { return base + i * slice_bytes; }
  static size_t number(uintptr_t at) { return (at - base) / slice_bytes; }

  static size_t first_wanted() { return std::string{GetParam().taken_out}.find('X'); }
  static size_t wanted_slices() {
    const std::string wanted = GetParam().taken_out;
    return static_cast<size_t>(std::count(wanted.begin(), wanted.end(), 'X'));
  }
  FreeRange& take_out_wanted() {
    // The range that it is a part of begins behind the last slice of another kind.
    const char* before = GetParam().before;
    size_t from = first_wanted();
    while (from > 0 && before[from - 1] == before[first_wanted()]) from--;
    return take_out(*range_at(address(from)), address(first_wanted()), wanted_slices(),
                    place * slice_bytes);
  }

  std::vector<FreeRange> nodes_ = std::vector<FreeRange>(32);
};

TEST_P(TakeOut, WithWhatIsUntouchedAroundItInItsPlaces) {
  const std::string before = GetParam().before;
  FreeRange& node = take_out_wanted();
  EXPECT_EQ(node.state, RangeState::purging);
  std::string after = before;
  std::fill_n(after.begin() + static_cast<ptrdiff_t>(number(node.base)), node.slices, 'X');
  EXPECT_EQ(after, GetParam().after);
  EXPECT_TRUE(indexes_are_sound());
  const auto left = [&](char kind) { return std::count(after.begin(), after.end(), kind); };
  EXPECT_EQ(dirty_bytes() / slice_bytes, static_cast<size_t>(left('d')));
  EXPECT_EQ(clean_bytes() / slice_bytes, static_cast<size_t>(left('c')));
  put_back(node, 0, 0);
  EXPECT_TRUE(indexes_are_sound());
  EXPECT_EQ(dirty_bytes() / slice_bytes, static_cast<size_t>(left('d')));
}

// The kernel refused: what was untouched still is.
TEST_P(TakeOut, AndComesBackAsItWas) {
  const size_t dirty = dirty_bytes(), clean = clean_bytes(), ranges = free_range_count();
  FreeRange& node = take_out_wanted();
  put_back(node, address(first_wanted()), wanted_slices());
  EXPECT_TRUE(indexes_are_sound());
  EXPECT_EQ(dirty_bytes(), dirty);
  EXPECT_EQ(clean_bytes(), clean);
  EXPECT_EQ(free_range_count(), ranges);
}

INSTANTIATE_TEST_SUITE_P(
    FreeRanges, TakeOut,
    testing::Values(
        // All of a place is free then: all of it goes.
        Taken{"uuuuccdduuuuuuuu", "......XX........", "uuuuXXXXuuuuuuuu"},
        Taken{"uuuuddccuuuuuuuu", "....XX..........", "uuuuXXXXuuuuuuuu"},
        Taken{"uuuucddcuuuuuuuu", ".....XX.........", "uuuuXXXXuuuuuuuu"},
        Taken{"uuccccdccccuuuuu", "......X.........", "uuccXXXXcccuuuuu"},
        // At both ends, and at one of them.
        Taken{"uuuuccddddccuuuu", "......XXXX......", "uuuuXXXXXXXXuuuu"},
        Taken{"uuuuccddddcuuuuu", "......XXXX......", "uuuuXXXXXXcuuuuu"},
        Taken{"uuuuucddddccuuuu", "......XXXX......", "uuuuucXXXXXXuuuu"},
        // A place of which a part is in use, or which is touched elsewhere, keeps its table.
        Taken{"uuuuccduuuuuuuuu", "......X.........", "uuuuccXuuuuuuuuu"},
        Taken{"uuuuccddduuuuuuu", "......X.........", "uuuuccXdduuuuuuu"},
        Taken{"uuuucccduuuuuuuu", ".......X........", "uuuuXXXXuuuuuuuu"},
        // Whole places need nothing else.
        Taken{"ccccddddcccuuuuu", "....XXXX........", "ccccXXXXcccuuuuu"}));

}  // namespace
}  // namespace talus::core
