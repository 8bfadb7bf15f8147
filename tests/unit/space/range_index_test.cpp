// SPDX-License-Identifier: MIT
// tests/unit/space/range_index: the treap against an ordered map, operation by operation.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "effort.hpp"
#include "space/range_index.hpp"

namespace talus::core {
namespace {

// Ranges begin somewhere in the lower half of places of this length, so that they can grow.
constexpr size_t place_slices = 128;

using Model = std::map<uintptr_t, size_t>;  // slices by base

// The slow way to the highest range of that number of slices.
Model::const_iterator highest_in(const Model& model, size_t slices) {
  for (auto at = model.end(); at != model.begin();) {
    if ((--at)->second >= slices) return at;
  }
  return model.end();
}

class RangeIndexTest : public ::testing::Test {
 protected:
  static constexpr size_t node_count = 300;

  void choose_ends(FreeRange& to, size_t which) {
    to.base = (which + 1) * place_slices * slice_bytes + random_.below(64) * slice_bytes;
    to.slices = 1 + random_.of_any_length(5);  // many of the same length
  }
  void insert(FreeRange& node, size_t which) {
    node = FreeRange{};
    choose_ends(node, which);
    index_.insert(node);
    model_[node.base] = node.slices;
  }
  void remove(FreeRange& node) {
    index_.remove(node);
    EXPECT_EQ(model_.erase(node.base), 1u);
  }
  void resize(FreeRange& node, size_t which) {
    EXPECT_EQ(model_.erase(node.base), 1u);
    FreeRange ends;
    choose_ends(ends, which);
    index_.resize(node, ends.base, ends.slices);
    model_[node.base] = node.slices;
  }
  void expect_same(size_t wanted) {
    const FreeRange* found = index_.highest_fit(wanted);
    const auto expected = highest_in(model_, wanted);
    ASSERT_EQ(found == nullptr, expected == model_.end());
    if (found == nullptr) return;
    ASSERT_EQ(found->base, expected->first);
    const FreeRange* next = index_.next_above(found->base);
    const auto behind = std::next(expected);
    ASSERT_EQ(next == nullptr, behind == model_.end());
    if (next != nullptr) {
      ASSERT_EQ(next->base, behind->first);
    }
  }

  test::Random random_{test::seed_of("RangeIndex")};
  RangeIndex index_;
  Model model_;
};

TEST_F(RangeIndexTest, AgreesWithAnOrderedMap) {
  std::vector<FreeRange> nodes(node_count);
  std::vector<bool> inside(node_count, false);
  for (size_t round = 0; round < test::rounds_of(100000); round++) {
    const size_t which = random_.below(node_count);
    if (!inside[which]) {
      insert(nodes[which], which);
      inside[which] = true;
    } else if (random_.below(2) == 0) {
      resize(nodes[which], which);
    } else {
      remove(nodes[which]);
      inside[which] = false;
    }
    ASSERT_EQ(index_.count(), model_.size());
    expect_same(1 + random_.below(40));
    if (HasFatalFailure()) return;
    if (round % 100 != 0) continue;
    ASSERT_TRUE(index_.is_sound());
    size_t slices = 0;
    for (const auto& range : model_) slices += range.second;
    ASSERT_EQ(index_.bytes(), slices * slice_bytes);
  }
  for (size_t which = 0; which < node_count; which++) {
    if (inside[which]) remove(nodes[which]);
  }
  EXPECT_EQ(index_.highest_fit(1), nullptr);
  EXPECT_EQ(index_.bytes(), 0u);
  EXPECT_TRUE(index_.is_sound());
}

// Addresses in order are the worst case of a plain tree; the way to the root must stay short.
TEST(RangeIndex, StaysShallowWhenFilledInOrder) {
  constexpr size_t node_count = 20000;
  std::vector<FreeRange> nodes(node_count);
  RangeIndex index;
  for (size_t i = 0; i < node_count; i++) {
    nodes[i].base = (2 * i + 1) * slice_bytes;
    nodes[i].slices = 1;
    index.insert(nodes[i]);
  }
  size_t deepest = 0;
  for (const FreeRange& node : nodes) {
    size_t depth = 0;
    for (const FreeRange* at = node.parent; at != nullptr; at = at->parent) depth++;
    if (depth > deepest) deepest = depth;
  }
  EXPECT_LT(deepest, 60u);  // about 3 times the logarithm; expected depth is 2 ln n = 20
  EXPECT_TRUE(index.is_sound());
}

class BrokenIndex : public ::testing::Test {
 protected:
  BrokenIndex() {
    for (size_t i = 0; i < 3; i++) {
      nodes_[i].base = (4 * i + 1) * slice_bytes;
      nodes_[i].slices = i + 1;
      index_.insert(nodes_[i]);
    }
    EXPECT_TRUE(index_.is_sound());
  }
  FreeRange nodes_[3];
  RangeIndex index_;
};

TEST_F(BrokenIndex, SoundnessNoticesARangeThatGrewUnnoticed) {
  nodes_[1].slices = 3;
  EXPECT_FALSE(index_.is_sound());
}

TEST_F(BrokenIndex, SoundnessNoticesRangesThatOverlap) {
  nodes_[1].base = nodes_[2].base;
  EXPECT_FALSE(index_.is_sound());
}

TEST_F(BrokenIndex, SoundnessNoticesAWrongLargest) {
  nodes_[0].slices_most = 9;
  EXPECT_FALSE(index_.is_sound());
}

}  // namespace
}  // namespace talus::core
