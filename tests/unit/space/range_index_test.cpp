// SPDX-License-Identifier: MIT
// tests/unit/space/range_index: the treap against an ordered set, operation by operation.
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "effort.hpp"
#include "space/range_index.hpp"

namespace talus {
namespace {

using Key = std::pair<size_t, uintptr_t>;  // granules, base: the order of the index

TEST(RangeIndex, AgreesWithAnOrderedSet) {
  test::Random random{test::seed_of("RangeIndex")};
  constexpr size_t node_count = 2000;
  std::vector<FreeRange> nodes(node_count);
  std::vector<bool> inside(node_count, false);
  std::set<Key> model;
  RangeIndex index;
  size_t granules = 0;
  for (size_t round = 0; round < test::rounds_of(400000); round++) {
    const size_t which = random.below(node_count);
    FreeRange& node = nodes[which];
    if (inside[which]) {
      index.remove(node);
      EXPECT_EQ(model.erase(Key{node.granules, node.base}), 1u);
      granules -= node.granules;
    } else {
      node = FreeRange{};
      node.base = (which + 1) * granule_bytes * 64;  // unique
      node.granules = 1 + random.of_any_length(5);   // many of the same length
      index.insert(node);
      model.insert(Key{node.granules, node.base});
      granules += node.granules;
    }
    inside[which] = !inside[which];
    ASSERT_EQ(index.count(), model.size());
    ASSERT_EQ(index.bytes(), granules * granule_bytes);
    const size_t wanted = 1 + random.below(80);
    const auto expected = model.lower_bound(Key{wanted, 0});
    FreeRange* found = index.best_fit(wanted);
    if (expected == model.end()) {
      ASSERT_EQ(found, nullptr);
    } else {
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(Key(found->granules, found->base), *expected);
      const FreeRange* next = index.next_after(found->granules, found->base);
      const auto behind = std::next(expected);
      ASSERT_EQ(next == nullptr, behind == model.end());
      if (next != nullptr) {
        ASSERT_EQ(Key(next->granules, next->base), *behind);
      }
    }
    if (round % 500 != 0) continue;
    ASSERT_TRUE(index.is_sound());
  }
  for (size_t which = 0; which < node_count; which++) {
    if (inside[which]) index.remove(nodes[which]);
  }
  EXPECT_EQ(index.any(), nullptr);
  EXPECT_EQ(index.bytes(), 0u);
  EXPECT_TRUE(index.is_sound());
}

// Keys in order are the worst case of a plain tree; a walk to the deepest must stay short.
TEST(RangeIndex, StaysShallowWhenFilledInOrder) {
  constexpr size_t node_count = 20000;
  std::vector<FreeRange> nodes(node_count);
  RangeIndex index;
  for (size_t i = 0; i < node_count; i++) {
    nodes[i].base = (i + 1) * granule_bytes;
    nodes[i].granules = i + 1;
    index.insert(nodes[i]);
  }
  size_t deepest = 0;
  for (size_t i = 0; i < node_count; i++) {
    size_t depth = 0;
    for (FreeRange* at = index.any(); at != nullptr && at != &nodes[i]; depth++) {
      at = nodes[i].granules < at->granules ? at->left : at->right;
    }
    if (depth > deepest) deepest = depth;
  }
  EXPECT_LT(deepest, 60u);  // about 3 times the logarithm; expected depth is 2 ln n = 20
  EXPECT_TRUE(index.is_sound());
}

TEST(RangeIndex, SoundnessNoticesABrokenKey) {
  FreeRange nodes[3];
  RangeIndex index;
  for (size_t i = 0; i < 3; i++) {
    nodes[i].base = (i + 1) * granule_bytes;
    nodes[i].granules = i + 1;
    index.insert(nodes[i]);
  }
  ASSERT_TRUE(index.is_sound());
  nodes[1].granules = 9;
  EXPECT_FALSE(index.is_sound());
}

}  // namespace
}  // namespace talus
