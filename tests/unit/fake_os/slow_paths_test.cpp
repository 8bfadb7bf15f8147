// SPDX-License-Identifier: MIT
// tests/unit/fake_os/slow_paths: each operation where nothing is left, neither addresses nor
// memory for descriptors, nodes, messages and caches.
//
// Owns: nothing. A world is made in which the next piece of any kind cannot be had. Then one kind
// of operation is run in it by threads with and without a cache. Answers may be null. Blocks in
// hand keep their contents, freed ones count as free, and nothing is lost when memory is back.
// Called on: the main thread of a child, and its threads.
#include <gtest/gtest.h>

#include <fcntl.h>

#include <memory>

#include "effort.hpp"
#include "fake_os/sequence.hpp"
#include "neighbour.hpp"

namespace talus::core {
namespace {

// No more pages, and no more descriptors from what there is, ranges included.
void leave_nothing() {
  test::refuse_maps();
  Held held{space.lock()};
  while (space.take_metadata(held, cache_line_bytes) != nullptr) {}
}

// As above, but what malloc keeps in lists and slabs is used up too.
void leave_no_block(test::HeldBlocks& held) {
  leave_nothing();
  for (size_t bytes = small_bytes_max; bytes > 0; bytes -= block_alignment) {
    while (held.hold(allocate(bytes), bytes)) {}
  }
}

void expect_all_is_well() {
  test::require_quiet_heap();
  test::end_faults();
  test::require(test::run_sequence() == 0, "the sequence when memory is back");
  test::require_quiet_heap();
}

// Some of everything, held while there is memory.
void hold_some(test::HeldBlocks& held) {
  test::hold_small_and_large(held);
  for (size_t i = 0; i < 3000; i++) held.hold(allocate(i % 700), i % 700);
  for (size_t i = 0; i < 40; i++) held.hold(allocate(70 * kib), 70 * kib);
  held.hold(allocate(3 * mib), 3 * mib);
}

void try_every_allocation(test::HeldBlocks& held) {
  for (size_t bytes = 0; bytes <= small_bytes_max; bytes += 1 + bytes / 6) {
    held.hold(allocate(bytes), bytes);
    held.hold_zeroed(bytes);
  }
  for (size_t bytes : {small_bytes_max + 1, 300 * kib, 3 * mib, 300 * mib}) {
    held.hold(allocate(bytes), bytes);
    held.hold_zeroed(bytes);
  }
  test::hold_aligned_blocks(held);
}

void try_every_resize(test::HeldBlocks& held) {
  const size_t count = held.count();
  for (size_t place = 0; place < count; place += 3) {
    for (size_t bytes : {size_t{1}, size_t{900}, 20 * kib, 50 * kib, 200 * kib, 9 * mib}) {
      held.resize(place, bytes);
    }
  }
}

TEST(SlowPaths, EachAllocationIsNullOrABlock) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              hold_some(held);
              leave_no_block(held);
              const size_t refused = held.refused_count();
              try_every_allocation(held);
              test::require(held.refused_count() > refused + 20, "memory is left",
                            held.refused_count());
              held.free_every(2);
              try_every_allocation(held);
              held.free_every(1);
              expect_all_is_well();
            }),
            "");
}

TEST(SlowPaths, RefusedResizesChangeNothing) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              hold_some(held);
              leave_no_block(held);
              const size_t refused = held.refused_count();
              try_every_resize(held);
              test::require(held.refused_count() > refused + 20, "memory is left",
                            held.refused_count());
              held.free_every(3);
              try_every_resize(held);
              held.free_every(1);
              expect_all_is_well();
            }),
            "");
}

// A thread that asks again and again, and gets nothing, uses nothing up.
TEST(SlowPaths, RefusalsCostNothing) {
  EXPECT_EQ(test::run_in_child([] {
              free_block(allocate(1));
              test::refuse_maps();
              auto metadata_after = [](size_t rounds) {
                for (size_t i = 0; i < rounds; i++) {
                  test::require(allocate(40 * mib) == nullptr, "a large block");
                  test::require(allocate_aligned(8 * mib, 100) == nullptr, "an aligned block");
                  test::on_threads(1, [](size_t) { free_block(allocate(1)); });
                }
                return collect_totals().metadata;
              };
              const size_t before = metadata_after(5);
              const size_t after = metadata_after(200);
              test::require(after == before, "bytes of metadata more", after - before);
              // Slabs whose descriptor is there and whose range is not.
              test::HeldBlocks held;
              while (held.hold(allocate(40 * kib), 40 * kib)) {}
              // A size that is asked for often gets a class, whose first slab gets a descriptor.
              for (int i = 0; i < 20; i++) {
                test::require(allocate(20 * kib) == nullptr, "a block of a new slab");
              }
              const size_t few = collect_totals().metadata;
              for (size_t i = 0; i < 1000; i++)
                test::require(allocate(20 * kib) == nullptr, "a block", i);
              test::require(collect_totals().metadata == few, "bytes for descriptors");
              held.free_every(1);
              expect_all_is_well();
            }),
            "");
}

// Shrinking gives the end of a block back. That needs a node for it, which must be there.
TEST(SlowPaths, ShrinkingNeedsNoMemory) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              for (size_t i = 0; i < 200; i++) held.hold(allocate(mib + i), mib + i);
              leave_no_block(held);
              const size_t refused = held.refused_count();
              for (size_t bytes : {600 * kib, 500 * kib, 200 * kib, 70 * kib}) {
                for (size_t place = 0; place < 200; place++) {
                  held.resize(place, bytes);
                  if (place % 16 == 0) purge_beyond(0);
                }
              }
              test::require(held.refused_count() == refused, "a shrinking realloc is refused");
              held.free_every(1);
              expect_all_is_well();
            }),
            "");
}

// No message can be had: blocks go to their slabs one by one.
TEST(SlowPaths, BlocksOfOthersComeHomeWithoutMessages) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              {
                test::Neighbour neighbour;
                hold_some(held);
                leave_nothing();
                neighbour.run([&held] {
                  held.free_every(2);
                  flush_lists(test::own_cache());  // which may have foreign blocks
                });
                test::require(test::space_is_sound(), "space after remote frees");
                // They are there for this thread: its next blocks come from them.
                const size_t refused = held.refused_count();
                for (size_t i = 0; i < 1000; i++) held.hold(allocate(i % 700), i % 700);
                test::require(held.refused_count() == refused,
                              "freed by a neighbour, and yet not free", held.refused_count());
                neighbour.run([&held] { held.free_every(1); });
              }
              expect_all_is_well();
            }),
            "");
}

// The neighbour has one message and fills it; there is no second.
TEST(SlowPaths, TheLastMessageIsDelivered) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              {
                test::Neighbour neighbour;
                for (size_t i = 0; i < 5000; i++) held.hold(allocate(64), 64);
                neighbour.run([&held] { held.free_last(); });
                leave_nothing();
                neighbour.run([&held] { held.free_every(1); });
              }
              expect_all_is_well();
            }),
            "");
}

// Threads that get no cache: every operation goes to slabs and ranges directly.
TEST(SlowPaths, ThreadsWithoutACache) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              hold_some(held);
              leave_no_block(held);
              test::on_threads(1, [&held](size_t) {
                test::require(cache_behind(current_context()) == nullptr, "a cache");
                held.free_every(2);
                test::HeldBlocks own;
                try_every_allocation(own);
                test::require(own.count() > 20, "what was freed serves a thread without cache",
                              own.count());
                try_every_resize(own);
                own.free_every(1);
                try_every_resize(held);
              });
              held.free_every(1);
              expect_all_is_well();
            }),
            "");
}

// Threads end, with full lists, batches and kept blocks; new ones take over what they left.
TEST(SlowPaths, ThreadsEndAndOthersAdopt) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks mine, theirs;
              {
                test::Neighbour neighbour;
                hold_some(mine);
                neighbour.run([&theirs] { hold_some(theirs); });
                leave_nothing();
                neighbour.run([&mine, &theirs] {
                  mine.free_every(3);
                  theirs.free_every(2);
                });
              }
              test::require(test::space_is_sound(), "space after the end of a thread");
              theirs.free_every(2);
              try_every_allocation(mine);
              test::on_threads(3, [](size_t) {
                test::HeldBlocks own;
                try_every_allocation(own);
                own.free_every(1);
              });
              mine.free_every(1);
              theirs.free_every(1);
              expect_all_is_well();
            }),
            "");
}

// The child of a fork in such a world, with a neighbour's cache left behind.
TEST(SlowPaths, Fork) {
  if (test::under_tsan) GTEST_SKIP() << "no threads in the child of a process with threads";
  EXPECT_EQ(test::run_in_child([] {
              watch_forks();
              test::HeldBlocks held, theirs;
              auto neighbour = std::make_unique<test::Neighbour>();
              hold_some(held);
              neighbour->run([&theirs] { hold_some(theirs); });
              leave_no_block(held);
              neighbour->run([&held] { held.free_every(5); });
              const pid_t child = fork();
              test::require(child >= 0, "fork");
              if (child == 0) {
                alarm(60);
                held.free_every(2);
                theirs.free_every(2);
                try_every_allocation(held);
                test::on_threads(2, [](size_t) {
                  test::HeldBlocks own;
                  try_every_allocation(own);
                  own.free_every(1);
                });
                held.free_every(1);
                theirs.free_every(1);
                // The first thread that is born with memory takes the neighbour's cache home.
                test::end_faults();
                test::on_threads(2, [](size_t) { free_block(allocate(1)); });
                expect_all_is_well();
                _exit(0);
              }
              int status = -1;
              test::require(waitpid(child, &status, 0) == child, "waitpid");
              // What the child's child found is in the report already.
              if (status != 0 && test::child_report().wrong[0] != '\0') _exit(1);
              test::require(status == 0, "status of the child's child",
                            static_cast<size_t>(status));
              held.free_every(1);
              theirs.free_every(1);
              neighbour.reset();
              expect_all_is_well();
            }),
            "");
}

// A mode is switched on: there is no memory for its contexts, so some threads are not counted.
TEST(SlowPaths, CountingBegins) {
  EXPECT_EQ(test::run_in_child([] {
              test::HeldBlocks held;
              {
                test::Neighbour neighbour;
                hold_some(held);
                leave_nothing();
                start_counting();
                try_every_allocation(held);
                neighbour.run([&held] { held.free_every(2); });
                test::on_threads(1, [&held](size_t) { held.free_every(2); });
                test::require(current_context().operations == nullptr, "a context to count in");
                const int sink = open("/dev/null", O_WRONLY);
                test::require(print_statistics(sink, StatsFormat::json) == 0,
                              "statistics all the same");
                close(sink);
                held.free_every(1);
              }
              expect_all_is_well();
            }),
            "");
}

// Most free ranges that can be: every other slice, half of them purged, neighbours of every
// state. None of it may need a node that is not there.
TEST(SlowPaths, AsManyFreeRangesAsThereCanBe) {
  EXPECT_EQ(test::run_in_child([] {
              options.arena_bytes = 64 * mib;
              options.decay_ms = 3600000;
              std::vector<void*> blocks;
              while (blocks.size() < 900) blocks.push_back(allocate_aligned(slice_bytes, 1));
              leave_nothing();
              auto free_those = [&blocks](size_t step, size_t first) {
                for (size_t i = first; i < blocks.size(); i += step) {
                  free_block(blocks[i]);
                  blocks[i] = nullptr;
                  test::require(test::space_is_sound(), "space", i);
                }
                test::own_cache();
              };
              free_those(4, 0);
              purge_beyond(0);
              free_those(4, 2);
              purge_beyond(0);
              free_those(4, 1);
              free_those(4, 3);
              expect_all_is_well();
            }),
            "");
}

// First all memory in few blocks, then in many: their descriptors and nodes have to come out of it.
TEST(SlowPaths, ManyBlocksWhereFewWere) {
  EXPECT_EQ(test::run_in_child([] {
              options.arena_bytes = 256 * mib;
              options.retain_bytes = 256 * mib;
              options.decay_ms = 3600000;
              test::HeldBlocks held;
              held.hold(allocate(mib), mib);
              test::refuse_maps();
              while (held.hold(allocate(mib), mib)) {}
              test::require(held.count() > 250, "blocks of a MiB", held.count());
              held.free_every(1);
              std::vector<void*> blocks;
              while (void* block = allocate_aligned(slice_bytes, 1)) blocks.push_back(block);
              test::child_report().measured[0] = blocks.size();
              test::require(blocks.size() > 256 * 16 * 9 / 10, "blocks of a slice in 256 MiB",
                            blocks.size());
              for (void* block : blocks) free_block(block);
              expect_all_is_well();
            }),
            "");
}

}  // namespace
}  // namespace talus::core
