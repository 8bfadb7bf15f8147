// SPDX-License-Identifier: MIT
// tests/unit/slab/slab: every class's slab hands out each block once, in the order of addresses,
// takes them back in any order, and knows what is no block. Slabs never touch their memory, so
// these have made-up addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <vector>

#include "effort.hpp"
#include "slab/made_up_slab.hpp"

namespace talus::core {
namespace {

using test::MadeUpSlab;

// Gives blocks back as the heap does: runs of pointers that lie in one slab.
void give_run(Slab& slab, const std::vector<void*>& blocks) {
  for (size_t done = 0; done < blocks.size();) {
    done += slab.give_blocks(blocks.data() + done, blocks.size() - done);
  }
}

class SlabTest : public testing::TestWithParam<size_t> {
 protected:
  ClassId id() const { return ClassId{static_cast<uint8_t>(GetParam())}; }
};

TEST_P(SlabTest, HandsOutEachBlockOnceInTheOrderOfAddresses) {
  MadeUpSlab made{id()};
  Slab& slab = made.slab();
  test::Random random{GetParam()};
  std::vector<void*> places(slab.block_count);
  uintptr_t expected = slab.base;
  size_t taken = 0;
  while (taken < slab.block_count) {
    const size_t wanted = 1 + random.below(40);
    const size_t got = slab.take_blocks(places.data(), wanted);
    ASSERT_EQ(got, std::min<size_t>(wanted, slab.block_count - taken));
    for (size_t i = got; i-- > 0;) {  // the last is popped first and has the lowest address
      ASSERT_EQ(reinterpret_cast<uintptr_t>(places[i]), expected);
      expected += slab.block_bytes;
    }
    taken += got;
    ASSERT_EQ(slab.free_count, slab.block_count - taken);
    ASSERT_TRUE(slab.is_sound());
  }
  EXPECT_EQ(slab.take_blocks(places.data(), 1), 0u);
}

TEST_P(SlabTest, RandomTakesAndGivesKeepTheBitmapSound) {
  MadeUpSlab made{id()};
  Slab& slab = made.slab();
  test::Random random{test::seed_of("Slab.Random")};
  std::vector<void*> out;
  std::set<void*> distinct;
  for (int round = 0; round < 300; round++) {
    if (random.below(2) == 0) {
      void* places[64];
      const size_t got = slab.take_blocks(places, 1 + random.below(64));
      for (size_t i = 0; i < got; i++) {
        ASSERT_TRUE(distinct.insert(places[i]).second) << "handed out twice";
        out.push_back(places[i]);
      }
    } else {
      for (size_t count = random.below(64); count > 0 && !out.empty(); count--) {
        std::swap(out[random.below(out.size())], out.back());
        const uint32_t index = slab.prove(out.back());
        ASSERT_FALSE(slab.is_free(index));
        slab.give_blocks(&out.back(), 1);
        ASSERT_TRUE(slab.is_free(index));
        distinct.erase(out.back());
        out.pop_back();
      }
    }
    ASSERT_TRUE(slab.is_sound());
    ASSERT_EQ(slab.free_count + out.size(), slab.block_count);
  }
  give_run(slab, out);
  EXPECT_TRUE(slab.is_empty());
  EXPECT_TRUE(slab.is_sound());
}

TEST_P(SlabTest, ProvesStartsOfBlocksAndNothingElse) {
  MadeUpSlab made{id()};
  Slab& slab = made.slab();
  for (uint32_t index = 0; index < slab.block_count; index++) {
    ASSERT_EQ(slab.prove(reinterpret_cast<void*>(slab.base + size_t{index} * slab.block_bytes)),
              index);
  }
}

INSTANTIATE_TEST_SUITE_P(AllClasses, SlabTest, testing::Range(size_t{0}, class_count));

// Indexes of the blocks that are free.
std::set<size_t> free_blocks(const Slab& slab) {
  std::set<size_t> indexes;
  for (uint32_t index = 0; index < slab.block_count; index++) {
    if (slab.is_free(index)) indexes.insert(index);
  }
  return indexes;
}

// Gives blocks with these indexes to a slab that has none, up to the first that lies elsewhere.
// Returns how many it took.
struct Given {
  size_t count;
  std::set<size_t> free;
};
Given give_indexes(const std::vector<size_t>& indexes) {
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  std::vector<void*> places(slab.block_count);
  EXPECT_EQ(slab.take_blocks(places.data(), places.size()), places.size());
  std::vector<void*> pointers;
  for (const size_t index : indexes) {
    pointers.push_back(reinterpret_cast<void*>(slab.base + index * slab.block_bytes));
  }
  size_t count = 0;
  while (count < pointers.size() && slab.base <= reinterpret_cast<uintptr_t>(pointers[count]) &&
         reinterpret_cast<uintptr_t>(pointers[count]) < slab.base + slice_bytes) {
    count += slab.give_blocks(pointers.data() + count, pointers.size() - count);
  }
  EXPECT_EQ(slab.free_count, count);
  EXPECT_TRUE(slab.is_sound());
  return Given{count, free_blocks(slab)};
}

TEST(Slab, TakesSingleBlocksBackInAnyOrder) {
  const Given given = give_indexes({0, 3, 63, 64, slice_bytes / 64, 1});
  EXPECT_EQ(given.count, 4u) << "the fifth lies behind the slab";
  EXPECT_EQ(given.free, (std::set<size_t>{0, 3, 63, 64}));
}

TEST(Slab, TakesNeighboursBackInBothDirectionsAndAcrossWords) {
  std::vector<size_t> upward, downward;
  std::set<size_t> all;
  for (size_t index = 60; index < 200; index++) {
    upward.push_back(index);
    downward.insert(downward.begin(), index);
    all.insert(index);
  }
  EXPECT_EQ(give_indexes(upward).free, all);
  EXPECT_EQ(give_indexes(downward).free, all);
  EXPECT_EQ(give_indexes({5, 6, 7, 20, 19, 18, 30, 8, 9}).free,
            (std::set<size_t>{5, 6, 7, 8, 9, 18, 19, 20, 30}));
}

TEST(Slab, NeighboursEndWithTheSlab) {
  const size_t count = slice_bytes / 64;
  const Given behind = give_indexes({count - 2, count - 1, count, count + 1});
  EXPECT_EQ(behind.count, 2u);
  EXPECT_EQ(behind.free, (std::set<size_t>{count - 2, count - 1}));
  const Given before = give_indexes({1, 0, size_t{0} - 1, size_t{0} - 2});
  EXPECT_EQ(before.count, 2u);
  EXPECT_EQ(before.free, (std::set<size_t>{0, 1}));
}

void* in(const Slab& slab, size_t offset) { return reinterpret_cast<void*>(slab.base + offset); }

TEST(SlabDeathTest, ReportsWhatIsNoBlock) {
  const auto aborts = testing::KilledBySignal(SIGABRT);
  MadeUpSlab made{class_of(48)};
  Slab& slab = made.slab();
  EXPECT_EXIT(slab.prove(in(slab, 16)), aborts,
              "invalid free of 0x10000010 .not the start of a block; it points 16 bytes into 48 "
              "bytes at 0x10000000.");
  EXPECT_EXIT(slab.prove(in(slab, 48 * 100 + 47)), aborts, "it points 47 bytes into 48 bytes");
  EXPECT_EXIT(slab.prove(in(slab, size_t{48} * slab.block_count)), aborts,
              "invalid pointer 0x[0-9a-f]+ passed to free");
}

TEST(SlabDeathTest, ReportsWhatIsFreeAlready) {
  const auto aborts = testing::KilledBySignal(SIGABRT);
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  void* blocks[3];
  ASSERT_EQ(slab.take_blocks(blocks, 3), 3u);
  give_run(slab, {in(slab, 64)});
  const char* expected = "double free of 0x10000040 .a free block of 64 bytes.";
  EXPECT_EXIT(give_run(slab, {in(slab, 64)}), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 0), in(slab, 64), in(slab, 128)}), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 128), in(slab, 64)}), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 128), in(slab, 0), in(slab, 64)}), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 0), in(slab, 0)}), aborts,
              "double free of 0x10000000 .a free block of 64 bytes.");
  EXPECT_EXIT(give_run(slab, {in(slab, 0), in(slab, 16)}), aborts,
              "invalid free of 0x10000010 .not the start of a block");
}

TEST(SlabList, AddsInFrontAndRemovesAnywhere) {
  Slab slabs[3];
  SlabList list;
  for (Slab& slab : slabs) list.add(slab, SlabState::available);
  EXPECT_EQ(list.first, &slabs[2]);
  list.remove(slabs[1]);
  EXPECT_EQ(list.first, &slabs[2]);
  EXPECT_EQ(slabs[2].next, &slabs[0]);
  EXPECT_EQ(slabs[0].previous, &slabs[2]);
  list.remove(slabs[2]);
  EXPECT_EQ(list.first, &slabs[0]);
  EXPECT_EQ(slabs[0].previous, nullptr);
  list.remove(slabs[0]);
  EXPECT_EQ(list.first, nullptr);
}

TEST(SlabBins, TheFullestComesFirstAndSlabsMoveAsTheyEmpty) {
  SlabBins bins;
  Slab slabs[3];
  const uint32_t free_counts[] = {61, 5, 40};  // of 64
  for (int i = 0; i < 3; i++) {
    slabs[i].block_count = 64;
    slabs[i].free_count = free_counts[i];
    bins.add(slabs[i], SlabState::available);
  }
  EXPECT_EQ(bins.fullest(), &slabs[1]);
  slabs[1].free_count = 61;
  bins.refit(slabs[1]);
  EXPECT_EQ(bins.fullest(), &slabs[2]);
  EXPECT_FALSE(bins.holds_only(slabs[2]));
  bins.remove(slabs[2]);
  EXPECT_EQ(bins.fullest(), &slabs[1]) << "the last that came to the bin";
  bins.remove(slabs[1]);
  EXPECT_TRUE(bins.holds_only(slabs[0]));
  slabs[0].free_count = 1;
  bins.refit(slabs[0]);
  EXPECT_EQ(bins.fullest(), &slabs[0]);
  bins.remove(slabs[0]);
  EXPECT_EQ(bins.fullest(), nullptr);
}

// Bins follow each other as blocks come home, also bins of slabs of few blocks.
TEST(SlabBins, OfEveryClassAreInOrder) {
  for (const SizeClass& row : size_class_table.rows) {
    Slab slab;
    slab.block_count = row.block_count;
    uint8_t before = 0;
    for (slab.free_count = 1; slab.free_count <= slab.block_count; slab.free_count++) {
      const uint8_t bin = SlabBins::bin_of(slab);
      ASSERT_GE(bin, before);
      ASSERT_LT(bin, SlabBins::count);
      before = bin;
    }
    ASSERT_EQ(before, SlabBins::count - 1) << "an empty slab is on the last one";
  }
}

}  // namespace
}  // namespace talus::core
