// SPDX-License-Identifier: MIT
// tests/unit/modes/chain: four modes at once, each of which sees each block once: the counts, an
// observer that records all blocks, mapped blocks, and a quarantine of freed ones.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include "api/heaps.hpp"
#include "modes/reported.hpp"
#include "paths/aligned_at.hpp"
#include "paths/batch.hpp"
#include "late.hpp"
#include "mapped_mode.hpp"
#include "test_modes.hpp"

namespace talus::core {
namespace {

using test::is_mapped;
using test::record;

class ChainTest : public testing::Test {
 protected:
  // At most 300 blocks are mapped ones, so both kinds occur.
  static void SetUpTestSuite() {
    if (is_on(test::observer)) return;
    test::own_cache();
    process_starts();
    start_counting();
    ASSERT_TRUE(begin_mode(test::observer));
    mapped::Settings settings;
    settings.quarantine_bytes = 8 * mib;
    settings.mappings = 20000;
    settings.blocks = 300;
    mapped::pool.has_warned = true;  // standard error is the test's
    mapped::begin(settings);
    ASSERT_TRUE(begin_mode(test::quarantine));
  }
  void SetUp() override {
    EXPECT_TRUE(record.live.empty());
    record.begun = record.ended = record.resized = record.refused = record.diverted = 0;
    record.fault.clear();
    before_ = counting::collect();
  }
  // What the observer was told is what was counted.
  void expect_counts() const {
    const counting::Counts after = counting::collect();
    EXPECT_EQ(after.allocation_sum - before_.allocation_sum, record.begun + record.resized);
    EXPECT_EQ(after.frees - before_.frees, record.ended + record.resized);
    int64_t live = 0;
    for (const auto& block : record.live) {
      live += static_cast<int64_t>(facts_of(block.first, "test").usable_bytes);
    }
    EXPECT_EQ(after.live_bytes - before_.live_bytes, live);
  }
  void TearDown() override {
    EXPECT_EQ(record.fault, "");
    expect_counts();
  }
  counting::Counts before_;
};

TEST_F(ChainTest, MappedBlocksAreCountedOnce) {
  void* block = allocate(100);
  ASSERT_TRUE(is_mapped(block));
  const counting::Counts made = counting::collect();
  EXPECT_EQ(made.allocation_sum - before_.allocation_sum, 1u);
  EXPECT_EQ(made.requested_bytes - before_.requested_bytes, 100u);
  EXPECT_EQ(made.live_bytes - before_.live_bytes, 100) << "their sizes are exact";
  EXPECT_TRUE(record.knows(block));
  free_block(block);
  EXPECT_EQ(counting::collect().frees - before_.frees, 1u);
  EXPECT_EQ(counting::collect().live_bytes, before_.live_bytes);
  EXPECT_TRUE(test::is_accessible(block)) << "it waits in the quarantine, before its own";
  EXPECT_EQ(record.diverted, 1u);
}

// A second one would never end: another thread would write to the memory of a thread that is gone.
TEST_F(ChainTest, AThreadHasOneCacheWhateverItsFirstCallIs) {
  const auto caches_in_use = [] {
    Held held{registry.lock};
    return registry.cache_count;
  };
  void* const sized = allocate(100);
  void* const aligned = allocate_aligned(64, 100);
  const size_t before = caches_in_use();
  size_t during = 0;
  test::on_threads(1, [&](size_t) {
    free_block(sized, FreeCall{CallKind::c, 100});
    during = caches_in_use();
  });
  EXPECT_EQ(during, before + 1);
  EXPECT_EQ(caches_in_use(), before);
  test::on_threads(1, [&](size_t) {
    ThreadContext& first = current_context();
    ASSERT_TRUE(is_of_new_thread(first));
    ThreadCache* const cache = cache_behind(first);
    EXPECT_EQ(cache_behind(first), cache) << "of a caller that looked before";
    free_block(aligned);
  });
  EXPECT_EQ(caches_in_use(), before);
}

// Each block is one of these; a resize ends the old one.
TEST_F(ChainTest, EachCallIsSeenOnce) {
  void* block = allocate_zeroed(1000);
  block = reallocate(block, 5000);
  EXPECT_EQ(reallocate(block, ~size_t{0} >> 2), nullptr);
  EXPECT_GE(record.refused, 1u) << "each attempt";
  free_block(block);
  free_block(allocate_aligned(4096, 100));
  free_block(allocate_aligned_at({64, 16}, 100));
  EXPECT_TRUE(expand(block = allocate(100), 100));
  free_block(block);
  void* blocks[40] = {};
  EXPECT_EQ(allocate_batch(64, 40, blocks), 40u);
  free_many(blocks, 40);
  free_block(nullptr);
  EXPECT_EQ(record.begun, 44u);
  EXPECT_EQ(record.ended, 44u);
  EXPECT_EQ(record.resized, 2u);
  EXPECT_EQ(record.diverted, 45u) << "the old block of the resize that moved, too";
}

// An instance may end with all its blocks, so none of them waits in the quarantine.
TEST_F(ChainTest, BlocksOfInstancesAreSeenAndNotDiverted) {
  talus_heap* heap = api::heap_new(nullptr);
  void* small = api::heap_malloc(heap, 100);
  void* large = api::heap_malloc(heap, 300000);
  EXPECT_EQ(record.begun, 2u);
  free_block(small);
  large = reallocate(large, 600000);
  free_block(large);
  api::heap_malloc(heap, 5000);
  api::heap_destroy(heap);
  EXPECT_EQ(record.ended, 3u);
  EXPECT_EQ(record.diverted, 0u);
}

struct Kept {
  void* block = nullptr;
  size_t bytes = 0;
};

void* make_any(test::Random& random, size_t bytes) {
  switch (random.below(4)) {
    case 0: {
      void* block = allocate_zeroed(bytes);
      const auto* at = static_cast<const unsigned char*>(block);
      for (size_t i = 0; i < bytes; i++) EXPECT_EQ(at[i], 0) << "at " << i << " of " << bytes;
      return block;
    }
    case 1: {
      const size_t alignment = size_t{1} << random.below(13);
      void* block = allocate_aligned(alignment, bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      return block;
    }
    default:
      return allocate(bytes);
  }
}
void fill_held(Kept& held) { test::fill_all(held.block, held.bytes, held.bytes); }
void check_held(const Kept& held) {
  EXPECT_GE(usable_size(held.block), held.bytes);
  EXPECT_TRUE(test::has_all(held.block, held.bytes, held.bytes));
}

// Replaces, resizes and frees blocks of its own, and leaves some to other threads.
void churn(test::Random& random, size_t rounds, std::vector<Kept>& shared, std::mutex& lock) {
  Kept own[50];
  for (size_t round = 0; round < rounds; round++) {
    Kept& place = own[random.below(50)];
    const size_t bytes = random.of_any_length(round % 50 == 0 ? 20 : 13);
    if (place.block == nullptr) {
      place = {make_any(random, bytes), bytes};
    } else if (round % 3 == 0) {
      check_held(place);
      void* moved = reallocate(place.block, bytes + 1);
      const size_t kept = bytes < place.bytes ? bytes : place.bytes;
      EXPECT_TRUE(test::has_all(moved, kept, place.bytes));
      place = {moved, bytes + 1};
    } else if (round % 3 == 1) {
      check_held(place);
      free_block(place.block);
      place = {};
      continue;
    } else {
      const std::lock_guard<std::mutex> held{lock};
      std::swap(place, shared[random.below(shared.size())]);
      if (place.block != nullptr) check_held(place);
      continue;
    }
    fill_held(place);
  }
  for (Kept& place : own) free_block(place.block);
}

TEST_F(ChainTest, ThreadsMakeResizeAndFreeEachOthersBlocks) {
  const uint64_t seed = test::seed_of("Chain");
  end_modes(test::own_cache());  // this thread's quarantine
  const size_t mapped_before = special_pool.live_count;
  std::vector<Kept> shared(100);
  std::mutex lock;
  test::on_threads(4, [&](size_t self) {
    test::Random random{seed + self};
    churn(random, test::rounds_of(4000), shared, lock);
  });
  EXPECT_GT(record.begun, 0u);
  EXPECT_GT(record.diverted, 0u);
  expect_counts();
  for (Kept& held : shared) {
    if (held.block != nullptr) check_held(held);
    free_block(held.block);
  }
  EXPECT_EQ(record.begun, record.ended);
  end_modes(test::own_cache());
  EXPECT_TRUE(record.waiting.empty()) << "threads that ended left blocks in the quarantine";
  EXPECT_EQ(special_pool.live_count, mapped_before);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST_F(ChainTest, LateDestructorsAreSeen) {
  void* block = allocate(1000);
  test::LateInAThread late{[&block] {
    block = reallocate(block, 3000);
    free_block(allocate(100));
  }};
  EXPECT_TRUE(is_mapped(block));
  free_block(block);
  EXPECT_EQ(record.begun, 3u) << "with the thread's first block";
  EXPECT_EQ(record.ended, 3u);
  EXPECT_EQ(record.resized, 1u);
}

TEST_F(ChainTest, CrossesAFork) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 400; i++) blocks.push_back(allocate(i));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    for (void* block : blocks) free_block(block);
    void* block = reallocate(allocate(10), 100000);
    free_block(block);
    end_modes(test::own_cache());
    const bool is_right = record.live.empty() && record.waiting.empty() && record.fault.empty();
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (void* block : blocks) free_block(block);
}

// The thread that reported a fault has one mode alone, whatever it was in before. Its blocks are of
// another kind, nothing that it frees goes anywhere, and the observers are not told.
TEST_F(ChainTest, AReportingThreadDivertsEachFree) {
  talus_heap* heap = api::heap_new(nullptr);
  void* const mapped_block = allocate(100);
  void* const inside = api::heap_malloc(heap, 100);
  ASSERT_TRUE(is_mapped(mapped_block));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const uint64_t begun = record.begun;
    space.lock().lock();  // as at the fault; what waits for it hangs
    reported::begin();
    for (void* block : {mapped_block, inside}) {
      free_block(block);
      memset(block, 1, 100);
    }
    void* block = allocate(1000);
    if (block == nullptr) _exit(1);
    if (may_be_led(current_context())) _exit(4);
    memset(block, 1, 1000);
    block = reallocate(block, 5000);
    if (block == nullptr) _exit(2);
    free_block(block);
    memset(block, 1, 5000);
    _exit(record.begun == begun && record.knows(mapped_block) ? 0 : 3);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  free_block(mapped_block);
  api::heap_destroy(heap);
}

}  // namespace
}  // namespace talus::core
