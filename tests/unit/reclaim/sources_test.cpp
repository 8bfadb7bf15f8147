// SPDX-License-Identifier: MIT
// tests/unit/reclaim/sources: the order in which sources of free memory are walked, and what each
// kind of walk takes from them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "paths/alloc.hpp"
#include "quiet.hpp"
#include "reclaim/sources.hpp"

namespace talus::core {
namespace {

using Names = std::vector<std::string>;

TEST(Sources, AreWalkedFromTheKernelOutwardAndBack) {
  const Names outward{"free ranges",     "slabs",     "sample areas", "idle caches",
                      "orphaned caches", "own cache", "huge pages"};
  Names walked;
  const auto step = [&walked](const Source& source) noexcept { walked.emplace_back(source.name); };
  walk_outward(step);
  EXPECT_EQ(walked, outward);
  walked.clear();
  walk_inward(step);
  EXPECT_EQ(walked, Names(outward.rbegin(), outward.rend()));
}

// Bytes in free ranges that were touched, in slabs, and in the caller's lists of one class.
struct Stocks {
  size_t ranges, slabs, list;
};
class WalkTest : public testing::Test {
 protected:
  static constexpr size_t block_bytes = 1024, large_bytes = 3 * mib, count = 4096;

  WalkTest() : before_{options} {
    options.helper = false;
    options.decay_ms = 1000000;  // nothing is surplus
    rest();
    // Half of the blocks stay, so that their slabs have holes of a page and more.
    for (size_t i = 0; i < count; i++) blocks_.push_back(touched(block_bytes));
    void* large = touched(large_bytes);
    for (size_t i = 0; i < count; i++) {
      if (i / 16 % 2 == 0) free_block(blocks_[i]);
    }
    free_block(large);
    if (ThreadCache* own = existing_cache()) {
      const Working working{*own};
      flush_kept(*own);
      flush_lists(*own);
    }
    // And a few are in a list again.
    for (size_t i = 0; i < 3; i++) again_.push_back(touched(block_bytes));
    for (void* block : again_) free_block(block);
  }
  ~WalkTest() override {
    for (size_t i = 0; i < count; i++) {
      if (i / 16 % 2 != 0) free_block(blocks_[i]);
    }
    options = before_;
    rest();
  }

  static void rest() { purge_on_request(0); }
  static void* touched(size_t bytes) {
    void* block = allocate(bytes);
    memset(block, 1, bytes);
    return block;
  }
  static Stocks look() {
    Stocks found{};
    for_each_heap([&](Heap& heap) noexcept {
      Held held{lock_of(heap)};
      found.slabs += free_touched_bytes(heap);
    });
    found.list = list_length(*existing_cache(), class_of(block_bytes)) * block_bytes;
    Held held{space.lock()};
    found.ranges = space.dirty_bytes();
    return found;
  }

 private:
  Options before_;
  std::vector<void*> blocks_, again_;
};

TEST_F(WalkTest, GoalLeavesWhatMayStay) {
  const Stocks before = look();
  ASSERT_GE(before.ranges, large_bytes);
  ASSERT_GE(before.slabs, mib);
  ASSERT_GT(before.list, 0u);
  reclaim_to_goal(Reclaimer::caller, SIZE_MAX);
  const Stocks left = look();
  EXPECT_EQ(left.ranges, before.ranges);
  EXPECT_EQ(left.slabs, before.slabs);
  EXPECT_EQ(left.list, before.list);
}

TEST_F(WalkTest, GoalTakesHolesBeyondIt) {
  options.retain_bytes = 0;
  const Stocks before = look();
  // What was in use lately may stay for a while, even so.
  for (unsigned turn = 0; turn <= LowMark::turns_kept + 1; turn++) {
    Held held{space.lock()};
    space.purge_surplus(held, 1);
  }
  reclaim_to_goal(Reclaimer::caller, SIZE_MAX);
  const Stocks left = look();
  EXPECT_LT(left.slabs, before.slabs / 2);
  EXPECT_EQ(left.list, before.list) << "of threads it takes nothing";
}

TEST_F(WalkTest, PressureTakesAllButWhatThreadsHold) {
  const Stocks before = look();
  purge_under_pressure();
  const Stocks left = look();
  EXPECT_LT(left.ranges, mib);
  EXPECT_LT(left.slabs, before.slabs / 2);
  EXPECT_EQ(left.list, before.list);
}

TEST_F(WalkTest, EarlyTakesWhatTheCallerHolds) {
  purge_early();
  const Stocks left = look();
  EXPECT_LT(left.ranges, mib);
  EXPECT_EQ(left.list, 0u);
}

TEST_F(WalkTest, RequestTakesAll) {
  const Stocks before = look();
  purge_on_request(0);
  const Stocks left = look();
  EXPECT_LT(left.ranges, mib);
  EXPECT_LT(left.slabs, before.slabs / 2);
  EXPECT_EQ(left.list, 0u);
}

TEST_F(WalkTest, RequestKeepsSoMuchOfTheRanges) {
  purge_on_request(2 * mib);
  const Stocks left = look();
  EXPECT_LE(left.ranges, 2 * mib);
  EXPECT_GT(left.ranges, 0u);
}

}  // namespace
}  // namespace talus::core
