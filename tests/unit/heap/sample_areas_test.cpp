// SPDX-License-Identifier: MIT
// tests/unit/heap/sample_areas: sampled blocks that share slices.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "inspect/totals.hpp"
#include "late.hpp"
#include "heap/sample_areas.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

using sample_areas::areas;

size_t in_space_bytes() {
  Held held{space.lock()};
  return special_pool.in_space_bytes;
}

class SampleAreas : public testing::Test {
 protected:
  void SetUp() override {
    test::own_cache();
    sample_areas::prepare();
    ASSERT_EQ(in_space_bytes(), 0u);
  }
  void TearDown() override {
    EXPECT_EQ(in_space_bytes(), 0u);
    EXPECT_EQ(areas.used_units, 0u);
    EXPECT_LE(areas.slices, sample_areas::area_slices_min)
        << "an empty area goes back, but for a small one";
    EXPECT_EQ(test::live_bytes(), 0u);
    EXPECT_TRUE(test::space_is_sound());
  }
  static void* make(size_t bytes, size_t alignment = block_alignment) {
    return sample_areas::allocate(class_of_aligned(bytes, alignment), alignment);
  }
};

// Many small blocks need few slices; a slice for each would be 16 times as much.
TEST_F(SampleAreas, SmallBlocksShareSlices) {
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; i++) blocks.push_back(make(500));
  EXPECT_LE(areas.slices * slice_bytes, 2 * 2000 * sample_areas::unit_bytes);
  EXPECT_EQ(in_space_bytes(), 2000 * usable_size(blocks[0]));
  const HeapTotals totals = collect_totals();
  EXPECT_EQ(totals.sampled_count, 2000u);
  EXPECT_EQ(totals.sampled, in_space_bytes());
  EXPECT_EQ(totals.sample_areas, areas.slices * slice_bytes);
  for (void* block : blocks) free_block(block);
}

// Blocks of all classes and alignments, at random: none reaches into another.
TEST_F(SampleAreas, BlocksLieApart) {
  test::Random random(test::seed_of("BlocksLieApart"));
  struct Kept {
    unsigned char* at;
    size_t bytes;
    unsigned char byte;
  };
  std::vector<Kept> kept;
  const auto end = [&](size_t chosen) {
    const Kept gone = kept[chosen];
    kept[chosen] = kept.back();
    kept.pop_back();
    for (size_t i = 0; i < gone.bytes; i++) ASSERT_EQ(gone.at[i], gone.byte);
    free_block(gone.at);
  };
  const size_t rounds = test::rounds_of(6000);
  for (size_t round = 0; round < rounds; round++) {
    const size_t bytes = 1 + random.of_any_length(17);
    size_t alignment = block_alignment << random.below(13);
    if (!has_class(bytes, alignment)) alignment = block_alignment;
    auto* const at = static_cast<unsigned char*>(make(bytes, alignment));
    ASSERT_NE(at, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
    const size_t usable = usable_size(at);
    ASSERT_EQ(usable, size_class_row(class_of_aligned(bytes, alignment)).block_bytes);
    const auto byte = static_cast<unsigned char>(round);
    std::memset(at, byte, usable);
    kept.push_back({at, usable, byte});
    while (kept.size() > (round < rounds / 2 ? 300u : 20u)) end(random.below(kept.size()));
  }
  while (!kept.empty()) end(kept.size() - 1);
}

// A resize keeps a block where it would keep one in a slab; else it becomes an ordinary one.
TEST_F(SampleAreas, ResizesAreThoseOfSlabs) {
  auto* block = static_cast<char*>(make(500));
  const size_t usable = usable_size(block);
  block[0] = 'a';
  EXPECT_EQ(reallocate(block, usable), block);
  EXPECT_EQ(reallocate(block, usable - 1), block);
  auto* const moved = static_cast<char*>(reallocate(block, 2 * usable));
  ASSERT_NE(moved, block);
  EXPECT_EQ(moved[0], 'a');
  EXPECT_EQ(in_space_bytes(), 0u);
  free_block(moved);
}

TEST_F(SampleAreas, AnyThreadFrees) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([] {
      std::vector<void*> blocks;
      for (int round = 0; round < 200; round++) {
        for (size_t bytes = 16; bytes < 20000; bytes *= 3) blocks.push_back(make(bytes));
        std::thread([&blocks, round] {
          if (round % 40 == 0) return;
          for (void* block : blocks) free_block(block);
          blocks.clear();
        }).join();
      }
      for (void* block : blocks) free_block(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace talus::core
