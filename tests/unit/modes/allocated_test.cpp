// SPDX-License-Identifier: MIT
// tests/unit/modes/allocated: the bytes that each thread allocated are exact, from the first call.
#include <gtest/gtest.h>

#include "api/heaps.hpp"
#include "api/statistics.hpp"
#include "modes/allocated.hpp"
#include "modes/counting.hpp"
#include "paths/batch.hpp"
#include "quiet.hpp"
#include "sides_fixture.hpp"
#include "statistics_asked.hpp"

namespace talus::core {
namespace {

using test::make;

uint64_t usable(void* block) { return facts_of(block, "malloc").usable_bytes; }

class AllocatedTest : public testing::Test {
 protected:
  void SetUp() override { test::own_cache(); }
  void TearDown() override {
    allocated::end_asking(AllocatedAskers::program);
    EXPECT_FALSE(is_on(allocated::mode));
    free_block(make(1));  // back on the lists of old
    EXPECT_TRUE(test::space_is_sound());
  }
};

// Blocks of all sizes come, change and go; the number equals the sum of their sizes at each step.
TEST_F(AllocatedTest, IsTheSumOfTheBlocks) {
  const uint64_t before = api::thread_allocated();
  uint64_t expected = 0;
  test::Random random{test::seed_of("Allocated")};
  std::vector<void*> blocks;
  for (int i = 0; i < 30000; i++) {
    void* block = make(random.of_any_length(i % 100 == 0 ? 22 : 13));
    ASSERT_NE(block, nullptr);
    expected += usable(block);
    ASSERT_EQ(api::thread_allocated() - before, expected) << "at " << i;
    blocks.push_back(block);
    void*& other = blocks[random.below(blocks.size())];
    if (i % 16 == 0) {
      other = reallocate(other, 1 + random.of_any_length(12));
      expected += usable(other);
      ASSERT_EQ(api::thread_allocated() - before, expected) << "resized at " << i;
    } else if (i % 4 != 0) {
      free_block(other);
      other = blocks.back();
      blocks.pop_back();
    }
  }
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(api::thread_allocated() - before, expected) << "a free is no allocation";
}

TEST_F(AllocatedTest, TheFirstCallBeginsAtZero) {
  void* early = make(100);
  EXPECT_EQ(api::thread_allocated(), 0u);
  void* block = make(100);
  EXPECT_EQ(api::thread_allocated(), usable(block)) << "the next block counts";
  void* blocks[500];
  EXPECT_EQ(allocate_batch(100, 500, blocks), 500u);
  EXPECT_EQ(api::thread_allocated(), 501 * usable(block));
  free_many(blocks, 500);
  free_block(block);
  free_block(early);
}

// Each thread has a number of its own, also one that gets the cache of another.
TEST_F(AllocatedTest, EachThreadCountsForItself) {
  const uint64_t before = api::thread_allocated();
  for (int round = 0; round < 3; round++) {
    test::on_threads(3, [](size_t self) {
      EXPECT_EQ(api::thread_allocated(), 0u);
      std::vector<void*> blocks;
      uint64_t expected = 0;
      for (size_t i = 0; i < 5000; i++) {
        blocks.push_back(make(16 * (self + 1) + i % 700));
        expected += usable(blocks.back());
      }
      for (void* block : blocks) free_block(block);
      EXPECT_EQ(api::thread_allocated(), expected);
    });
  }
  EXPECT_EQ(api::thread_allocated(), before);
}

// A thread that runs already is counted from the moment on at which another one asks.
TEST_F(AllocatedTest, RunningThreadsAreCountedToo) {
  Atomic<int> step;
  std::thread other{[&] {
    free_block(make(200));
    step.store_release(1);
    while (step.load_acquire() != 2) std::this_thread::yield();
    void* block = make(200);
    EXPECT_EQ(allocated_bytes_of(*existing_cache()).bytes, usable(block));
    free_block(block);
  }};
  while (step.load_acquire() != 1) std::this_thread::yield();
  api::thread_allocated();
  step.store_release(2);
  other.join();
}

// Threads whose blocks another mode is told of one by one have the same numbers.
TEST_F(AllocatedTest, BesideAModeWithoutSides) {
  api::thread_allocated();
  const auto count = [](size_t blocks) {
    const uint64_t before = api::thread_allocated();
    uint64_t expected = 0;
    for (size_t i = 0; i < blocks; i++) {
      void* block = make(i);
      expected += usable(block);
      free_block(block);
    }
    EXPECT_EQ(api::thread_allocated() - before, expected);
  };
  count(3000);
  ASSERT_TRUE(switch_on(counting::mode));
  count(3000);
  switch_off(counting::mode);
  count(3000);
}

TEST_F(AllocatedTest, TheStatisticIsKnownWhileItIsAsked) {
  uint64_t value = 7;
  EXPECT_EQ(api::get_value("thread.0.allocated_bytes", &value), ENODATA);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(api::thread_allocated(), 0u);
  void* block = make(1000);
  EXPECT_EQ(test::value_of("thread.0.allocated_bytes"), usable(block));
  free_block(block);
  ASSERT_TRUE(allocated::ask(AllocatedAskers::command));
  allocated::end_asking(AllocatedAskers::command);
  EXPECT_TRUE(is_on(allocated::mode)) << "the program asks still";
}

}  // namespace
}  // namespace talus::core
