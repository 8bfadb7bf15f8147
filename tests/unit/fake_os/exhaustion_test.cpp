// SPDX-License-Identifier: MIT
// tests/unit/fake_os/exhaustion: memory ends, and is there again.
//
// Owns: nothing. From some moment on the kernel gives no more. What is held stays intact, what is
// freed can be had again without the kernel, and with the kernel all is as before.
// Called on: the main thread, in children.
#include <gtest/gtest.h>

#include "effort.hpp"
#include "fake_os/sequence.hpp"

namespace talus::core {
namespace {

// Holds blocks of this size until there are no more; more than once, for null must be repeatable.
size_t hold_all_there_is(test::HeldBlocks& held, size_t bytes) {
  const size_t before = held.count();
  while (held.hold(allocate(bytes), bytes)) {
    test::require(held.count() < 1000000, "memory that never ends", held.count());
  }
  for (int i = 0; i < 3; i++) held.hold(allocate(bytes), bytes);
  return held.count() - before;
}

std::string exhaust_with(size_t bytes) {
  return test::run_in_child([bytes] {
    free_block(allocate(1));  // an arena is there
    test::refuse_maps();
    test::HeldBlocks held;
    const size_t count = hold_all_there_is(held, bytes);
    test::require(count > 10, "blocks of the first arena", count);
    held.free_every(1);
    test::require_quiet_heap();
    // The free memory serves again although the kernel still refuses.
    const size_t again = hold_all_there_is(held, bytes);
    test::child_report().measured[0] = count;
    test::child_report().measured[1] = again;
    test::require(again + 3 >= count, "blocks the second time", again);
    held.free_every(1);
    test::require_quiet_heap();
    test::end_faults();
    test::require(test::run_sequence() == 0, "the sequence afterwards");
    test::require_quiet_heap();
  });
}

TEST(Exhaustion, SmallBlocks) {
  EXPECT_EQ(exhaust_with(3000), "");
  EXPECT_EQ(exhaust_with(20000), "");
}

TEST(Exhaustion, LargeBlocks) {
  EXPECT_EQ(exhaust_with(40 * kib), "");
  EXPECT_EQ(exhaust_with(200 * kib), "");
}

// Small and large ones in turn, some freed at each null: free space in pieces, and fewer and fewer
// descriptors to be had for them.
TEST(Exhaustion, WithHolesOfAllSizes) {
  const std::string wrong = test::run_in_child([] {
    test::HeldBlocks held;
    test::Random random{test::seed_of("Exhaustion.WithHoles")};
    free_block(allocate(1));
    test::refuse_maps();
    const size_t refusals = test::rounds_of(400) + 20;
    while (held.refused_count() < refusals) {
      const size_t bytes = random.of_any_length(19);
      if (held.hold(allocate(bytes), bytes)) continue;
      if (random.below(4) == 0) held.free_every(2 + random.below(6));
      if (random.below(16) == 0) purge_beyond(0);
      test::require(test::space_is_sound(), "space at null", held.refused_count());
    }
    held.free_every(1);
    test::require_quiet_heap();
    test::end_faults();
    test::require(test::run_sequence() == 0, "the sequence afterwards");
    test::require_quiet_heap();
  });
  EXPECT_EQ(wrong, "");
}

// Threads that begin and end while there is no memory, not even for a heap of their own.
TEST(Exhaustion, ThreadsAreBornIntoIt) {
  const std::string wrong = test::run_in_child([] {
    test::HeldBlocks held;
    free_block(allocate(1));
    test::refuse_maps();
    hold_all_there_is(held, 40 * kib);
    hold_all_there_is(held, 16);
    Atomic<bool> is_well;
    Atomic<uint32_t> was_refused;
    std::vector<std::thread> threads;
    for (size_t self = 0; self < 4; self++) {
      threads.emplace_back([&is_well, &was_refused] {
        test::HeldBlocks own;
        for (size_t bytes : {size_t{10}, 5 * kib, 50 * kib}) own.hold(allocate(bytes), bytes);
        own.free_every(1);
        was_refused.fetch_add_relaxed(own.refused_count() > 0 ? 1 : 0);  // [stat]
        while (!is_well.load_acquire()) usleep(1000);
        for (size_t bytes = 1; bytes < mib; bytes *= 3) {
          test::require(own.hold(allocate(bytes), bytes), "in a thread, afterwards", bytes);
        }
        own.free_every(1);
      });
    }
    while (was_refused.load_relaxed() < 4) usleep(1000);  // [stat]
    held.free_every(2);
    test::end_faults();
    is_well.store_release(true);
    for (std::thread& thread : threads) thread.join();
    held.free_every(1);
    test::require_quiet_heap();
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace talus::core
