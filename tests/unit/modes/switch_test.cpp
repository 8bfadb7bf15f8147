// SPDX-License-Identifier: MIT
// tests/unit/modes/switch: modes are switched on and off while threads run.
#include <gtest/gtest.h>

#include <set>

#include "api/heaps.hpp"
#include "late.hpp"
#include "modes/chain.hpp"
#include "modes/counting.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// Counts calls, and nothing else.
Atomic<uint64_t> shared_calls;
void note_any(ModeThread, void*) noexcept { shared_calls.fetch_add_relaxed(1); }
constexpr Mode make_frees() noexcept {
  Mode mode;
  mode.name = "frees";
  mode.note_free = note_any;
  return mode;
}
constexpr Mode frees = make_frees();

uint64_t calls_of(void (*act)()) {
  const uint64_t before = shared_calls.load_relaxed();
  act();
  return shared_calls.load_relaxed() - before;
}
void free_ten() {
  for (int i = 0; i < 10; i++) free_block(allocate(100));
}

TEST(Switch, TheCallingThreadFollowsAtItsNextCall) {
  test::own_cache();
  EXPECT_EQ(calls_of(free_ten), 0u);
  ASSERT_TRUE(switch_on(frees));
  EXPECT_TRUE(is_on(frees));
  EXPECT_EQ(calls_of(free_ten), 10u);
  switch_off(frees);
  EXPECT_FALSE(is_on(frees));
  EXPECT_EQ(calls_of(free_ten), 0u);
  EXPECT_EQ(current_context().operations, nullptr) << "the fast paths are back";
  ASSERT_TRUE(switch_on(frees));
  EXPECT_EQ(calls_of(free_ten), 10u);
  switch_off(frees);
}

// Threads that run follow, whatever they are doing.
TEST(Switch, RunningThreadsFollow) {
  constexpr size_t thread_count = 4;
  Atomic<uint64_t> rounds[thread_count];
  Atomic<bool> stop;
  std::thread switcher{[&] {
    for (size_t time = 0; time < test::rounds_of(50); time++) {
      ASSERT_TRUE(switch_on(frees));
      const uint64_t before = shared_calls.load_relaxed();
      uint64_t seen[thread_count];
      for (size_t i = 0; i < thread_count; i++) seen[i] = rounds[i].load_relaxed();
      // Each thread made two more rounds, so it saw the mode in one of them.
      for (size_t i = 0; i < thread_count; i++) {
        while (rounds[i].load_relaxed() < seen[i] + 2) std::this_thread::yield();
      }
      EXPECT_GE(shared_calls.load_relaxed(), before + thread_count * 50);
      switch_off(frees);
    }
    stop.store_relaxed(true);
  }};
  test::on_threads(thread_count, [&](size_t self) {
    test::Random random{self};
    std::vector<void*> blocks(50);
    while (!stop.load_relaxed()) {
      for (void*& block : blocks) {
        free_block(block);
        block = allocate(1 + random.of_any_length(random.below(2) == 0 ? 10 : 18));
      }
      rounds[self].own_add(1);
    }
    for (void* block : blocks) free_block(block);
  });
  switcher.join();
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Threads that begin and end meanwhile are in the mode or not, and lose nothing.
TEST(Switch, ThreadsBeginAndEndMeanwhile) {
  Atomic<bool> stop;
  std::thread switcher{[&] {
    while (!stop.load_relaxed()) {
      EXPECT_TRUE(switch_on(frees));
      std::this_thread::yield();
      switch_off(frees);
    }
  }};
  for (size_t round = 0; round < test::rounds_of(300); round++) {
    test::on_threads(3, [](size_t) { free_ten(); });
  }
  stop.store_relaxed(true);
  switcher.join();
  EXPECT_TRUE(switch_on(frees));
  const uint64_t before = shared_calls.load_relaxed();
  test::on_threads(3, [](size_t) { free_ten(); });
  EXPECT_EQ(shared_calls.load_relaxed() - before, 30u) << "threads that begin now are in the mode";
  switch_off(frees);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Beside the background thread's own questions whether threads are idle.
TEST(Switch, ThreadsWhoseListsAreTakenBack) {
  Atomic<bool> stop;
  std::thread asker{[&] {
    while (!stop.load_relaxed()) {
      EXPECT_TRUE(switch_on(frees));
      purge_beyond(0);
      switch_off(frees);
      purge_beyond(0);
    }
  }};
  test::on_threads(2, [](size_t self) {
    test::Random random{self};
    std::vector<void*> blocks(100);
    for (size_t round = 0; round < test::rounds_of(20000); round++) {
      void*& block = blocks[random.below(blocks.size())];
      free_block(block);
      block = allocate(random.of_any_length(12));
    }
    for (void* block : blocks) free_block(block);
  });
  stop.store_relaxed(true);
  asker.join();
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The probe context may take the place of the thread's own in the middle of a slow path. Counts
// were lost then.
TEST(Switch, NoCallIsLostToTheProbe) {
  ThreadCache& cache = test::own_cache();
  ASSERT_TRUE(switch_on(counting::mode));
  void* block = allocate(100);
  const auto replace_context = [&cache] {
    Held held{registry.lock};
    ask(held, cache);
  };
  const counting::Counts before = counting::collect();
  replace_context();
  ASSERT_TRUE(current_context().operations->is_probe);
  note_allocate(block, 100);
  note_free(block);
  end_resize(block, 112, block, 100);
  EXPECT_TRUE(is_told_of_frees());
  const counting::Counts after = counting::collect();
  EXPECT_EQ(after.allocation_sum - before.allocation_sum, 2u);
  EXPECT_EQ(after.frees - before.frees, 2u);
  free_block(block);
  EXPECT_EQ(counting::collect().frees - after.frees, 1u);
  switch_off(counting::mode);
}

// The last test: these modes keep the places.
TEST(Switch, AModeKeepsItsPlaceAndTheChainIsBounded) {
  static Mode many[modes_max + 1];
  size_t switched = 0;
  for (Mode& mode : many) switched += switch_on(mode) ? 1 : 0;
  EXPECT_LT(switched, modes_max + 1);
  EXPECT_FALSE(switch_on(many[modes_max]));
  EXPECT_FALSE(is_on(many[modes_max]));
  EXPECT_TRUE(switch_on(many[0]));
  for (Mode& mode : many) switch_off(mode);
  EXPECT_TRUE(process_modes.is_empty());
}

}  // namespace
}  // namespace talus::core
