// SPDX-License-Identifier: MIT
// tests/unit/heap/adoption: what a thread leaves behind, and which thread gets it.
#include <gtest/gtest.h>

#include <pthread.h>

#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

TEST(Adoption, HeapsAndCachesAreReusedByLaterThreads) {
  test::own_cache();
  auto work = [](size_t) {
    std::vector<void*> blocks;
    for (int i = 0; i < 100; i++) blocks.push_back(allocate(200));
    for (void* block : blocks) free_block(block);
  };
  test::on_threads(1, work);
  const HeapTotals before = collect_totals();
  for (int round = 0; round < 200; round++) test::on_threads(1, work);
  const HeapTotals after = collect_totals();
  EXPECT_EQ(after.heap_count, before.heap_count);
  EXPECT_EQ(after.abandoned_count, before.abandoned_count);
  EXPECT_EQ(after.cache_count, before.cache_count);
  EXPECT_EQ(after.metadata, before.metadata) << "thread churn must not cost metadata";
}

TEST(Adoption, BlocksOutliveTheirThread) {
  constexpr size_t count = 2000;
  std::vector<void*> blocks(count);
  test::on_threads(1, [&](size_t) {
    for (size_t i = 0; i < count; i++) {
      blocks[i] = allocate(i);
      test::fill_pattern(blocks[i], i, i);
    }
  });
  const HeapTotals totals = collect_totals();
  EXPECT_GE(totals.live(), count * (count - 1) / 2);
  for (size_t i = 0; i < count; i++) {
    ASSERT_TRUE(test::has_pattern(blocks[i], i, i));
    free_block(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(collect_totals().slab_count, 0u) << "a abandoned heap's slabs went back, too";
}

TEST(Adoption, EndingThreadLeavesNothingInItsLists) {
  constexpr size_t thread_count = 3;
  test::own_cache();
  Atomic<size_t> arrived;  // all live at one time, so that each has a cache of its own
  test::on_threads(thread_count, [&arrived](size_t) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 3000; i++) blocks.push_back(allocate(i * 10));
    arrived.fetch_add_relaxed(1);
    while (arrived.load_relaxed() < thread_count) os::System::sleep_us(50);
    for (void* block : blocks) free_block(block);
  });
  Heap& own = *test::own_cache().heap;
  for_each_heap([&own](Heap& heap) noexcept {
    if (&heap == &own) return;
    EXPECT_TRUE(heap.is_abandoned());
    EXPECT_EQ(heap.slab_count, 0u);
  });
  size_t looked_at = 0;
  Held held{registry.lock};
  for (ThreadCache* cache = registry.unused; cache != nullptr; cache = cache->next, looked_at++) {
    for (size_t index = 0; index < fixed_class_count; index++) {
      EXPECT_EQ(list_length(*cache, ClassId{static_cast<uint8_t>(index)}), 0u);
    }
    EXPECT_EQ(cache->kept.bytes.load_relaxed(), 0u);
    for (RemoteBatch& batch : cache->batches) {
      if (batch.message == nullptr) continue;
      EXPECT_EQ(batch.message->count.load_relaxed(), 0u);
    }
  }
  EXPECT_GE(looked_at, thread_count);
}

// What a abandoned heap holds in partly used slabs serves the threads that are left.
TEST(Adoption, SlabsOfAbandonedHeapsAreUsedBeforeNewOnes) {
  constexpr size_t thread_count = 4, each = 600, bytes = 640;
  std::vector<void*> left_behind[thread_count];
  Atomic<size_t> ready_count;
  test::on_threads(thread_count, [&](size_t self) {
    ready_count.fetch_add_relaxed(1);
    while (ready_count.load_relaxed() < thread_count) arch::pause();  // at once: a heap for each
    std::vector<void*> blocks;
    for (size_t i = 0; i < each; i++) blocks.push_back(allocate(bytes));
    for (size_t i = 0; i < each; i++) {
      if (i % 8 == 0) {
        left_behind[self].push_back(blocks[i]);
      } else {
        free_block(blocks[i]);
      }
    }
  });
  const size_t slabs_before = collect_totals().slab_count;
  std::vector<void*> ours;
  for (size_t i = 0; i < each; i++) {
    ours.push_back(allocate(bytes));
    test::fill_pattern(ours.back(), bytes, i);
  }
  // Seven of eight blocks are free in slabs of heaps that no thread uses.
  EXPECT_LE(collect_totals().slab_count, slabs_before + 1);
  for (size_t i = 0; i < ours.size(); i++) {
    ASSERT_TRUE(test::has_pattern(ours[i], bytes, i));
    free_block(ours[i]);
  }
  for (auto& blocks : left_behind) {
    for (void* block : blocks) free_block(block);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(collect_totals().slab_count, 0u);
}

TEST(Adoption, ManyThreadsAtOnce) {
  const size_t rounds = test::rounds_of(20) + 1;
  for (size_t round = 0; round < rounds; round++) {
    test::on_threads(32, [](size_t self) {
      std::vector<void*> blocks;
      for (size_t i = 0; i < 200; i++) blocks.push_back(allocate(self * 50 + i));
      for (void* block : blocks) free_block(block);
    });
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_LE(collect_totals().heap_count, os::System::cpu_count());
}

// A destructor that runs after the cache's own: the thread works on slabs then.
struct Late {
  pthread_key_t key = 0;
  int rounds_left = 3;
  Atomic<size_t> done;
};
Late late;

void late_destructor(void* value) {
  auto* block = static_cast<unsigned char*>(value);
  EXPECT_TRUE(test::has_pattern(block, 500, 11));
  free_block(block);
  void* large = allocate(100 * kib);
  free_block(large);
  void* grown = reallocate(allocate(40), 4000);
  free_block(grown);
  late.done.fetch_add_relaxed(1);
  if (late.rounds_left-- <= 0) return;
  void* next = allocate(500);  // armed again: the destructor runs in the next round
  test::fill_pattern(next, 500, 11);
  pthread_setspecific(late.key, next);
}

TEST(Adoption, DestructorsMayAllocateAfterTheCacheIsGone) {
  ASSERT_EQ(pthread_key_create(&late.key, late_destructor), 0);
  for (int round = 0; round < 20; round++) {
    late.rounds_left = 2;
    late.done.store_relaxed(0);
    test::on_threads(1, [](size_t) {
      void* block = allocate(500);
      test::fill_pattern(block, 500, 11);
      pthread_setspecific(late.key, block);
    });
    EXPECT_EQ(late.done.load_relaxed(), 3u);
  }
  pthread_key_delete(late.key);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
