// SPDX-License-Identifier: MIT
// tests/unit/reclaim/sample_areas: pages between sampled blocks go back, and no block loses a byte.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "inspect/resident.hpp"
#include "quiet.hpp"
#include "reclaim/sample_areas.hpp"

namespace talus::core {
namespace {

namespace sampled = sample_areas;

class SampleAreasPurge : public testing::Test {
 protected:
  static constexpr size_t block_bytes = 500, count = 6000;

  SampleAreasPurge() : before_{options} {
    options.helper = false;
    options.thp = HugePages::never;  // areas in huge pages are left alone
  }
  ~SampleAreasPurge() override { options = before_; }
  void SetUp() override {
    test::own_cache();
    sampled::prepare();
    purge_beyond(0);
    Held held{space.lock()};
    ASSERT_EQ(sampled::areas.used_units, 0u);
    sampled::areas.free_mark = LowMark{};
  }
  void TearDown() override {
    for (unsigned char* block : kept_) end(block);
    EXPECT_EQ(test::live_bytes(), 0u);
    EXPECT_TRUE(test::space_is_sound());
    Held held{space.lock()};
    EXPECT_EQ(sampled::areas.used_units, 0u);
  }

  static unsigned char* make(size_t bytes = block_bytes) {
    auto* const block =
        static_cast<unsigned char*>(sampled::allocate(class_of(bytes), block_alignment));
    std::memset(block, byte_of(block), usable_size(block));
    return block;
  }
  static unsigned char byte_of(const void* block) {
    return static_cast<unsigned char>(reinterpret_cast<uintptr_t>(block) / sampled::unit_bytes + 1);
  }
  static void end(unsigned char* block) {
    const size_t usable = usable_size(block);
    for (size_t i = 0; i < usable; i++) ASSERT_EQ(block[i], byte_of(block));
    free_block(block);
  }
  // Some areas with few blocks; all their pages were written to.
  void make_sparse() {
    std::vector<unsigned char*> blocks;
    for (size_t i = 0; i < count; i++) blocks.push_back(make());
    const size_t keep_each = 16 * os::page_bytes() / sampled::unit_bytes;
    for (size_t i = 0; i < count; i++) {
      if (i % keep_each == 0) {
        kept_.push_back(blocks[i]);
      } else {
        end(blocks[i]);
      }
    }
  }
  // The pages that live blocks need at most.
  size_t needed_bytes() const { return kept_.size() * 2 * os::page_bytes(); }

  static size_t touched_bytes() {
    Held held{space.lock()};
    return sampled::areas.free_touched_bytes();
  }
  // What the kernel holds of all areas. Nothing else may allocate.
  static size_t resident_bytes() {
    size_t found = 0;
    PageLook look;
    for (const sampled::Area* area = sampled::areas.newest; area != nullptr;
         area = area->made_before) {
      if (area->base != 0) found += look.bytes_in(area->base, area->slices * slice_bytes);
    }
    return found;
  }
  static DecayTally pass(uint64_t turns) {
    DecayTally tally;
    areas_in_background(turns, tally);
    return tally;
  }

  std::vector<unsigned char*> kept_;

 private:
  Options before_;
};

TEST_F(SampleAreasPurge, ARequestTakesAllPagesWithoutBlocks) {
  make_sparse();
  ASSERT_GE(touched_bytes(), count * block_bytes / 2);
  const size_t before = resident_bytes();
  const size_t purged = purge_beyond(0);
  EXPECT_LE(touched_bytes(), needed_bytes());
  if (!kernel_tells_pages()) return;
  EXPECT_GE(before, count * block_bytes * 9 / 10);
  EXPECT_LE(resident_bytes(), needed_bytes());
  EXPECT_GE(purged, before - needed_bytes());
}

TEST_F(SampleAreasPurge, WhatIsGoneIsNotPurgedAgain) {
  make_sparse();
  purge_beyond(0);
  const size_t left = touched_bytes();
  EXPECT_LE(left, needed_bytes());
  EXPECT_EQ(sampled::purge_pages(SIZE_MAX), 0u);
  // A page that gets a block has contents again.
  unsigned char* const block = make();
  end(block);
  EXPECT_GE(touched_bytes(), left);
  EXPECT_LE(sampled::purge_pages(SIZE_MAX), 2 * os::page_bytes());
  EXPECT_LE(touched_bytes(), left);
}

TEST_F(SampleAreasPurge, APassTakesWhatWasFreeForFourTurns) {
  make_sparse();
  for (unsigned turn = 0; turn < LowMark::turns_kept - 1; turn++) {
    const DecayTally early = pass(1);
    ASSERT_EQ(early.purged, 0u);
    ASSERT_GE(early.left, count * block_bytes / 2) << "the background thread stays";
  }
  EXPECT_GE(pass(2).purged, count * block_bytes / 2);
  EXPECT_LE(touched_bytes(), needed_bytes() + surplus_bytes_min);
  pass(1);
  EXPECT_EQ(pass(1).left, 0u) << "nothing keeps the background thread";
}

TEST_F(SampleAreasPurge, WhatIsTakenAgainStays) {
  make_sparse();
  for (unsigned turn = 0; turn < 4 * LowMark::turns_kept; turn++) {
    std::vector<unsigned char*> again;
    while (touched_bytes() > surplus_bytes_min / 2) again.push_back(make());
    for (unsigned char* block : again) end(block);
    ASSERT_EQ(pass(1).purged, 0u);
  }
}

TEST_F(SampleAreasPurge, AFewPagesAreTakenFromAboveTheBlocks) {
  make_sparse();
  const size_t before = touched_bytes();
  const size_t purged = sampled::purge_pages(3 * os::page_bytes());
  EXPECT_GE(purged, 3 * os::page_bytes());
  EXPECT_LT(purged, 6 * os::page_bytes() + slice_bytes);
  EXPECT_EQ(touched_bytes(), before - purged);
  EXPECT_GE(sampled::purge_pages(SIZE_MAX), before - purged - needed_bytes())
      << "the rest is found later";
}

TEST_F(SampleAreasPurge, NoBlockLosesAByteMeanwhile) {
  Atomic<bool> stop;
  std::thread purger{[&stop] {
    while (!stop.load_relaxed()) sampled::purge_pages(SIZE_MAX);
  }};
  const size_t rounds = test::rounds_of(20000);
  test::on_threads(2, [rounds](size_t self) {
    test::Random random{self + 1};
    std::vector<unsigned char*> blocks(200, nullptr);
    for (size_t round = 0; round < rounds; round++) {
      unsigned char*& block = blocks[random.below(blocks.size())];
      if (block != nullptr) end(block);
      block = random.below(4) == 0 ? make(1 + random.of_any_length(15)) : nullptr;
    }
    for (unsigned char* block : blocks) {
      if (block != nullptr) end(block);
    }
  });
  stop.store_relaxed(true);
  purger.join();
}

}  // namespace
}  // namespace talus::core
