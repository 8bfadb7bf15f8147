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

namespace talus {
namespace {

using test::MadeUpSlab;

// Gives blocks back as the heap does: runs of pointers that lie in one slab.
void give_run(Slab& slab, const std::vector<void*>& blocks) {
  for (size_t done = 0; done < blocks.size();) {
    done = slab.gather_run(blocks.data(), done, blocks.size(),
                           [&slab](uint32_t word, uint64_t bits) { slab.give_blocks(word, bits); });
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
        slab.give_blocks(index / 64, uint64_t{1} << index % 64);
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

TEST(Slab, GathersNeighboursInOneWordAndStopsAtItsEnd) {
  MadeUpSlab made{class_of(64)};
  Slab& slab = made.slab();
  std::vector<void*> places(slab.block_count);
  ASSERT_EQ(slab.take_blocks(places.data(), places.size()), places.size());
  char* base = reinterpret_cast<char*>(slab.base);
  void* const pointers[] = {base, base + 64 * 3, base + 64 * 63, base + 64 * 64,
                            base + 64 * slab.block_count, base};
  std::vector<std::pair<uint32_t, uint64_t>> visits;
  const size_t done = slab.gather_run(pointers, 0, 6, [&visits](uint32_t word, uint64_t bits) {
    visits.emplace_back(word, bits);
  });
  EXPECT_EQ(done, 4u) << "the fifth lies behind the slab";
  ASSERT_EQ(visits.size(), 2u);
  EXPECT_EQ(visits[0], std::make_pair(uint32_t{0}, uint64_t{1} << 63 | 0b1001));
  EXPECT_EQ(visits[1], std::make_pair(uint32_t{1}, uint64_t{1}));
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
  slab.give_blocks(0, 0b010);
  const char* expected = "double free of 0x10000040 .a free block of 64 bytes.";
  EXPECT_EXIT(slab.give_blocks(0, 0b010), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 0), in(slab, 64), in(slab, 128)}), aborts, expected);
  EXPECT_EXIT(give_run(slab, {in(slab, 0), in(slab, 0)}), aborts,
              "double free of 0x10000000 .a free block of 64 bytes.");
  EXPECT_EXIT(slab.give_blocks(0, 7), aborts, expected);
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

TEST(SlabShelves, TheFullestComesFirstAndSlabsMoveAsTheyEmpty) {
  SlabShelves shelves;
  Slab slabs[3];
  const uint32_t free_counts[] = {60, 5, 40};  // of 64
  for (int i = 0; i < 3; i++) {
    slabs[i].block_count = 64;
    slabs[i].free_count = free_counts[i];
    shelves.add(slabs[i]);
  }
  EXPECT_EQ(shelves.fullest(), &slabs[1]);
  slabs[1].free_count = 64;
  shelves.refit(slabs[1]);
  EXPECT_EQ(shelves.fullest(), &slabs[2]);
  EXPECT_FALSE(shelves.holds_only(slabs[2]));
  shelves.remove(slabs[2]);
  EXPECT_EQ(shelves.fullest(), &slabs[1]) << "the last that came to the shelf";
  shelves.remove(slabs[1]);
  EXPECT_TRUE(shelves.holds_only(slabs[0]));
  slabs[0].free_count = 1;
  shelves.refit(slabs[0]);
  EXPECT_EQ(shelves.fullest(), &slabs[0]);
  shelves.remove(slabs[0]);
  EXPECT_EQ(shelves.fullest(), nullptr);
}

// Each quarter of a slab's blocks is a shelf, also for slabs of few blocks.
TEST(SlabShelves, QuartersOfEveryClass) {
  for (const SizeClass& row : size_class_table.rows) {
    Slab slab;
    slab.block_count = row.block_count;
    uint8_t before = 0;
    for (slab.free_count = 1; slab.free_count <= slab.block_count; slab.free_count++) {
      const uint8_t shelf = SlabShelves::shelf_of(slab);
      ASSERT_GE(shelf, before);
      ASSERT_LT(shelf, SlabShelves::count);
      before = shelf;
    }
    ASSERT_EQ(before, SlabShelves::count - 1) << "an empty slab is on the last one";
  }
}

}  // namespace
}  // namespace talus
