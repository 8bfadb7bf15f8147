// SPDX-License-Identifier: MIT
// tests/unit/modes/sides: what modes learn of blocks that begin and end on two-sided lists.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy_threads.hpp"
#include "api/heaps.hpp"
#include "late.hpp"
#include "mapped_mode.hpp"
#include "modes/counting.hpp"
#include "sides_fixture.hpp"
#include "paths/batch.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

using test::make;
using test::SidesTest;

TEST_F(SidesTest, EachCallIsCountedInItsClass) {
  uint64_t expected[tallies::row_count] = {};
  std::vector<void*> blocks;
  test::Random random{test::seed_of("Sides")};
  for (int i = 0; i < 20000; i++) {
    const size_t bytes = random.of_any_length(i % 100 == 0 ? 22 : 13);
    void* block = make(bytes);
    ASSERT_NE(block, nullptr);
    expected[tallies::row_of(block)]++;  // the next medium class may serve
    blocks.push_back(block);
    if (blocks.size() < 300) continue;
    void*& other = blocks[random.below(blocks.size())];
    free_block(other);
    other = blocks.back();
    blocks.pop_back();
  }
  const tallies::Tallies after = tallies::collect();
  uint64_t freed = 0;
  for (size_t row = 0; row < tallies::row_count; row++) {
    EXPECT_EQ(after.allocations[row] - before_.allocations[row], expected[row]) << row;
    freed += after.frees[row] - before_.frees[row];
  }
  EXPECT_EQ(freed, 20000 - blocks.size());
  for (void* block : blocks) free_block(block);
  const tallies::Tallies end = tallies::collect();
  for (size_t row = 0; row < tallies::row_count; row++) {
    EXPECT_EQ(end.frees[row] - before_.frees[row], expected[row]) << row;
  }
}

TEST_F(SidesTest, AllCallsOfOneThread) {
  void* blocks[500];
  EXPECT_EQ(allocate_batch(100, 500, blocks), 500u);
  free_many(blocks, 250);
  for (size_t i = 250; i < 500; i++) free_block(blocks[i]);
  void* block = make(100);
  block = reallocate(block, 3000);
  block = reallocate(block, 2900);
  block = reallocate(block, 500000);
  free_block(block);
  free_block(allocate_aligned(1024, 3000));
  size_t zeroed_bytes = 2000;
  asm volatile("" : "+r"(zeroed_bytes));
  free_block(allocate_zeroed(zeroed_bytes));
  EXPECT_EQ(allocations(), 506u);
  EXPECT_EQ(frees(), 506u);
}

TEST_F(SidesTest, BlocksThatOtherThreadsFree) {
  constexpr size_t thread_count = 4, each = 3000;
  std::vector<void*> handed(thread_count * each);
  test::on_threads(thread_count, [&](size_t self) {
    for (size_t i = 0; i < each; i++) {
      handed[self * each + i] = make(i);
      test::fill_pattern(handed[self * each + i], i, i);
    }
  });
  EXPECT_EQ(allocations(), thread_count * each);
  test::on_threads(thread_count, [&](size_t self) {
    for (size_t i = 0; i < each; i++) {
      void* block = handed[(self + 1) % thread_count * each + i];
      EXPECT_TRUE(test::has_pattern(block, i, i));
      free_block(block);
      free_block(make(i));
    }
  });
  EXPECT_EQ(allocations(), 2 * thread_count * each);
  EXPECT_EQ(frees(), 2 * thread_count * each);
}

// The blocks of both sides go home while their thread makes no calls, and counts stay.
TEST_F(SidesTest, IdleThreadsAreEmptied) {
  Atomic<int> step;
  std::thread idle{[&] {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 2000; i++) blocks.push_back(make(200));
    for (void* block : blocks) free_block(block);
    step.store_release(1);
    while (step.load_acquire() != 2) std::this_thread::yield();
    for (size_t i = 0; i < 2000; i++) blocks[i] = make(200);
    for (void* block : blocks) free_block(block);
  }};
  while (step.load_acquire() != 1) std::this_thread::yield();
  EXPECT_EQ(allocations(), 2000u);
  const size_t listed = collect_totals().classes[index_of(class_of(200))].listed;
  EXPECT_GE(listed, 30u) << "free blocks on sides are listed ones";
  for (int i = 0; i < 3; i++) purge_beyond(0);
  EXPECT_LE(collect_totals().classes[index_of(class_of(200))].listed, 4u);
  EXPECT_EQ(allocations(), 2000u);
  EXPECT_EQ(frees(), 2000u);
  step.store_release(2);
  idle.join();
  EXPECT_LE(collect_totals().classes[index_of(class_of(200))].listed, 4u) << "nothing outlives it";
  EXPECT_EQ(allocations(), 4000u);
  EXPECT_EQ(frees(), 4000u);
}

TEST_F(SidesTest, CrossesAFork) {
  test::begin_forks();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) blocks.push_back(make(i));
  test::BusyThreads other(1, [](size_t) {
    return [] {
      for (size_t bytes = 0; bytes < 4000; bytes += 100) free_block(make(bytes));
    };
  });
  for (int round = 0; round < 10; round++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      for (void* block : blocks) free_block(block);
      test::on_threads(2, [](size_t) {
        for (size_t bytes = 0; bytes < 4000; bytes += 10) free_block(make(bytes));
      });
      _exit(test::live_bytes() <= 4096 ? 0 : 1);  // the other thread may have had one in its hand
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "in round " << round;
  }
  other.end();
  for (void* block : blocks) free_block(block);
}

// TALUS_MODE=mapped beside it: the mode begins in a thread that has sides, and closes them.
TEST_F(SidesTest, MappedBlocksCloseTheSides) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    for (size_t i = 0; i < 100; i++) free_block(make(100));
    mapped::Settings settings;
    settings.mappings = 20000;
    mapped::begin(settings);
    void* block = make(100);
    const bool is_right = test::is_mapped(block) && !has_sides(current_context());
    free_block(block);
    const bool is_counted = allocations() == 101 && frees() == 101;
    _exit(is_right ? is_counted ? 0 : 2 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << status / 256;
}

// A block that was just freed lies on top of the free side.
TEST_F(SidesTest, ADoubleFreeAtOnceStops) {
  void* block = make(100);
  for (int between = 0; between < 2; between++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      dup2(open("/dev/null", O_WRONLY), 2);
      void* other = make(100);
      free_block(block);
      if (between != 0) free_block(other);
      free_block(block);
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  }
  free_block(block);
}

// A thread that leaves its sides leaves no block there, and nothing of it is lost.
TEST_F(SidesTest, NoBlockStaysOnSidesThatAreLeft) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) blocks.push_back(make(i));
  for (size_t i = 0; i < 3000; i += 2) free_block(blocks[i]);
  SidedContext& sides = *current_sides();
  const auto count = [&sides] {
    size_t listed = 0;
    for_each_side_of(sides, [&](const Side& side, ClassId) { listed += side.length(); });
    return listed;
  };
  EXPECT_GT(count(), 500u);
  EXPECT_TRUE(sides.is_sound());
  const size_t live = test::live_bytes();
  switch_off(tallies::mode);
  EXPECT_EQ(test::live_bytes(), live) << "until the next call they are listed blocks";
  free_block(make(100));
  EXPECT_EQ(current_context().operations, nullptr);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(test::live_bytes(), live);
  EXPECT_EQ(allocations(), 3000u) << "the counts stay";
  EXPECT_EQ(frees(), 1500u);
  for (size_t i = 1; i < 3000; i += 2) free_block(blocks[i]);
}

// A mistake in a side is noticed.
TEST_F(SidesTest, EquationsHold) {
  for (size_t i = 0; i < 100; i++) free_block(make(100));
  SidedContext& sides = *current_sides();
  const size_t index = index_of(class_of(100));
  ASSERT_TRUE(sides.is_sound());
  ASSERT_TRUE(sides.cache->is_sound());
  const Side side = allocation_side(sides, index);
  ASSERT_GT(side.length(), 0u);
  void* const block = side.bottom[0];
  side.bottom[0] = nullptr;
  EXPECT_FALSE(sides.cache->is_sound()) << "a gap";
  side.bottom[0] = block;
  const uint64_t moved = sides.moved[index].load_own();
  sides.moved[index].store_own(0);
  EXPECT_FALSE(sides.is_sound()) << "blocks that never came";
  sides.moved[index].store_own(moved);
  ModeStates* const states = sides.states;
  sides.states = &sides.own_states;
  EXPECT_FALSE(sides.is_sound()) << "modes would forget what they know";
  sides.states = states;
  EXPECT_TRUE(sides.is_sound());
}

size_t told_resizes = 0;
void count_resize(ModeThread, void*, size_t, void*, size_t) noexcept { told_resizes++; }
size_t any_number(ModeThread, ClassId) noexcept { return 1 << 20; }
void note_nothing(ModeThread, ClassId, size_t) noexcept {}

// Calls that sides count, of blocks that moved in a resize.
struct Moves {
  uint64_t allocations, frees;
};
Moves moves_of(void*& block, size_t bytes) {
  const auto sum = [](const uint64_t(&counts)[class_count]) {
    uint64_t all = 0;
    for (const uint64_t count : counts) all += count;
    return all;
  };
  SidedContext& sides = *current_sides();
  SideCounts before, after;
  add_side_counts(before, sides);
  auto* const moved = static_cast<char*>(reallocate(block, bytes));
  add_side_counts(after, sides);
  EXPECT_NE(moved, block);
  EXPECT_EQ(moved[0], 'a') << "the contents move, too";
  block = moved;
  return {sum(after.allocations) - sum(before.allocations), sum(after.frees) - sum(before.frees)};
}

// A mode that knows of no block in a slab is not told of resizes there, unless another mode is to
// be told. A block that moves counts as one that begins and one that ends.
TEST_F(SidesTest, ResizesAreToldWhereAModeNeedsThem) {
  Mode mode;
  mode.name = "counts resizes";
  mode.end_resize = count_resize;
  mode.blocks_until_event = any_number;
  mode.note_blocks = note_nothing;
  mode.is_without_slabs = true;
  void* block = make(200);
  static_cast<char*>(block)[0] = 'a';
  const auto told = [&block](const Mode& one, bool is_alone, uint64_t counted) {
    if (is_alone) switch_off(tallies::mode);
    EXPECT_TRUE(switch_on(one));
    free_block(make(1));  // comes back to a context with two sides
    const size_t before = told_resizes;
    EXPECT_EQ(reallocate(block, 201), block);
    for (const size_t bytes : {size_t{1000}, size_t{10000}, size_t{200}}) {
      const Moves moves = moves_of(block, bytes);
      EXPECT_EQ(moves.allocations, counted) << bytes;
      EXPECT_EQ(moves.frees, counted) << bytes;
    }
    const bool has_sides = current_context().operations->has_sides;
    switch_off(one);
    if (is_alone) {
      EXPECT_TRUE(switch_on(tallies::mode));
    }
    free_block(make(1));
    EXPECT_TRUE(has_sides);
    return told_resizes - before;
  };
  static Mode asks = mode, needs = mode;  // a place in the chain is for ever
  needs.is_without_slabs = false;
  EXPECT_EQ(told(asks, false, 0), 4u) << "the other mode counts resizes";
  EXPECT_EQ(told(asks, true, 1), 0u);
  EXPECT_EQ(told(needs, true, 0), 4u);
  free_block(block);
}

// A mode that needs each call closes the contexts, and both modes count on.
TEST_F(SidesTest, AModeThatNeedsEachCall) {
  for (size_t i = 0; i < 1000; i++) free_block(make(100));
  const counting::Counts before = counting::collect();
  ASSERT_TRUE(switch_on(counting::mode));
  void* kept = make(100);
  EXPECT_FALSE(current_context().operations->has_sides);
  for (size_t i = 0; i < 1000; i++) free_block(make(100));
  EXPECT_EQ(counting::collect().allocation_sum - before.allocation_sum, 1001u);
  EXPECT_EQ(allocations(), 2001u);
  switch_off(counting::mode);
  free_block(kept);
  for (size_t i = 0; i < 1000; i++) free_block(make(100));
  EXPECT_TRUE(current_context().operations->has_sides);
  EXPECT_EQ(allocations(), 3001u);
  EXPECT_EQ(frees(), 3001u);
  for (int i = 0; i < 3; i++) purge_beyond(0);
}

}  // namespace
}  // namespace talus::core
