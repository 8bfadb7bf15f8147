// SPDX-License-Identifier: MIT
// tests/unit/space/free_ranges: where the nodes of free ranges come from.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "space/free_ranges.hpp"

namespace talus {
namespace {

// Made-up addresses, beside those of the other tests: nobody touches the ranges.
constexpr uintptr_t apart = uintptr_t{0x7000} << 32;

class Ranges : public FreeRanges {
 public:
  using FreeRanges::add_nodes;
  using FreeRanges::node_count;
  Ranges() { EXPECT_TRUE(page_map.cover(apart, 2 * ranges_most * granule_bytes)); }
  ~Ranges() {
    for (; used_ > 0; used_--) {
      FreeRange& range = *range_at(base_of(used_ - 1));
      carve(range, range.base, range.granules);
    }
  }
  // One more range that touches no other.
  FreeRange* use_node() {
    insert(base_of(used_), 1, RangeState::dirty);
    return range_at(base_of(used_++));
  }

 private:
  static constexpr size_t ranges_most = 100;
  static uintptr_t base_of(size_t number) { return apart + 2 * number * granule_bytes; }
  size_t used_ = 0;
};

bool is_untouched(const FreeRange& node) {
  return node.base == 0 && node.granules == 0 && node.left == nullptr && node.right == nullptr;
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
  EXPECT_EQ(ranges.node_count(), supplied * supplies);
  while (used.size() < supplied * supplies) ASSERT_TRUE(used.insert(ranges.use_node()).second);
}

}  // namespace
}  // namespace talus
