// SPDX-License-Identifier: MIT
// tests/unit/instances/instance: heaps of one's own: blocks in and out, by any thread, within a
// limit.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/heaps.hpp"
#include "effort.hpp"
#include "reclaim/purge_holes.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t sizes[] = {0, 1, 16, 64, 100, 1000, 5000, 20000, 32768, 32769, 100000, 3 * mib};

talus_heap* make_heap_of(const char* name = nullptr, size_t limit_bytes = 0) {
  const talus_heap_options options = {name, limit_bytes, 0, nullptr, 0, TALUS_MODE_PROCESS};
  return api::heap_new(&options);
}

TEST(Instance, GivesBlocksOfEverySizeThatAreItsOwn) {
  talus_heap* heap = api::heap_new(nullptr);
  talus_heap* other = make_heap_of("other");
  ASSERT_NE(heap, nullptr);
  ASSERT_NE(heap, other);
  for (const size_t bytes : sizes) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 50; i++) {
      void* block = api::heap_malloc(i % 2 == 0 ? heap : other, bytes);
      ASSERT_NE(block, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % block_alignment, 0u);
      ASSERT_GE(usable_size(block), bytes);
      test::fill_pattern(block, bytes, i);
      blocks.push_back(block);
    }
    EXPECT_EQ((std::set<void*>{blocks.begin(), blocks.end()}).size(), blocks.size());
    for (size_t i = 0; i < blocks.size(); i++) {
      talus_heap* own = i % 2 == 0 ? heap : other;
      EXPECT_TRUE(test::has_pattern(blocks[i], bytes, i));
      EXPECT_EQ(api::heap_of(blocks[i]), own);
      EXPECT_TRUE(api::heap_contains(own, blocks[i]));
      EXPECT_FALSE(api::heap_contains(i % 2 == 0 ? other : heap, blocks[i]));
      EXPECT_FALSE(api::heap_contains(own, static_cast<char*>(blocks[i]) + 1));
      i % 3 == 0 ? api::free(blocks[i]) : api::heap_free(own, blocks[i]);
      EXPECT_FALSE(api::heap_contains(own, blocks[i]));
    }
    EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
    EXPECT_EQ(api::heap_stats(other).live_bytes, 0u);
  }
  EXPECT_STREQ(api::heap_name(heap), "");
  EXPECT_STREQ(api::heap_name(other), "other");
  api::heap_destroy(heap);
  api::heap_destroy(other);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Instance, OptionsAreCheckedAndNamesCut) {
  const talus_heap_options unknown = {nullptr, 0, 4, nullptr, 0, TALUS_MODE_PROCESS};
  errno = 0;
  EXPECT_EQ(api::heap_new(&unknown), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const std::string name(100, 'n');
  talus_heap* heap = make_heap_of(name.c_str());
  EXPECT_EQ(api::heap_name(heap), name.substr(0, 31));
  api::heap_destroy(heap);
}

// Null names the heap of all wherever that makes sense.
TEST(Instance, NullIsTheHeapOfAll) {
  void* block = api::heap_malloc(nullptr, 100);
  EXPECT_EQ(api::heap_of(block), nullptr);
  block = api::heap_realloc(nullptr, block, 5000);
  api::heap_free(nullptr, block);
  api::free(api::heap_calloc(nullptr, 3, 5));
  api::free(api::heap_aligned_alloc(nullptr, 256, 5));
  api::heap_free(nullptr, nullptr);
  api::heap_destroy(nullptr);
  EXPECT_EQ(api::heap_delete(nullptr), 0);
  int local = 0;
  EXPECT_EQ(api::heap_of(&local), nullptr);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Instance, ZeroesUpToTheUsableSize) {
  talus_heap* heap = make_heap_of();
  for (int round = 0; round < 2; round++) {
    for (const size_t bytes : sizes) {
      auto* block = static_cast<char*>(api::heap_calloc(heap, bytes, 1));
      ASSERT_NE(block, nullptr);
      const size_t usable = usable_size(block);
      for (size_t i = 0; i < usable; i++) ASSERT_EQ(block[i], 0) << bytes << " " << i;
      memset(block, 0xff, usable);
      api::heap_free(heap, block);
    }
  }
  errno = 0;
  EXPECT_EQ(api::heap_calloc(heap, SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(api::heap_malloc(heap, SIZE_MAX - 5), nullptr);
  EXPECT_EQ(api::heap_calloc(heap, 1, SIZE_MAX - 5), nullptr);
  api::heap_destroy(heap);
}

TEST(Instance, AlignsBlocks) {
  talus_heap* heap = make_heap_of();
  for (size_t alignment = 1; alignment <= 4 * mib; alignment *= 2) {
    for (const size_t bytes : {size_t{0}, size_t{24}, size_t{3000}, size_t{70000}}) {
      void* block = api::heap_aligned_alloc(heap, alignment, bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      ASSERT_EQ(api::heap_of(block), heap);
      test::fill_pattern(block, bytes, alignment);
    }
  }
  errno = 0;
  EXPECT_EQ(api::heap_aligned_alloc(heap, 48, 10), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(api::heap_aligned_alloc(heap, size_t{1} << 63, 10), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// By any of the calls, small to large and back: the block stays where it belongs.
TEST(Instance, ResizedBlocksStay) {
  talus_heap* heap = make_heap_of();
  void* block = api::heap_realloc(heap, nullptr, 10);
  size_t held = 10;
  test::fill_pattern(block, held, 7);
  test::Random random{test::seed_of("Instance.ResizedBlocksStay")};
  for (size_t round = 0; round < test::rounds_of(3000) + 50; round++) {
    const size_t bytes = 1 + random.of_any_length(22);
    void* moved =
        round % 2 == 0 ? api::realloc(block, bytes) : api::heap_realloc(heap, block, bytes);
    ASSERT_NE(moved, nullptr);
    ASSERT_EQ(api::heap_of(moved), heap);
    ASSERT_TRUE(bytes < held || test::has_pattern(moved, held, 7)) << held << " " << bytes;
    ASSERT_EQ(api::heap_stats(heap).live_blocks, 1u);
    ASSERT_EQ(api::heap_stats(heap).live_bytes, usable_size(moved));
    held = bytes;
    test::fill_pattern(moved, held, 7);
    block = moved;
  }
  block = api::realloc_no_preserve(block, 300);
  EXPECT_EQ(api::heap_of(block), heap);
  block = api::aligned_realloc(block, 4096, 9000);
  EXPECT_EQ(api::heap_of(block), heap);
  block = api::recallocarray(block, 100, 500, 90);
  EXPECT_EQ(api::heap_of(block), heap);
  block = api::rezalloc(block, 100000);
  EXPECT_EQ(api::heap_of(block), heap);
  EXPECT_EQ(api::heap_realloc(heap, block, 0), nullptr);
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Instance, TheLimitHolds) {
  constexpr size_t limit = mib;
  talus_heap* heap = make_heap_of("limited", limit);
  EXPECT_EQ(api::heap_stats(heap).limit_bytes, limit);
  std::vector<void*> blocks;
  errno = 0;
  while (void* block = api::heap_malloc(heap, 1000)) blocks.push_back(block);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(blocks.size() * 1000, limit / 4 * 3);
  EXPECT_LE(blocks.size() * 1000, limit);
  EXPECT_EQ(api::heap_malloc(heap, 100000), nullptr);
  for (void* block : blocks) api::free(block);
  // What is free in one class makes room for others.
  void* large = api::heap_malloc(heap, limit / 2);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(api::heap_realloc(heap, large, limit + 1), nullptr);
  EXPECT_TRUE(api::heap_contains(heap, large));
  large = api::heap_realloc(heap, large, limit);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(api::expand_in_place(large, limit + 5000), nullptr);
  EXPECT_EQ(api::heap_malloc(heap, 1), nullptr);
  EXPECT_EQ(api::heap_stats(heap).peak_bytes, limit);
  api::heap_clear(heap);
  EXPECT_NE(api::heap_malloc(heap, 1), nullptr);
  api::heap_destroy(heap);
}

// There is no room for both, so the block stays, as small as it can be.
TEST(Instance, ShrinksAtItsLimit) {
  constexpr size_t limit = mib;
  talus_heap* heap = make_heap_of("limited", limit);
  void* large = api::heap_malloc(heap, limit);
  test::fill_pattern(large, 100, 5);
  EXPECT_EQ(api::heap_realloc(heap, large, 100), large);
  EXPECT_TRUE(test::has_pattern(large, 100, 5));
  EXPECT_EQ(usable_size(large), usable_bytes_of_large(small_bytes_max + 1));
  api::heap_free(heap, large);
  void* aligned = api::heap_aligned_alloc(heap, slice_bytes, 5000);
  void* all = api::heap_malloc(heap, limit - usable_size(aligned));
  EXPECT_EQ(api::heap_realloc(heap, aligned, 50), aligned);
  api::heap_free(heap, all);
  api::heap_free(heap, aligned);
  void* kept = api::heap_malloc(heap, limit / 16 * 14);
  void* small = api::heap_malloc(heap, 30000);
  test::fill_pattern(small, 100, 6);
  ASSERT_EQ(api::heap_malloc(heap, 100), nullptr);
  EXPECT_EQ(api::heap_realloc(heap, small, 100), small);
  EXPECT_EQ(api::aligned_realloc(small, 64, 50), small);
  EXPECT_EQ(api::rezalloc(small, 60), small);
  EXPECT_TRUE(test::has_pattern(small, 50, 6));
  EXPECT_EQ(api::heap_realloc(heap, small, 40000), nullptr);
  api::heap_free(heap, kept);
  EXPECT_NE(api::heap_realloc(heap, small, 100), small);
  api::heap_destroy(heap);
}

// Slabs whose pages are on their way to the kernel are in no list, and still have room.
TEST(Instance, WaitsForItsSlabsAtItsLimit) {
  constexpr size_t limit = 256 * kib;
  talus_heap* heap = make_heap_of("limited", limit);
  std::vector<void*> blocks;
  while (void* block = api::heap_malloc(heap, 4000)) blocks.push_back(block);
  Heap& inside = *instance_slot(id_in_handle(api::handle_in(heap))).heap;
  for (const bool is_large : {false, true}) {
    // One slab has no live block but what is ready, others some.
    const size_t step = is_large ? 1 : 2;
    for (size_t i = 0; i < blocks.size(); i += step) {
      api::heap_free(heap, blocks[i]);
      blocks[i] = nullptr;
      if (is_large && i == 0) blocks[i] = api::heap_malloc(heap, 4000);
    }
    HoleBatch batch;
    std::thread other;
    void* block = nullptr;
    {
      Held decaying{registry.decaying};
      {
        Held held{lock_of(inside)};
        size_t looks = 0;
        for (size_t i = 0; i < class_count * SlabBins::count; i++) {
          collect_slabs(inside, nth_bin(inside, i), SlabAge::any, batch, looks);
        }
      }
      ASSERT_GT(batch.count, 0u);
      if (is_large) api::heap_free(heap, blocks[0]);  // the slab is empty now, and stays so long
      other = std::thread{[&] { block = api::heap_malloc(heap, is_large ? limit : 4000); }};
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      Held held{lock_of(inside)};
      slabs_purging_to_partly_purged(inside, batch);
    }
    other.join();
    EXPECT_NE(block, nullptr) << is_large;
    if (is_large) break;
    blocks.push_back(block);
  }
  api::heap_destroy(heap);
  EXPECT_TRUE(test::space_is_sound());
}

// The limit of one heap is nothing that the process's handler could mend.
TEST(Instance, TheLimitCallsNoHandler) {
  static Atomic<int> asked;
  limits.handler.store_release([](size_t) -> int {
    asked.store_relaxed(1);
    return 0;
  });
  talus_heap* heap = make_heap_of(nullptr, 200000);
  EXPECT_EQ(api::heap_malloc(heap, 300000), nullptr);
  void* block = api::heap_malloc(heap, 100);
  EXPECT_EQ(api::realloc(block, 300000), nullptr);
  EXPECT_EQ(asked.load_relaxed(), 0);
  limits.handler.store_release(nullptr);
  api::heap_destroy(heap);
}

TEST(Instance, ClearTakesAllBlocksAndKeepsTheHeap) {
  talus_heap* heap = make_heap_of("cleared");
  for (int round = 0; round < 3; round++) {
    for (const size_t bytes : sizes) {
      for (int i = 0; i < 40; i++) memset(api::heap_malloc(heap, bytes), 1, bytes);
    }
    EXPECT_EQ(api::heap_stats(heap).live_blocks, 40 * std::size(sizes));
    api::heap_clear(heap);
    const talus_heap_numbers numbers = api::heap_stats(heap);
    EXPECT_EQ(numbers.live_blocks + numbers.live_bytes + numbers.slab_bytes + numbers.slabs, 0u);
    EXPECT_EQ(numbers.large_blocks + numbers.large_bytes, 0u);
    EXPECT_EQ(test::live_bytes(), 0u);
  }
  EXPECT_STREQ(api::heap_name(heap), "cleared");
  api::heap_destroy(heap);
  EXPECT_TRUE(test::space_is_sound());
}

// Blocks live on, are told to be the heap's of all, and go the usual ways.
TEST(Instance, DeleteMovesLiveBlocks) {
  talus_heap* heap = make_heap_of();
  std::vector<std::pair<void*, size_t>> blocks;
  for (const size_t bytes : sizes) {
    for (size_t i = 0; i < 300; i++) {
      if (bytes > mib && i > 5) break;
      void* block = api::heap_malloc(heap, bytes);
      test::fill_pattern(block, bytes, i);
      if (i % 3 != 1) {
        blocks.emplace_back(block, bytes);
      } else {
        api::free(block);
      }
    }
  }
  // Some of its slabs are partly_purged by now, others full.
  purge_beyond(0);
  ASSERT_EQ(api::heap_stats(heap).live_blocks, blocks.size());
  const size_t live_before = test::live_bytes();
  EXPECT_EQ(api::heap_delete(heap), 0);
  EXPECT_EQ(test::live_bytes(), live_before);
  EXPECT_EQ(collect_totals().instance_count, 0u);
  for (size_t i = 0; i < blocks.size(); i++) EXPECT_EQ(api::heap_of(blocks[i].first), nullptr);
  blocks[0].first = api::realloc(blocks[0].first, 60000);
  for (size_t i = 0; i < blocks.size(); i += 2) api::free(blocks[i].first);
  test::on_threads(1, [&](size_t) {
    for (size_t i = 1; i < blocks.size(); i += 2) api::free(blocks[i].first);
  });
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Instance, OtherThreadsFree) {
  talus_heap* heap = make_heap_of();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 6000; i++) {
    blocks.push_back(api::heap_malloc(heap, i % 50 == 0 ? 40000 : i));
  }
  test::on_threads(3, [&](size_t self) {
    for (size_t i = self; i < blocks.size(); i += 3) {
      if (self == 2) set_context(ended_context);  // as a thread whose end has been
      self == 0 ? api::heap_free(heap, blocks[i]) : api::free(blocks[i]);
    }
  });
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  EXPECT_EQ(test::live_bytes(), 0u);
  api::heap_destroy(heap);
}

TEST(Instance, BatchesFreeItsBlocks) {
  talus_heap* heap = make_heap_of();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 1000; i++) {
    blocks.push_back(i % 2 == 0 ? api::heap_malloc(heap, 200) : api::malloc(200));
  }
  api::free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(api::heap_stats(heap).live_blocks, 0u);
  api::heap_destroy(heap);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
