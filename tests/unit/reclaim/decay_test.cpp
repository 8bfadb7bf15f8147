// SPDX-License-Identifier: MIT
// tests/unit/reclaim/decay: what the helper's passes give back, and what they leave; releases
// that a program asks for; limits. The passes are made by the test: the helper itself is off here.
#include <gtest/gtest.h>

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "inspect/resident.hpp"
#include "reclaim/decay.hpp"
#include "neighbour.hpp"
#include "passes.hpp"
#include "quiet.hpp"
#include "space_counts.hpp"

namespace talus::core {
namespace {

using test::dirty_bytes;
using test::given_bytes;
using test::make_passes;
using test::purged_bytes;

class DecayTest : public test::OwnPasses {};

// Blocks of these bytes, written, so that their pages are there.
std::vector<void*> take(size_t count, size_t bytes) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = allocate(bytes);
    for (size_t at = 0; at < bytes; at += 1024) static_cast<char*>(block)[at] = 1;
  }
  return blocks;
}
void give(const std::vector<void*>& blocks, size_t keep_each = SIZE_MAX) {
  for (size_t i = 0; i < blocks.size(); i++) {
    if (keep_each == SIZE_MAX || i % keep_each != 0) free_block(blocks[i]);
  }
}

TEST_F(DecayTest, UnneededMemoryLeaves) {
  give(take(128, 128 * kib));
  ASSERT_GT(dirty_bytes(), 8 * mib);
  make_passes(14);
  EXPECT_EQ(dirty_bytes(), 0u);
}

TEST_F(DecayTest, WhatIsReusedStays) {
  give(take(64, 128 * kib));
  make_passes(3);
  size_t purged = 0;
  // Where the machine does something else for long, no thread needed the memory for that long.
  // Marks keep that for some turns. How long the passes above took is not known.
  size_t late_turns = LowMark::turns_kept;
  for (int i = 0; i < 30; i++) {
    const uint64_t start_ms = os::System::now_ms();
    const size_t before = purged_bytes();
    give(take(64, 128 * kib));
    make_passes(1);
    if (os::System::now_ms() - start_ms > options.decay_ms / 2) {
      late_turns = LowMark::turns_kept + 1;
    } else if (late_turns == 0) {
      purged += purged_bytes() - before;
      EXPECT_GT(dirty_bytes(), 4 * mib);
    }
    if (late_turns != 0) late_turns--;
  }
  EXPECT_LT(purged, mib);
}

TEST_F(DecayTest, PagesBetweenSurvivorsLeave) {
  const std::vector<void*> blocks = take(100000, 200);
  give(blocks, 1000);
  make_passes(14);
  HeapTotals totals = collect_totals();
  EXPECT_GT(totals.purged_in_slabs, 4 * mib);
  EXPECT_LT(totals.free_in_slabs - totals.purged_in_slabs, mib);
  // What survived is whole, and the holes serve again.
  for (size_t i = 0; i < blocks.size(); i += 1000) ASSERT_EQ(*static_cast<char*>(blocks[i]), 1);
  const size_t given = given_bytes();
  const std::vector<void*> again = take(90000, 200);
  EXPECT_LT(given_bytes() - given, 12 * mib) << "holes are used before new slabs";
  give(again);
  for (size_t i = 0; i < blocks.size(); i += 1000) free_block(blocks[i]);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Free in slabs, with pages, as the heaps count it; and free ranges.
size_t kept_bytes() {
  size_t bytes = dirty_bytes();
  for_each_heap([&](Heap& heap) {
    Held held{lock_of(heap)};
    bytes += free_resident_bytes(heap);
  });
  return bytes;
}

bool has_huge_pages() {
  Held held{space.lock()};
  return space.may_split_huge(held);
}

// Blocks that were small are large more and more, within milliseconds. The bound holds at every
// moment, and with it what the kernel knows, though no thread waits for a pass.
void expect_bound_while_sizes_change(HugePages thp) {
  options.decay_ms = 1000000;
  options.retain_bytes = 8 * mib;
  options.thp = thp;
  {
    Held held{space.lock()};
    for (int i = 0; i < 2; i++) space.purge_surplus(held, LowMark::turns_kept + 1);
  }
  const std::vector<void*> small = take(2 * huge_dense_bytes_min / 256, 256);
  EXPECT_EQ(has_huge_pages(), thp == HugePages::adaptive);
  const size_t before = collect_resident().free_in_slabs;
  std::vector<void*> large;
  constexpr size_t one_in = 128;
  for (size_t i = 0; i < small.size(); i++) {
    if (i % one_in != 0) free_block(small[i]);
    if (i % 4096 != 4095) continue;
    large.push_back(take(1, mib)[0]);
    const size_t most = std::max(options.retain_bytes, given_bytes() / 8) + mib;
    ASSERT_LE(kept_bytes(), most) << "after block " << i;
    if (i % 16384 != 16383 || !kernel_tells_pages()) continue;
    ASSERT_LE(collect_resident().free_in_slabs, before + most);
  }
  EXPECT_FALSE(has_huge_pages()) << "their holes could not leave";
  for (size_t i = 0; i < small.size(); i += one_in) free_block(small[i]);
  give(large);
}

// Filled slowly, so that it had huge pages from 32 MiB on: little lies in them, but all of it is a
// large part of a process of 7 MiB.
TEST_F(DecayTest, HugePagesOfAProcessThatBecameSmallAreGivenUp) {
  std::vector<void*> blocks;
  while (given_bytes() < huge_dense_bytes_min + 6 * mib) {
    EXPECT_TRUE(!has_huge_pages() || given_bytes() >= huge_dense_bytes_min) << "too early";
    const std::vector<void*> more = take(5000, 200);
    blocks.insert(blocks.end(), more.begin(), more.end());
    usleep(fast_growth_ns / 1000 + 1000);
  }
  ASSERT_TRUE(has_huge_pages());
  give(blocks, 1000);
  ASSERT_GT(given_bytes(), huge_proven_bytes_min);
  make_passes(14);
  const HeapTotals totals = collect_totals();
  EXPECT_LT(totals.free_in_slabs - totals.purged_in_slabs, mib);
  for (size_t i = 0; i < blocks.size(); i += 1000) free_block(blocks[i]);
}

TEST_F(DecayTest, TheBoundHoldsWhileSizesChange) {
  expect_bound_while_sizes_change(HugePages::never);
}
TEST_F(DecayTest, TheBoundHoldsInHugePagesToo) {
  expect_bound_while_sizes_change(HugePages::adaptive);
}

// Blocks that come home do not make pages out of the purged ones; blocks that are taken may.
TEST_F(DecayTest, PagesThatWentCountAgainWhenBlocksAreTaken) {
  const size_t before = kept_bytes();
  const std::vector<void*> blocks = take(16 * mib / 256, 256);
  give(blocks, 64);
  purge_beyond(0);
  const size_t holes = kept_bytes() - before;
  EXPECT_LT(holes, 5 * mib);  // a page in four has a survivor
  for (size_t i = 0; i < blocks.size(); i += 128) free_block(blocks[i]);
  EXPECT_LT(kept_bytes() - before, holes + mib);
  const std::vector<void*> again = take(8 * mib / 256, 256);
  EXPECT_LT(kept_bytes() - before, 16 * mib);
  give(again);
  EXPECT_GT(kept_bytes() - before, 7 * mib);
  for (size_t i = 64; i < blocks.size(); i += 128) free_block(blocks[i]);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The owner makes no more calls: no other thread would notice.
TEST_F(DecayTest, WhatOthersFreedIsOfferedByThem) {
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  const std::vector<void*> blocks = take(32 * mib / 256, 256);
  purge_request.is_much.store_relaxed(false);
  test::Neighbour neighbour;
  neighbour.run([&] {
    give(blocks, 64);  // no slab becomes empty
    EXPECT_TRUE(purge_request.is_much.load_relaxed());
    space.ask_to_reclaim();
    for (size_t i = 0; i < blocks.size(); i += 64) free_block(blocks[i]);
    EXPECT_FALSE(space.is_asked_to_reclaim())
        << "the delivering thread looks if there is something to do";
  });
}

// Runs call(), which takes a slow path, after it became known that too much is free.
template <typename Call>
auto after_asking(const char* name, Call call) {
  space.ask_to_reclaim();
  const auto answer = call();
  EXPECT_FALSE(space.is_asked_to_reclaim()) << name;
  return answer;
}

TEST_F(DecayTest, EverySlowPathLooksIfTooMuchIsFree) {
  constexpr size_t large = 3 * mib;
  void* zeroed = after_asking("calloc", [] { return api::calloc(1, large); });
  void* whole = after_asking("calloc_whole", [] { return api::calloc_whole(16, 1, large); });
  void* aligned = after_asking("aligned_alloc", [] { return api::aligned_alloc(4096, large); });
  void* at = after_asking("memalign_at", [] { return api::memalign_at(4096, 16, large); });
  zeroed = after_asking("grows", [=] { return api::realloc(zeroed, 4 * large); });
  zeroed = after_asking("becomes small", [=] { return api::realloc(zeroed, 100); });
  at = after_asking("moves", [=] { return api::aligned_realloc(at, 8192, large); });
  after_asking("shrinks in place", [=] { return api::expand_in_place(whole, large / 2); });
  talus_heap* heap = after_asking("heap_new", [] { return api::heap_new(nullptr); });
  after_asking("heap_malloc", [=] { return api::heap_malloc(heap, 100); });
  api::heap_destroy(heap);
  for (void* block : {zeroed, whole, aligned, at}) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(DecayTest, PressureDoesNotWait) {
  give(take(64, 128 * kib));
  const std::vector<void*> blocks = take(20000, 200);
  give(blocks, 1000);
  decay_pass();  // the first one only begins
  decay_pass(Pressure::high);
  EXPECT_EQ(dirty_bytes(), 0u);
  EXPECT_LT(collect_totals().free_in_slabs - collect_totals().purged_in_slabs, 256 * kib);
  for (size_t i = 0; i < blocks.size(); i += 1000) free_block(blocks[i]);
}

// A thread that sleeps with full lists, and goes on with them after they were emptied.
class Sleeper {
 public:
  Sleeper() : thread_{[this] { run(); }} {
    while (phase_ != 1) usleep(1000);
  }
  ~Sleeper() {
    phase_ = 2;
    thread_.join();
  }

 private:
  void run() {
    for (const size_t bytes : {size_t{64}, size_t{500}, size_t{3000}, size_t{9000}}) {
      give(take(400, bytes));
    }
    give(take(1, 300 * kib));  // a kept large block
    give(take(6, 100 * kib));
    phase_ = 1;
    while (phase_ != 2) usleep(1000);
    for (int i = 0; i < 50; i++) give(take(40, 16 + static_cast<size_t>(i) * 61));
  }
  std::atomic<int> phase_{0};
  std::thread thread_;
};

TEST_F(DecayTest, WhatASleepingThreadHoldsIsTakenBack) {
  {
    const Sleeper sleeper;
    ASSERT_GT(collect_totals().listed, 16 * kib);
    ASSERT_GT(collect_totals().kept_large, 256 * kib);
    make_passes(6);
    EXPECT_EQ(collect_totals().kept_large, 0u);
    // One block of each size up to 4 KiB stays, also for this thread.
    EXPECT_LT(collect_totals().listed, 16 * kib);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(DecayTest, ReleaseReachesSleepingThreads) {
  {
    const Sleeper sleeper;
    ASSERT_GT(collect_totals().listed, 16 * kib);
    purge_beyond(0);
    EXPECT_LT(collect_totals().listed, 8 * kib);
    EXPECT_EQ(collect_totals().kept_large, 0u);
    EXPECT_EQ(dirty_bytes(), 0u);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(DecayTest, ReleaseOfSomeBytesTakesTheCheapestFirst) {
  give(take(64, 128 * kib));
  const size_t dirty = dirty_bytes();
  ASSERT_GT(dirty, 6 * mib);
  const size_t released = purge_bytes(2 * mib);
  EXPECT_GE(released, 2 * mib);
  EXPECT_LE(released, 5 * mib);
  EXPECT_EQ(purge_bytes(0), 0u);
}

TEST_F(DecayTest, SoftLimitGivesBackBeforeItGrows) {
  give(take(64, 128 * kib));
  ASSERT_GT(dirty_bytes(), 6 * mib);
  limits.set({given_bytes() + 10 * mib, 0});
  void* large = allocate(9 * mib);
  ASSERT_NE(large, nullptr);
  EXPECT_LT(dirty_bytes(), 2 * mib);
  free_block(large);
}

int asked_for = 0;
int grants = 0;
int raise_limit(size_t bytes) {
  asked_for++;
  if (grants-- <= 0) return 0;
  limits.set({0, given_bytes() + bytes + mib});
  return 1;
}

TEST_F(DecayTest, HardLimitRefusesAndAsksTheHandler) {
  limits.set({0, given_bytes() + 4 * mib});
  errno = 0;
  EXPECT_EQ(api::malloc(8 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* small = api::malloc(mib);
  EXPECT_NE(small, nullptr) << "below the limit all goes on";
  limits.handler.store_release(&raise_limit);
  grants = 1;
  asked_for = 0;
  void* large = api::malloc(8 * mib);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(asked_for, 1);
  errno = 0;
  EXPECT_EQ(api::calloc(1, 64 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(asked_for, 2);
  EXPECT_EQ(api::realloc(large, 100 * mib), nullptr);
  EXPECT_EQ(asked_for, 3);
  api::free(large);
  api::free(small);
}

// What is free when the limit is met is released before the handler is called.
TEST_F(DecayTest, HardLimitReleasesFirst) {
  {
    const Sleeper sleeper;  // which keeps large blocks
    const size_t kept = collect_totals().kept_large;
    ASSERT_GT(kept, 256 * kib);
    usleep(110000);  // else it was tried a moment ago
    limits.set({0, given_bytes() + 64 * kib});
    void* large = api::malloc(kept);
    EXPECT_NE(large, nullptr);
    api::free(large);
    limits.set({0, 0});
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
