// SPDX-License-Identifier: MIT
// tests/unit/heap/guests: blocks of other heaps in the lists of the thread that freed them.
#include <gtest/gtest.h>

#include <vector>

#include "neighbour.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus {
namespace {

constexpr size_t guest_bytes = 1000;

class Guests : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_two_heaps()) GTEST_SKIP() << "all threads have one heap";
    test::own_cache();
  }
  ~Guests() override {
    for (void* block : blocks_) release(block);
    EXPECT_EQ(test::live_bytes(), 0u);
  }

  void* make(size_t bytes) {
    void* block = allocate(bytes);
    test::fill_pattern(block, bytes, reinterpret_cast<uintptr_t>(block));
    return block;
  }
  // Blocks of this heap that are in no slab, whoever has them.
  static size_t taken(size_t bytes) {
    Heap& heap = *test::own_cache().heap;
    Locked held{lock_of(heap)};
    drain_inbox(heap);
    return heap.taken_blocks[index_of(class_of(bytes))];
  }
  // Of the calling thread.
  static size_t listed(size_t bytes) { return list_length(test::own_cache(), class_of(bytes)); }
  // The calling thread's list has room for some blocks, and none in it.
  static void make_room(size_t bytes) {
    ThreadCache& cache = test::own_cache();
    const ClassId id = class_of(bytes);
    std::vector<void*> own;
    for (int i = 0; i < 4 || list_length(cache, id) != 0; i++) own.push_back(allocate(bytes));
    flush_lists(cache);
    for (void* block : own) release(block);
    flush_lists(cache);
    ASSERT_GE(list_of(cache, id).limit - list_bottom(cache, id), 4);
  }

  std::vector<void*> blocks_;  // that are still live
  test::Neighbour neighbour_;
};

TEST_F(Guests, AreHandedOutWhereTheyWereFreed) {
  for (const size_t bytes : {size_t{guest_bytes_min}, guest_bytes, 3 * guest_bytes, 5 * guest_bytes,
                             size_t{small_bytes_max}}) {
    void* block = make(bytes);
    void* again = nullptr;
    neighbour_.run([&] {
      make_room(bytes);
      release(block);
      again = allocate(bytes);
    });
    EXPECT_EQ(again, block) << bytes;
    EXPECT_TRUE(test::has_pattern(again, bytes, reinterpret_cast<uintptr_t>(block))) << bytes;
    blocks_.push_back(again);
  }
}

// Of two blocks in one cache line, one would be used here and one there.
TEST_F(Guests, AreNotTakenInWhereTheyWouldShareALine) {
  const size_t bytes = guest_bytes_min - 32;
  void* block = make(bytes);
  neighbour_.run([&] {
    make_room(bytes);
    release(block);
    EXPECT_EQ(listed(bytes), 0u);
  });
}

TEST_F(Guests, AreNotTakenInByWhoOnlyFrees) {
  constexpr size_t count = 100;
  for (size_t i = 0; i < count; i++) blocks_.push_back(make(2 * guest_bytes));
  neighbour_.run([&] {
    for (void* block : blocks_) release(block);
    EXPECT_EQ(listed(2 * guest_bytes), 0u);
  });
  blocks_.clear();
}

TEST_F(Guests, GoHomeWhereTheListIsFull) {
  constexpr size_t count = 300;
  for (size_t i = 0; i < count; i++) blocks_.push_back(make(guest_bytes));
  neighbour_.run([&] {
    make_room(guest_bytes);
    for (void* block : blocks_) release(block);
    EXPECT_GT(listed(guest_bytes), 0u);
    EXPECT_LE(listed(guest_bytes), list_most_of(class_of(guest_bytes)));
    // Blocks of its own push the guests out.
    std::vector<void*> own;
    flush_lists(test::own_cache());
    for (size_t i = 0; i < count; i++) own.push_back(allocate(guest_bytes));
    for (void* block : own) release(block);
    for (RemoteBatch& batch : test::own_cache().batches) {
      deliver(test::own_cache(), batch, Newest::go);
    }
  });
  blocks_.clear();
  EXPECT_EQ(taken(guest_bytes), listed(guest_bytes));
}

TEST_F(Guests, GoHomeWithTheirHost) {
  std::vector<void*> guests;
  for (size_t i = 0; i < 4; i++) guests.push_back(make(guest_bytes));
  const size_t before = taken(guest_bytes);
  {
    test::Neighbour other;  // of a heap of its own, or of the neighbour's
    other.run([&] {
      make_room(guest_bytes);
      for (void* block : guests) release(block);
      flush_all(test::own_cache());
    });
  }
  EXPECT_EQ(taken(guest_bytes), before - guests.size());
}

// One after the other, between blocks of the host's own.
TEST_F(Guests, GoHomeFromAmongOthers) {
  constexpr size_t count = 24;
  std::vector<void*> guests;
  for (size_t i = 0; i < count; i++) guests.push_back(make(guest_bytes_min));
  const size_t before = taken(guest_bytes_min);
  neighbour_.run([&] {
    ThreadCache& cache = test::own_cache();
    const ClassId id = class_of(guest_bytes_min);
    std::vector<void*> own;
    const auto has_all_room = [&] {
      return list_of(cache, id).limit == list_bottom(cache, id) + list_most_of(id);
    };
    while (own.size() < count || !has_all_room()) own.push_back(allocate(guest_bytes_min));
    flush_lists(cache);
    for (size_t i = 0; i < count; i++) {
      release(guests[i]);
      if (i % 3 == 0) {
        release(own.back());
        own.pop_back();
      }
    }
    EXPECT_GE(listed(guest_bytes_min), count);
    flush_lists(cache);
    EXPECT_EQ(listed(guest_bytes_min), 0u);
    for (void* block : own) release(block);
  });
  EXPECT_EQ(taken(guest_bytes_min), before - count);
}

// All but the uppermost of a list that fast paths use.
TEST_F(Guests, AreTakenBackFromAHostThatSleeps) {
  constexpr size_t count = 4;
  for (const size_t bytes : {guest_bytes, 5 * guest_bytes}) {
    std::vector<void*> guests;
    for (size_t i = 0; i < count; i++) guests.push_back(make(bytes));
    flush_lists(test::own_cache());
    const size_t before = taken(bytes);
    neighbour_.run([&] {
      make_room(bytes);
      for (void* block : guests) release(block);
      EXPECT_EQ(listed(bytes), count);
    });
    trim_heaps(0);
    const uint32_t left = bytes <= fast_bytes_max ? 1 : 0;
    EXPECT_EQ(taken(bytes), before - count + left) << bytes;
  }
}

TEST_F(Guests, OfMediumSizesGoToTheirSlabs) {
  void* block = make(40 * kib);
  const size_t before = taken(40 * kib);
  neighbour_.run([&] {
    release(allocate(40 * kib));
    release(block);
    flush_all(test::own_cache());
  });
  EXPECT_EQ(taken(40 * kib), before - 1);
}

}  // namespace
}  // namespace talus
