// SPDX-License-Identifier: MIT
// tests/unit/modes/guarded: blocks between pages without access, and how often mistakes meet one.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "each_way.hpp"
#include "effort.hpp"
#include "late.hpp"
#include "modes/guarded.hpp"
#include "paths/aligned_at.hpp"
#include "paths/batch.hpp"
#include "sides_fixture.hpp"

extern "C" __attribute__((weak)) int talus_test_find_code_guarded(
    void* code, talus::core::unwind::FoundObject* found) __asm__("_dl_find_object");
extern "C" int talus_test_list_code_guarded(int (*visit)(talus::core::unwind::ListedObject*, size_t,
                                                         void*),
                                            void* with) __asm__("dl_iterate_phdr");

namespace talus::core {
namespace {

using test::make;

constexpr uint64_t guarded_mean = 4096;

bool is_guarded(const void* block) {
  return guarded::guarded.pool->has(reinterpret_cast<uintptr_t>(block));
}
size_t live_count() { return guarded::guarded.pool->shared_live.load_hint(); }
double chance_of(size_t bytes, uint64_t mean) {
  const size_t block_bytes = size_class_row(class_of(bytes)).block_bytes;
  return -std::expm1(-static_cast<double>(block_bytes) / static_cast<double>(mean));
}

class GuardedTest : public testing::Test {
 protected:
  void SetUp() override {
    test::own_cache();
    ASSERT_TRUE(guarded::prepare(guarded_mean,
                                 {&talus_test_find_code_guarded, &talus_test_list_code_guarded}));
    ASSERT_TRUE(switch_on(guarded::guarded.mode));
    free_block(make(1));  // comes back to the context with two sides
    ASSERT_TRUE(current_context().operations->has_sides);
  }
  void TearDown() override {
    EXPECT_EQ(live_count(), 0u) << "each guarded block gave its page back";
    switch_off(guarded::guarded.mode);
    free_block(make(1));
    EXPECT_EQ(test::live_bytes(), 0u);
    EXPECT_TRUE(test::space_is_sound());
  }
  // A guarded block of this size. Others of the size are made and freed until one comes.
  static void* make_guarded(size_t bytes) {
    for (int i = 0; i < 1000000; i++) {
      void* block = make(bytes);
      if (is_guarded(block)) return block;
      free_block(block);
    }
    ADD_FAILURE() << "no block of " << bytes << " bytes was guarded";
    return nullptr;
  }
};

TEST_F(GuardedTest, BlocksBeginOrEndAtAPageWithoutAccess) {
  const size_t page = os::page_bytes();
  for (const size_t bytes : {1, 16, 17, 100, 1000, 4096}) {
    bool has_been_at_start = false, has_been_at_end = false;
    for (int i = 0; i < 40; i++) {
      void* block = make_guarded(bytes);
      ASSERT_NE(block, nullptr);
      const auto at = reinterpret_cast<uintptr_t>(block);
      EXPECT_EQ(at % block_alignment, 0u);
      EXPECT_EQ(usable_size(block), bytes) << "usable sizes are exact";
      const bool is_at_end = round_up(at + bytes, page) - at - bytes < block_alignment;
      EXPECT_TRUE(at % page == 0 || is_at_end);
      (at % page == 0 ? has_been_at_start : has_been_at_end) = true;
      std::memset(block, 3, bytes);
      free_block(block);
    }
    EXPECT_TRUE(has_been_at_start);
    EXPECT_TRUE(has_been_at_end || bytes == 4096);
  }
}

TEST_F(GuardedTest, AsOftenAsTheDistanceSays) {
  const size_t rounds = test::rounds_of(200000);
  for (const size_t bytes : {16, 112, 1024}) {
    size_t found = 0;
    for (size_t i = 0; i < rounds; i++) {
      void* block = make(bytes);
      found += is_guarded(block) ? 1 : 0;
      free_block(block);
    }
    const double p = chance_of(bytes, guarded_mean), count = static_cast<double>(rounds);
    EXPECT_NEAR(static_cast<double>(found), count * p, 5 * std::sqrt(count * p * (1 - p)) + 2);
  }
}

// A mistake in one of 1000 runs of a site: a byte is written behind a block. It is found, by
// a fault or by free(), as often as a block is guarded. Each child makes 1000 runs.
TEST_F(GuardedTest, AnOverflowIsFoundAsOftenAsTheBinomialSays) {
  if (test::under_asan || test::under_tsan) GTEST_SKIP() << "the sanitizer handles SIGSEGV";
  constexpr size_t bytes = 1024;
  const size_t children = test::rounds_of(1000);
  size_t by_fault = 0, by_free = 0;
  for (size_t child = 0; child < children; child++) {
    free_block(make(bytes));  // the next child draws other distances
    guarded::ThreadState& own = *static_cast<guarded::ThreadState*>(
        current_modes()->states->shared_of[place_of(&guarded::guarded.mode)].load_acquire());
    own.distances.random += 0x9e3779b97f4a7c15u;
    own.distances.blocks_left[index_of(class_of(bytes))] = 0;
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const struct rlimit no_core = {0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      close(STDERR_FILENO);
      const size_t wrong = child * 7919 % 1000;
      for (size_t run = 0; run < 1000; run++) {
        auto* block = static_cast<volatile char*>(make(bytes));
        if (run == wrong) block[bytes] = 1;
        free_block(const_cast<char*>(block));
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) (WTERMSIG(status) == SIGSEGV ? by_fault : by_free)++;
  }
  const double p = chance_of(bytes, guarded_mean), n = static_cast<double>(children);
  const double found = static_cast<double>(by_fault + by_free);
  std::printf("found %zu by a fault and %zu by free() of %zu; expected %.1f\n", by_fault, by_free,
              children, n * p);
  EXPECT_NEAR(found, n * p, 5 * std::sqrt(n * p * (1 - p)) + 1);
  EXPECT_NEAR(static_cast<double>(by_fault), found / 2, 5 * std::sqrt(found) / 2 + 1);
}

TEST_F(GuardedTest, FreedSlotsServeLast) {
  void* const first = make_guarded(100);
  free_block(first);
  const auto page = reinterpret_cast<uintptr_t>(first) / os::page_bytes();
  for (size_t i = 1; i < guarded::slot_count; i++) {
    void* const next = make_guarded(100);
    EXPECT_NE(reinterpret_cast<uintptr_t>(next) / os::page_bytes(), page) << i;
    free_block(next);
  }
  void* const again = make_guarded(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(again) / os::page_bytes(), page);
  free_block(again);
}

// Blocks that stay take all pages. Then others are ordinary ones, on the fast paths.
TEST_F(GuardedTest, NoMorePagesThanTheBound) {
  std::vector<void*> kept;
  for (int i = 0; i < 50000; i++) kept.push_back(make(256));
  EXPECT_EQ(live_count(), guarded::guarded.pool->live_max());
  const size_t rules = unwind::RuleTable::bytes_for(guarded::rules_max);
  const size_t walks = sizeof(unwind::UnwindTables) - sizeof(unwind::RuleTable) + rules;
  EXPECT_LE(live_count() * os::page_bytes() + sizeof(guarded::Pool) + walks, 512 * kib);
  EXPECT_GT(guarded::guarded.pool->shared_missed.load_stat(), 0u);
  for (void* block : kept) free_block(block);
}

TEST_F(GuardedTest, RecordsOfBothStacks) {
  void* const block = make_guarded(48);
  const auto& pool = *guarded::guarded.pool;
  const guarded::Slot& slot =
      *guarded::slot_at(*guarded::guarded.pool, reinterpret_cast<uintptr_t>(block));
  EXPECT_EQ(slot.state, guarded::State::live);
  EXPECT_EQ(slot.made.thread, static_cast<uint32_t>(gettid()));
  EXPECT_GT(slot.made.frame_count, 3u);
  std::thread([block] { free_block(block); }).join();
  EXPECT_EQ(slot.state, guarded::State::freed);
  EXPECT_NE(slot.freed.thread, slot.made.thread);
  EXPECT_GT(slot.freed.frame_count, 2u);
  EXPECT_GE(slot.freed.at_ns, slot.made.at_ns);
  EXPECT_EQ(pool.event.shared_kind.load_acquire(), 0u);
}

// Each way to make, resize and end a block keeps contents, zeros and alignment.
TEST_F(GuardedTest, EachWayToMakeABlock) {
  size_t guarded_count = 0;
  const size_t rounds = test::rounds_of(40000);
  test::BlocksOfEachWay blocks(13, 12, 30);
  blocks.run(rounds, [&](const void* block) { guarded_count += is_guarded(block) ? 1 : 0; });
  EXPECT_GT(guarded_count, rounds / 100);
}

TEST_F(GuardedTest, ThreadsMakeAndFreeEachOthersBlocks) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([] {
      std::vector<void*> own;
      for (size_t j = 0; j < test::rounds_of(20000); j++) {
        own.push_back(make(200));
        std::memset(own.back(), 1, 200);
        if (own.size() < 20) continue;
        if (j % 1000 == 0) {
          std::thread([&own] {
            for (void* block : own) free_block(block);
          }).join();
        } else {
          for (void* block : own) free_block(block);
        }
        own.clear();
      }
      for (void* block : own) free_block(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The child of a fork has the blocks, and makes its own.
TEST_F(GuardedTest, ForksKeepGuardedBlocks) {
  auto* const block = static_cast<char*>(make_guarded(100));
  std::memset(block, 5, 100);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const bool is_whole = block[99] == 5;
    free_block(block);
    void* const other = make_guarded(100);
    free_block(other);
    _exit(is_whole && live_count() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(block[0], 5);
  free_block(block);
}

// A block may be a sample of the profile and guarded, and each is told of its end.
TEST_F(GuardedTest, BesideAProfile) {
  ASSERT_TRUE(profile::prepare(guarded_mean,
                               {&talus_test_find_code_guarded, &talus_test_list_code_guarded}));
  const size_t before = profile::profile.sites->live_count();
  ASSERT_TRUE(switch_on(profile::profile.mode));
  size_t both = 0, guarded_count = 0;
  for (size_t i = 0; i < test::rounds_of(100000); i++) {
    void* const block = make(1024);
    const bool is_kept = profile::profile.sites->live_count() != before;
    guarded_count += is_guarded(block) ? 1 : 0;
    both += is_guarded(block) && is_kept ? 1 : 0;
    free_block(block);
    ASSERT_EQ(profile::profile.sites->live_count(), before);
  }
  switch_off(profile::profile.mode);
  EXPECT_GT(guarded_count, 0u);
  EXPECT_GT(both, 0u);
}

}  // namespace
}  // namespace talus::core
