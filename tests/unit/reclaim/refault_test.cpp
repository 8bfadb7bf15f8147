// SPDX-License-Identifier: MIT
// tests/unit/reclaim/refault: a program that takes back what it freed a moment ago keeps its pages
// from then on.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "api/entry.hpp"
#include "os/os.hpp"
#include "reclaim/decay.hpp"
#include "quiet.hpp"
#include "space_counts.hpp"

namespace talus::core {
namespace {

// Slabs of two sizes that are full in turn, and hold one block in sixteen meanwhile.
class ReclaimTest : public testing::Test {
 protected:
  static constexpr size_t full_bytes = 48 * mib;
  static constexpr size_t left_part = 16;

  ReclaimTest() : before_{options} {
    options.helper = false;
    options.thp = HugePages::never;  // holes in huge pages are another matter
    purge_beyond(0);
    options.retain_bytes = 8 * mib;
    options.decay_ms = 1000000;
    for (const size_t bytes : sizes_) {
      fill(bytes);
      for (size_t i = 0; i < blocks_.size(); i += left_part) {
        left_.push_back(blocks_[i]);
        blocks_[i] = nullptr;
      }
      empty();
    }
  }
  ~ReclaimTest() override {
    for (void* block : left_) free_block(block);
    options = before_;
    purge_beyond(0);
  }

  // Returns what went meanwhile, for each phase. Between two what was in use is forgotten, as if
  // they were seconds apart.
  size_t run_phases(int count) {
    const size_t before = test::purged_bytes();
    slowest_ms_ = 0;
    for (int phase = 0; phase < count; phase++) {
      const uint64_t begun_ms = os::System::now_ms();
      fill(sizes_[phase % 2]);
      empty();
      Held held{space.lock()};
      space.purge_surplus(held, LowMark::turns_kept + 1);
      const uint64_t phase_ms = os::System::now_ms() - begun_ms;
      if (phase_ms > slowest_ms_) slowest_ms_ = phase_ms;
    }
    return (test::purged_bytes() - before) / static_cast<size_t>(count);
  }
  // Where something else stops the test for longer than a moment, nothing is taken back at once.
  bool was_stopped() const { return slowest_ms_ > refault_moment_ms / 2; }

  uint64_t slowest_ms_ = 0;  // of the phases of the last run

 private:
  static constexpr size_t sizes_[] = {2000, 3000};

  void fill(size_t bytes) {
    for (size_t left = full_bytes / bytes; left > 0; left--) blocks_.push_back(allocate(bytes));
  }
  void empty() {
    for (void* block : blocks_) free_block(block);
    blocks_.clear();
  }

  Options before_;
  std::vector<void*> blocks_;
  std::vector<void*> left_;
};

TEST_F(ReclaimTest, LeavesWhatIsTakenBackAtOnce) {
  ASSERT_GT(run_phases(2), refault_bytes_min) << "nothing had to go";
  size_t purged = 0;
  for (int attempt = 0; attempt < 20; attempt++) {
    purged = run_phases(8);
    if (purged < full_bytes / 8) return;
    if (!was_stopped()) break;
  }
  if (was_stopped()) GTEST_SKIP() << "the machine is too slow: " << slowest_ms_ << " ms a phase";
  EXPECT_LT(purged, full_bytes / 8);
}

// The last page of this slab belongs to no block, the other pages do. Three blocks are left when
// the rest goes; two of these come home, and one is taken again.
TEST_F(ReclaimTest, DoesNotTakeWhatCameHomeForWhatWent) {
  constexpr size_t bytes = 12 * kib;
  const SizeClass& row = size_class_row(class_of(bytes));
  ASSERT_GE(row.slab_slices * slice_bytes - row.block_count * bytes, os::page_bytes());
  ThreadCache& cache = test::own_cache();
  flush_all(cache);
  purge_beyond(0);
  std::vector<void*> blocks(row.block_count);
  for (void*& block : blocks) block = allocate(bytes);
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 3; i < blocks.size(); i++) free_block(blocks[i]);
  purge_beyond(0);
  for (size_t i = 0; i < 2; i++) free_block(blocks[i]);
  flush_all(cache);
  const size_t before = cache.heap->taken_back_bytes;
  EXPECT_EQ(allocate(bytes), blocks[0]);
  EXPECT_EQ(cache.heap->taken_back_bytes, before);
  free_block(blocks[0]);
  free_block(blocks[2]);
}

}  // namespace
}  // namespace talus::core
