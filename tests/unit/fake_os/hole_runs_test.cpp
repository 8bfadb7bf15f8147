// SPDX-License-Identifier: MIT
// tests/unit/fake_os/hole_runs: pages of many holes that go back in one call, all or in part.
//
// Owns: nothing. Called on: the main thread of a child.
#include <gtest/gtest.h>

#include <set>

#include "fake_os/sequence.hpp"
#include "reclaim/purge_now.hpp"

namespace talus::core {
namespace {

using os::FakeCall;

constexpr size_t block_bytes = 200;
constexpr size_t block_count = 60000;
constexpr size_t kept_one_in = 100;  // three in four pages hold none that was kept

size_t purge_count() {
  Held held{space.lock()};
  return space.counters().purge_count;
}

// The pages on which these blocks lie; arenas may be far from each other.
class Pages {
 public:
  void note(const void* block, size_t bytes) {
    const uintptr_t end = reinterpret_cast<uintptr_t>(block) + bytes;
    uintptr_t at = round_down(reinterpret_cast<uintptr_t>(block), os::page_bytes());
    for (; at < end; at += os::page_bytes()) pages_.insert(at);
  }
  // The pages that have memory.
  size_t resident_count() const {
    size_t count = 0;
    for (const uintptr_t at : pages_) {
      unsigned char page = 0;
      const void* place = reinterpret_cast<const void*>(at);
      count += os::System::look_for_pages(place, os::page_bytes(), &page) ? page & 1 : 0;
    }
    return count;
  }

 private:
  std::set<uintptr_t> pages_;
};

// Holes everywhere in slabs, between blocks that are kept.
void make_holes(test::HeldBlocks& held, Pages& pages) {
  std::vector<void*> blocks(block_count);
  for (void*& block : blocks) {
    block = allocate(block_bytes);
    test::fill_pattern(block, block_bytes, 1);
    pages.note(block, block_bytes);
  }
  for (size_t i = 0; i < block_count; i++) {
    if (i % kept_one_in == 0)
      held.hold(blocks[i], block_bytes);
    else
      free_block(blocks[i]);
  }
}

// Gives holes back with this plan of refusals; what is kept stays as it was.
void purge_under(uint64_t refused_at, uint64_t refused_each) {
  rare_calls.ask_when_needed([]() noexcept { return true; });
  test::HeldBlocks held;
  Pages pages;
  make_holes(held, pages);
  const size_t row = test::row_of(FakeCall::purge);
  const uint64_t before = os::fake_plan.calls[row].load_relaxed();
  if (refused_at != 0) os::fake_plan.refuse_at[row].store_relaxed(before + refused_at);
  os::fake_plan.refuse_every[row].store_relaxed(refused_each);
  purge_beyond(0);
  const size_t left = pages.resident_count();
  test::end_faults();
  test::child_report().measured[0] = left;
  test::child_report().measured[1] = os::fake_plan.calls[row].load_relaxed() - before;
  test::child_report().measured[2] = purge_count();
  while (held.count() > 0) held.free_last();
  test::require_quiet_heap();
}

bool kernel_knows_runs() {
  const size_t page = os::page_bytes();
  void* at = os::map_pages(nullptr, page);
  const os::PageRun run{at, page};
  const bool knows = os::LinuxOs::purge_runs(&run, 1) == 1;
  os::System::unmap(at, page);
  return knows;
}

// Beside what happens where the kernel refuses nothing.
class HoleRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    wrong_ = test::run_in_child([] { purge_under(0, 0); });
    left_ = test::child_report().measured[0];
    runs_ = test::child_report().measured[1];
    calls_ = test::child_report().measured[2];
  }
  void SetUp() override { ASSERT_EQ(wrong_, ""); }

  inline static std::string wrong_;
  inline static uint64_t left_ = 0, runs_ = 0, calls_ = 0;  // pages, holes, calls of the kernel
};

TEST_F(HoleRuns, GoTogether) {
  EXPECT_GT(runs_, 500u);
  EXPECT_LT(left_, block_count * block_bytes / os::page_bytes() / 2);
  if (kernel_knows_runs()) {
    EXPECT_LT(calls_, runs_ / 8) << "calls of the kernel";
  }
}

TEST_F(HoleRuns, WhatIsRefusedTogetherGoesSingly) {
  for (const uint64_t at : {1, 2, 30, 64, 65, 200}) {
    ASSERT_EQ(test::run_in_child([at] { purge_under(at, 0); }), "") << at;
    if (kernel_knows_runs()) {
      EXPECT_LE(test::child_report().measured[0], left_ + 2) << at;
    }
  }
}

TEST_F(HoleRuns, WhatIsRefusedTwiceStays) {
  uint64_t before = UINT64_MAX;
  for (const uint64_t each : {1, 2, 5, 64}) {
    ASSERT_EQ(test::run_in_child([each] { purge_under(0, each); }), "") << each;
    EXPECT_GT(test::child_report().measured[0], left_) << each;
    EXPECT_LT(test::child_report().measured[0], before) << each;
    before = test::child_report().measured[0];
  }
}

}  // namespace
}  // namespace talus::core
