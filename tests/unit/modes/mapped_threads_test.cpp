// SPDX-License-Identifier: MIT
// tests/unit/modes/mapped_threads: mapped blocks pass between threads, threads that are in no mode,
// and the processes on both sides of a fork.
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "busy_threads.hpp"
#include "paths/batch.hpp"
#include "late.hpp"
#include "mapped_mode.hpp"

namespace talus::core {
namespace {

using test::is_accessible;
using test::is_mapped;
using test::MappedTest;

class MappedThreadsTest : public MappedTest {};

uint32_t kernels_thread_id() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// Makes and frees blocks of any size with contents; returns what was not as it must be.
int churn(test::Random& random, size_t rounds) {
  constexpr size_t held_max = 60;
  struct Held {
    void* block = nullptr;
    size_t bytes = 0;
  };
  Held held[held_max];
  int wrong = 0;
  for (size_t i = 0; i < rounds; i++) {
    Held& place = held[random.below(held_max)];
    const size_t mark = static_cast<size_t>(&place - held);
    if (place.block != nullptr && !test::has_all(place.block, place.bytes, mark)) wrong = 1;
    const size_t bytes = random.of_any_length(17);
    if (i % 4 == 0 && place.block != nullptr) {
      void* moved = reallocate(place.block, bytes + 1);
      const size_t kept = bytes < place.bytes ? bytes : place.bytes;
      if (moved == nullptr || !test::has_all(moved, kept, mark)) return 2;
      place = {moved, bytes + 1};
    } else {
      free_block(place.block);
      place = {i % 3 == 0 ? allocate_zeroed(bytes) : allocate(bytes), bytes};
      if (place.block == nullptr) return 3;
    }
    test::fill_all(place.block, place.bytes, mark);
  }
  for (Held& place : held) free_block(place.block);
  return wrong;
}

TEST_F(MappedThreadsTest, ManyThreadsAllocateAndFree) {
  const uint64_t seed = test::seed_of("MappedThreads");
  Atomic<int> wrong;
  test::on_threads(6, [&](size_t self) {
    test::Random random{seed + self};
    const int result = churn(random, test::rounds_of(3000));
    if (result != 0) wrong.store_relaxed(result);
    if (mapped::this_thread() != kernels_thread_id()) wrong.store_relaxed(4);
  });
  EXPECT_EQ(wrong.load_relaxed(), 0);
}

TEST_F(MappedThreadsTest, BlocksAreFreedByOtherThreads) {
  constexpr size_t thread_count = 4, each = 300;
  std::vector<void*> handed(thread_count * each);
  test::on_threads(thread_count, [&](size_t self) {
    for (size_t i = 0; i < each; i++) handed[self * each + i] = allocate(i);
  });
  test::on_threads(thread_count, [&](size_t self) { free_many(&handed[self * each], each); });
  for (void* block : handed) EXPECT_FALSE(is_accessible(block));
}

// As threads do whose thread-locals are gone, and threads that began before the mode.
TEST_F(MappedThreadsTest, ThreadsWithoutTheModeFreeAndResizeSuchBlocks) {
  ThreadContext& own = current_context();
  ThreadCache& cache = *cache_behind(own);
  void* blocks[6] = {};
  for (void*& block : blocks) {
    block = allocate(300);
    test::fill_all(block, 300, 5);
  }
  ThreadContext* const others[] = {&ended_context, &cache};
  for (size_t i = 0; i < 2; i++) {
    set_context(*others[i]);
    free_block(blocks[3 * i]);
    void* moved = reallocate(blocks[3 * i + 1], 400);
    EXPECT_FALSE(is_mapped(moved));
    EXPECT_TRUE(test::has_all(moved, 300, 5));
    free_block(moved);
    free_many(&blocks[3 * i + 2], 1);
    EXPECT_EQ(mapped::this_thread(), 0u);
  }
  set_context(own);
  for (void* block : blocks) EXPECT_FALSE(is_accessible(block));
}

TEST_F(MappedThreadsTest, ThreadsKeepTheModeAfterTheEndOfTheirCaches) {
  test::LateInAThread late{[] {
    void* block = allocate(100);
    EXPECT_TRUE(is_mapped(block));
    EXPECT_EQ(mapped::this_thread(), kernels_thread_id());
    test::fill_all(block, 100, 3);
    block = reallocate(block, 5000);
    EXPECT_TRUE(is_mapped(block));
    EXPECT_TRUE(test::has_all(block, 100, 3));
    free_block(block);
    EXPECT_FALSE(is_accessible(block));
  }};
}

// What the helper puts in the place of a resting thread's context leads back to the mode.
TEST_F(MappedThreadsTest, AThreadThatWasAskedComesBackToTheMode) {
  ThreadContext& own = current_context();
  ThreadCache& cache = *cache_behind(own);
  {
    Held held{registry.lock};
    ask(held, cache);
  }
  ASSERT_NE(&current_context(), &own) << "the helper did not ask";
  void* block = allocate(100);
  EXPECT_TRUE(is_mapped(block));
  EXPECT_EQ(&current_context(), &own);
  free_block(block);
  // It may be asked between a slow path's first look at its context and the next.
  {
    Held held{registry.lock};
    ask(held, cache);
  }
  ASSERT_NE(&current_context(), &own) << "the helper did not ask";
  block = allocate_by_mode({100, block_alignment, 0});
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_mapped(block));
  free_block(block);
}

TEST_F(MappedThreadsTest, CrossesAFork) {
  process_starts();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 100; i++) {
    blocks.push_back(allocate(i + 1));
    test::fill_all(blocks[i], i + 1, i);
  }
  test::BusyThreads other(
      1, [](size_t) { return [random = test::Random{1}]() mutable { churn(random, 100); }; });
  for (int round = 0; round < 20; round++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      for (size_t i = 0; i < blocks.size(); i++) {
        if (!test::has_all(blocks[i], i + 1, i)) _exit(10);
        free_block(blocks[i]);
        if (is_accessible(blocks[i])) _exit(11);
      }
      if (mapped::this_thread() != kernels_thread_id()) _exit(12);
      test::Random random{2};
      _exit(churn(random, 300));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "in round " << round;
  }
  other.end();
  for (size_t i = 0; i < blocks.size(); i++) {
    EXPECT_TRUE(test::has_all(blocks[i], i + 1, i)) << "the child's frees are seen";
    free_block(blocks[i]);
  }
}

}  // namespace
}  // namespace talus::core
