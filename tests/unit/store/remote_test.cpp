// SPDX-License-Identifier: MIT
// tests/unit/store/remote: blocks freed by other threads come home to the heap they are from.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// Takes blocks until neither their list nor their slabs have any.
void take_all(std::vector<void*>& blocks, size_t bytes) {
  ThreadCache& cache = test::own_cache();
  const ClassId id = class_of(bytes);
  const SlabBins& available = cache.heap->available[index_of(id)];
  do {
    blocks.push_back(allocate(bytes));
  } while (list_length(cache, id) != 0 || available.fullest() != nullptr);
}

TEST(Remote, BlocksComeHomeAndAreUsedAgain) {
  constexpr size_t count = 5000;
  std::vector<void*> blocks;
  std::set<void*> ours;
  for (size_t i = 0; i < count; i++) blocks.push_back(allocate(96));
  ours.insert(blocks.begin(), blocks.end());
  const size_t reserved = collect_totals().space.reserved_bytes;
  test::on_threads(1, [&](size_t) {
    for (void* block : blocks) free_block(block);
  });
  // The owner finds them when it next runs out.
  size_t reused = 0;
  for (void*& block : blocks) reused += ours.count(block = allocate(96));
  EXPECT_GT(reused, count * 9 / 10);
  EXPECT_EQ(collect_totals().space.reserved_bytes, reserved);
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Blocks that a refill would take from slabs are not put there first; other classes get a few.
TEST(Remote, ARefillTakesWhatCameHome) {
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  ThreadCache& cache = test::own_cache();
  const ClassId id = class_of(96), other = class_of(112);
  std::vector<void*> blocks;
  for (size_t i = 0; i < list_most_of(other); i++) blocks.push_back(allocate(112));
  while (list_length(cache, other) != 0) blocks.push_back(allocate(112));
  for (size_t i = 0; i < 4 * list_most_of(id); i++) blocks.push_back(allocate(96));
  take_all(blocks, 96);
  const auto capacity = list_capacity(cache, id);
  const size_t wanted = (capacity + 1) / 2;
  const size_t few = list_most_of(other) / list_remote_part;
  ASSERT_GT(wanted, list_most_of(id) / list_remote_part);

  // The freeing thread stays: at its end it would bring them home itself.
  std::atomic<int> stage{0};
  std::thread other_thread{[&] {
    for (void* block : blocks) free_block(block);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  }};
  while (stage != 1) std::this_thread::yield();
  void* block = allocate(96);
  EXPECT_EQ(list_length(cache, id), wanted - 1);
  EXPECT_EQ(list_length(cache, other), few);
  stage = 2;
  other_thread.join();
  free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Mostly in the order in which they lie. The block that was freed last comes last, since it is
// still in the other processor's cache.
TEST(Remote, BlocksOfAMessageComeOutAsTheyWentIn) {
  constexpr size_t count = RemoteMessage::blocks_max, stay = 2, bytes = 32;
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  ThreadCache& cache = test::own_cache();
  const ClassId id = class_of(bytes);
  std::vector<void*> others;  // until the list is long enough for all
  while (list_capacity(cache, id) < 2 * count || list_length(cache, id) != 0) {
    others.push_back(allocate(bytes));
  }
  std::vector<void*> freed;
  for (size_t i = 0; i < count; i++) freed.push_back(allocate(bytes));
  take_all(others, bytes);
  while (cache.heap->available[index_of(id)].fullest() != nullptr || list_length(cache, id) != 0) {
    others.push_back(allocate(bytes));  // as long as slabs have some, what was delivered waits
  }
  for (size_t i = 1; i < count; i += 2) std::swap(freed[i], freed[i / 2]);  // no run of neighbours
  for (size_t i = 0; i < count; i++) test::fill_pattern(freed[i], bytes, i);
  // It frees as many as fill a message, of which the newest stay; at its end it would bring all
  // that was delivered to the slabs.
  std::atomic<int> stage{0};
  std::thread other{[&] {
    for (void* block : freed) free_block(block);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  }};
  while (stage != 1) std::this_thread::yield();
  std::vector<void*> taken;
  for (size_t i = 0; i < count - stay; i++) taken.push_back(allocate(bytes));
  stage = 2;
  other.join();
  EXPECT_EQ(taken, std::vector<void*>(freed.begin(), freed.end() - stay));
  for (size_t i = 0; i < taken.size(); i++) EXPECT_TRUE(test::has_pattern(taken[i], bytes, i)) << i;
  for (void* block : others) free_block(block);
  for (void* block : taken) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What another processor freed a moment ago is dear to fetch: it waits until there is much of it.
TEST(Remote, WhatWasDeliveredWaitsWhileSlabsHaveOthers) {
  constexpr size_t bytes = 32, stay = 2, few = 3 * (RemoteMessage::blocks_max - stay) + stay;
  static_assert(few * bytes < remote_wait_bytes);
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  ThreadCache& cache = test::own_cache();
  Heap& heap = *cache.heap;
  const ClassId id = class_of(bytes);
  std::vector<void*> blocks;
  // The freeing thread stays: at its end it would bring them home itself.
  const auto while_other_freed = [&](size_t count, auto check) {
    std::atomic<int> stage{0};
    std::thread other{[&] {
      for (size_t i = 0; i < count; i++) free_block(blocks[i]);
      stage = 1;
      while (stage != 2) std::this_thread::yield();
    }};
    while (stage != 1) std::this_thread::yield();
    blocks.erase(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(count));
    check();
    stage = 2;
    other.join();
  };

  blocks.push_back(allocate(bytes));
  while (blocks.size() < 2 * remote_wait_bytes / bytes) blocks.push_back(allocate(bytes));
  take_all(blocks, bytes);
  blocks.push_back(allocate(bytes));  // of a new slab, which has more
  while_other_freed(few, [&] {
    EXPECT_EQ(heap.remote_queue.backlog_bytes(), (few - stay) * bytes);
    const size_t slabs_before = heap.slab_count;
    take_all(blocks, bytes);
    EXPECT_EQ(heap.remote_queue.backlog_bytes(), (few - stay) * bytes);
    EXPECT_EQ(heap.slab_count, slabs_before);
    blocks.push_back(allocate(bytes));  // before a new slab is begun nothing waits
    EXPECT_EQ(heap.remote_queue.backlog_bytes(), 0u);
    EXPECT_EQ(heap.slab_count, slabs_before);
  });
  take_all(blocks, bytes);
  blocks.push_back(allocate(bytes));
  while_other_freed(remote_wait_bytes / bytes + RemoteMessage::blocks_max, [&] {
    EXPECT_GE(heap.remote_queue.backlog_bytes(), remote_wait_bytes);
    while (list_length(cache, id) != 0) blocks.push_back(allocate(bytes));
    EXPECT_NE(heap.available[index_of(id)].fullest(), nullptr);
    blocks.push_back(allocate(bytes));
    EXPECT_EQ(heap.remote_queue.backlog_bytes(), 0u);
  });
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A thread that only frees: memory must not pile up on its side (needs N05).
TEST(Remote, PureFreeThreadDoesNotGrowTheHeap) {
  const size_t rounds = test::rounds_of(300) + 20;
  constexpr size_t batch = 1000;
  size_t most_reserved_early = 0;
  std::vector<void*> handed;
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < batch; i++) handed.push_back(allocate(16 + i % 512));
    test::on_threads(1, [&](size_t) {
      for (void* block : handed) free_block(block);
    });
    handed.clear();
    if (round == 10) most_reserved_early = collect_totals().space.given_bytes;
  }
  EXPECT_LE(collect_totals().space.given_bytes, most_reserved_early * 3 / 2);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A thread is at the owner's work and does not get on with it. The freeing thread waits; otherwise
// blocks and the messages that carry them would pile up without bound.
TEST(Remote, WhatWaitsIsBoundedWhileTheOwnersLockIsHeld) {
  constexpr size_t bytes = 512;
  if (!test::has_two_heaps()) GTEST_SKIP() << "the other thread has no heap of its own";
  Heap& heap = *test::own_cache().heap;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 4 * remote_backlog_bytes_most / bytes; i++) {
    blocks.push_back(allocate(bytes));
  }
  std::atomic<size_t> freed{0};
  lock_of(heap).lock();
  std::thread thread{[&] {
    for (void* block : blocks) {
      free_block(block);
      freed++;
    }
  }};
  while (heap.remote_queue.backlog_bytes() < remote_backlog_bytes_most) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const size_t freed_before = freed;
  const size_t backlog = heap.remote_queue.backlog_bytes();
  lock_of(heap).unlock();
  thread.join();
  EXPECT_LT(freed_before, blocks.size());
  EXPECT_LE(backlog, remote_backlog_bytes_most + remote_batch_bytes_max);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Remote, LargeBlocksMayBeFreedAnywhere) {
  void* block = allocate(3 * mib);
  void* kept_there = allocate(100 * kib);
  test::on_threads(1, [&](size_t) {
    free_block(block);
    free_block(kept_there);
  });
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Everybody frees what the neighbour allocated, through a ring of locked queues.
TEST(Remote, RingOfThreads) {
  constexpr size_t thread_count = 4;
  struct Queue {
    Lock lock;
    std::deque<std::pair<void*, uint64_t>> blocks;
  } queues[thread_count];
  Atomic<size_t> spoilt;
  Atomic<size_t> refused;
  const size_t rounds = test::rounds_of(100000);
  test::on_threads(thread_count, [&](size_t self) {
    test::Random random{self};
    for (size_t round = 0; round < rounds; round++) {
      const uint64_t seed = random.next();
      const size_t bytes = 8 + seed % 1000;
      void* block = allocate(bytes);
      if (block == nullptr) refused.fetch_add_relaxed(1);
      test::fill_pattern(block, bytes, seed);
      {
        Queue& next = queues[(self + 1) % thread_count];
        Held held{next.lock};
        next.blocks.emplace_back(block, seed);
      }
      std::pair<void*, uint64_t> taken{nullptr, 0};
      {
        Held held{queues[self].lock};
        if (queues[self].blocks.size() > 50 || round + 50 > rounds) {
          if (!queues[self].blocks.empty()) {
            taken = queues[self].blocks.front();
            queues[self].blocks.pop_front();
          }
        }
      }
      if (taken.first == nullptr) continue;
      if (!test::has_pattern(taken.first, 8 + taken.second % 1000, taken.second)) {
        spoilt.fetch_add_relaxed(1);
      }
      free_block(taken.first);
    }
  });
  for (Queue& queue : queues) {
    for (auto& [block, seed] : queue.blocks) free_block(block);
  }
  EXPECT_EQ(spoilt.load_relaxed(), 0u);
  EXPECT_EQ(refused.load_relaxed(), 0u);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(is_sound_at_rest());
}

// Blocks of many heaps, freed in turn, collect in one batch a heap. With fewer batches each free
// would send a message, of the block before it.
TEST(Remote, BlocksOfEachHeapCollectApart) {
  constexpr size_t heap_count = 20, rounds = 30;
  const Options before = options;
  options.heaps = heap_count;
  std::vector<void*> blocks[heap_count];
  std::atomic<size_t> ready{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> owners;
  for (std::vector<void*>& own : blocks) {
    owners.emplace_back([&] {
      for (size_t i = 0; i < rounds; i++) own.push_back(allocate(64));
      ready++;
      while (!is_over) std::this_thread::yield();
    });
  }
  while (ready != heap_count) std::this_thread::yield();
  ThreadCache& cache = test::own_cache();
  for (size_t i = 0; i < rounds; i++) {
    for (const std::vector<void*>& own : blocks) free_block(own[i]);
  }
  size_t collected = 0;
  for (const RemoteBatch& batch : cache.batches) {
    if (batch.message != nullptr) collected += batch.message->count.load_own();
  }
  EXPECT_GT(collected, (heap_count - 2) * rounds);  // one heap may be this thread's own
  is_over = true;
  for (std::thread& owner : owners) owner.join();
  flush_all(cache);
  options = before;
  EXPECT_EQ(test::live_bytes(), 0u);
}

// The first thing a thread does with the heap is to free or to resize a block of another (N13).
TEST(Remote, FirstCallIsFreeOrRealloc) {
  for (int round = 0; round < 50; round++) {
    void* freed = allocate(64);
    void* resized = allocate(64);
    test::fill_pattern(resized, 64, 9);
    test::on_threads(1, [&](size_t) { free_block(freed); });
    test::on_threads(1, [&](size_t) { resized = reallocate(resized, 5000); });
    EXPECT_TRUE(test::has_kept_pattern(resized, 64, 64, 9));
    free_block(resized);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
