// SPDX-License-Identifier: MIT
// tests/unit/process/fork: a child may use the heap whatever the parent's threads were doing.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "busy_threads.hpp"
#include "effort.hpp"
#include "neighbour.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// The child's work: 0 if all went well, else the number of the step that did not. GoogleTest's
// own bookkeeping belongs to the parent.
int use_heap(std::vector<void*>& parents, bool with_threads) {
  for (size_t i = 0; i < parents.size(); i++) {
    if (!test::has_pattern(parents[i], 100 + i, i)) return 1;
    free_block(parents[i]);
  }
  std::vector<void*> blocks;
  for (size_t i = 0; i < 3000; i++) {
    void* block = allocate(i * 7);
    if (block == nullptr) return 2;
    test::fill_pattern(block, i * 7, i);
    blocks.push_back(block);
  }
  if (with_threads) {
    Atomic<int> wrong;
    test::on_threads(2, [&](size_t self) {
      std::vector<void*> own;
      for (size_t i = 0; i < 500; i++) own.push_back(allocate(i + self));
      for (void* block : own) free_block(block);
      for (size_t i = self; i < 1000; i += 2) {  // remote: the child's main thread's blocks
        if (!test::has_pattern(blocks[i], i * 7, i)) wrong.store_relaxed(3);
        free_block(blocks[i]);
      }
    });
    if (wrong.load_relaxed() != 0) return wrong.load_relaxed();
    blocks.erase(blocks.begin(), blocks.begin() + 1000);
  }
  for (void* block : blocks) free_block(block);
  purge_beyond(0);
  Held held{space.lock()};
  return space.is_sound() ? 0 : 4;
}

// Waits for a child; a hang is its death by alarm.
int result_of(pid_t child) {
  int status = -1;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::vector<void*> parents_blocks() {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 500; i++) {
    blocks.push_back(allocate(100 + i));
    test::fill_pattern(blocks.back(), 100 + i, i);
  }
  return blocks;
}

TEST(Fork, ChildUsesTheHeapAndMakesThreads) {
  process_starts();
  std::vector<void*> blocks = parents_blocks();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int result = use_heap(blocks, true);
    if (result == 0 && test::live_bytes() != 0) result = 5;
    _exit(result);
  }
  EXPECT_EQ(result_of(child), 0);
  for (size_t i = 0; i < blocks.size(); i++) {
    EXPECT_TRUE(test::has_pattern(blocks[i], 100 + i, i));
    free_block(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Fork, GrandchildrenToo) {
  process_starts();
  std::vector<void*> blocks = parents_blocks();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    void* own = allocate(77);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(60);
      free_block(own);
      _exit(use_heap(blocks, true));
    }
    int result = result_of(grandchild);
    if (result == 0) result = use_heap(blocks, true);
    _exit(result);
  }
  EXPECT_EQ(result_of(child), 0);
  for (void* block : blocks) free_block(block);
}

// needs N10: three threads allocate all the time, at any point of the heap, while another forks.
TEST(Fork, WhileThreadsAllocate) {
  process_starts();
  std::vector<void*> blocks = parents_blocks();
  Atomic<void*> exchange[64];
  test::BusyThreads others(3, [&exchange](size_t self) {
    return [&exchange, random = test::Random{self}]() mutable {
      void* block = allocate(random.of_any_length(17));
      // Blocks wander between the threads, so that remote frees are on their way, too.
      free_block(exchange[random.below(64)].exchange_acq_rel(block));
    };
  });
  const size_t rounds = test::rounds_of(100);
  for (size_t round = 0; round < rounds + 5; round++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      // ThreadSanitizer's own threads do not survive a fork from many threads.
      int result = use_heap(blocks, !test::under_tsan && round % 4 == 0);
      // The blocks of the threads that do not exist here may be freed here.
      for (Atomic<void*>& slot : exchange) free_block(slot.exchange_acq_rel(nullptr));
      _exit(result);
    }
    const int result = result_of(child);
    ASSERT_EQ(result, 0) << "in round " << round;
  }
  others.end();
  for (Atomic<void*>& slot : exchange) free_block(slot.load_relaxed());
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What the parent's other threads had in their lists and batches is found in the child.
TEST(Fork, ChildSalvagesTheCachesOfLostThreads) {
  process_starts();
  Atomic<int> phase;
  std::vector<void*> ours;
  for (int i = 0; i < 40; i++) ours.push_back(allocate(48));
  std::thread other{[&] {
    std::vector<void*> own;
    for (int i = 0; i < 300; i++) own.push_back(allocate(48));
    for (void* block : own) free_block(block);   // in its list
    for (void* block : ours) free_block(block);  // in a batch that is not full
    phase.store_release(1);
    while (phase.load_acquire() != 2) usleep(1000);
  }};
  while (phase.load_acquire() != 1) usleep(1000);
  EXPECT_EQ(collect_totals().live(), 0u);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int result = 0;
    if (collect_totals().live() != 0) result = 1;
    if (!test::under_tsan) {
      test::on_threads(1, [](size_t) { free_block(allocate(48)); });  // takes one of them home
      if (test::live_bytes() != 0) result = 2;
    }
    _exit(result);
  }
  EXPECT_EQ(result_of(child), 0);
  phase.store_release(2);
  other.join();
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What a thread was about to take home is found in the child of a child.
TEST(Fork, GrandchildSalvagesWhatWasBeingSalvaged) {
  if (test::under_tsan) GTEST_SKIP() << "no threads in the child of a process with threads";
  process_starts();
  test::Neighbour neighbour;
  neighbour.run([] {
    std::vector<void*> blocks;
    for (int i = 0; i < 300; i++) blocks.push_back(allocate(48));
    for (void* block : blocks) free_block(block);
  });
  const size_t left_before = collect_totals().left_count;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    ThreadCache* taken = nullptr;
    Atomic<int> phase;
    std::thread other{[&] {
      taken = take_orphaned_cache();  // and now it waits for a lock
      phase.store_release(1);
      while (phase.load_acquire() != 2) usleep(1000);
      flush_all(*taken);
      Held held{registry.lock};
      retire_orphaned_cache(held, *taken);
    }};
    while (phase.load_acquire() != 1) usleep(1000);
    int result = taken != nullptr && collect_totals().left_count == left_before + 1 ? 0 : 1;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(60);
      if (collect_totals().left_count != left_before + 1) result = 2;
      if (test::live_bytes() != 0) result = 3;
      if (collect_totals().left_count != 0) result = 4;
      _exit(result);
    }
    if (result == 0) result = result_of(grandchild);
    phase.store_release(2);
    other.join();
    if (result == 0 && collect_totals().left_count != left_before) result = 5;
    _exit(result);
  }
  EXPECT_EQ(result_of(child), 0);
}

// A large block that goes from a thread's stack to address space is in one of them at any time.
TEST(Fork, KeptBlocksMoveInTheLock) {
  process_starts();
  Atomic<int> phase;
  ThreadCache* cache = nullptr;
  std::thread other{[&] {
    free_block(allocate(300 * kib));
    cache = &test::own_cache();
    phase.store_release(1);
    while (phase.load_acquire() != 2) usleep(1000);
    displace_kept(*cache);
    phase.store_release(3);
  }};
  while (phase.load_acquire() != 1) usleep(1000);
  {
    Held held{space.lock()};
    const size_t bytes = cache->kept.bytes.load_relaxed();
    EXPECT_GE(bytes, 300 * kib);
    phase.store_release(2);
    usleep(20000);
    EXPECT_EQ(cache->kept.bytes.load_relaxed(), bytes);
  }
  while (phase.load_acquire() != 3) usleep(1000);
  EXPECT_EQ(cache->kept.bytes.load_relaxed(), 0u);
  other.join();
}

// The child's exit does not wait for threads of its parent's that were about to end.
TEST(Fork, ChildCountsNoEndingThreads) {
  process_starts();
  Atomic<uint32_t>& count = thread_end.ending_count;
  count.fetch_add_relaxed(1);
  const pid_t child = fork();
  if (child == 0) _exit(count.load_relaxed() == 0 ? 0 : 1);
  count.fetch_sub_relaxed(1);
  EXPECT_EQ(result_of(child), 0);
}

// A child whose memory is its own takes it for that, and one of a vfork does not.
TEST(Fork, ChildKnowsWhoseMemoryItHas) {
  if (test::under_tsan) GTEST_SKIP() << "a child has no helper";
  process_starts();
  const bool was_allowed = helper.shared_is_allowed.load_relaxed();
  helper.shared_is_allowed.store_relaxed(true);
  helper.process_id.store_relaxed(static_cast<uint32_t>(getpid()));
  const pid_t child = fork();
  if (child == 0) {
    const uint32_t own = static_cast<uint32_t>(getpid());
    _exit(helper.process_id.load_relaxed() == own ? 0 : 1);
  }
  helper.process_id.store_relaxed(0);
  helper.shared_is_allowed.store_relaxed(was_allowed);
  EXPECT_EQ(result_of(child), 0);
}

}  // namespace
}  // namespace talus::core
