// SPDX-License-Identifier: MIT
// tests/unit/cache/foreign_blocks: blocks of other heaps in the lists of the thread that freed
// them.
#include <gtest/gtest.h>

#include <vector>

#include "neighbour.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t foreign_bytes = 1000;

class ForeignBlocks : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_two_heaps()) GTEST_SKIP() << "all threads have one heap";
    test::own_cache();
  }
  ~ForeignBlocks() override {
    for (void* block : blocks_) free_block(block);
    EXPECT_EQ(test::live_bytes(), 0u);
  }

  void* make(size_t bytes) {
    void* block = allocate(bytes);
    test::fill_pattern(block, bytes, reinterpret_cast<uintptr_t>(block));
    return block;
  }
  // Blocks of this heap that are in no slab, in any thread's hands.
  static size_t taken(size_t bytes) {
    Heap& heap = *test::own_cache().heap;
    Held held{lock_of(heap)};
    drain_remote_queue(heap);
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
    for (void* block : own) free_block(block);
    flush_lists(cache);
    ASSERT_GE(list_of(cache, id).limit - list_bottom(cache, id), 4);
  }

  std::vector<void*> blocks_;  // that are still live
  test::Neighbour neighbour_;
};

TEST_F(ForeignBlocks, AreHandedOutWhereTheyWereFreed) {
  for (const size_t bytes : {size_t{foreign_bytes_min}, foreign_bytes, 3 * foreign_bytes,
                             5 * foreign_bytes, size_t{small_bytes_max}}) {
    void* block = make(bytes);
    void* again = nullptr;
    neighbour_.run([&] {
      make_room(bytes);
      free_block(block);
      again = allocate(bytes);
    });
    EXPECT_EQ(again, block) << bytes;
    EXPECT_TRUE(test::has_pattern(again, bytes, reinterpret_cast<uintptr_t>(block))) << bytes;
    blocks_.push_back(again);
  }
}

// Of two blocks in one cache line, one would be used here and one there.
TEST_F(ForeignBlocks, AreNotTakenInWhereTheyWouldShareALine) {
  const size_t bytes = foreign_bytes_min - 32;
  void* block = make(bytes);
  neighbour_.run([&] {
    make_room(bytes);
    free_block(block);
    EXPECT_EQ(listed(bytes), 0u);
  });
}

TEST_F(ForeignBlocks, AreNotTakenInByAThreadThatOnlyFrees) {
  constexpr size_t count = 100;
  for (size_t i = 0; i < count; i++) blocks_.push_back(make(2 * foreign_bytes));
  neighbour_.run([&] {
    for (void* block : blocks_) free_block(block);
    EXPECT_EQ(listed(2 * foreign_bytes), 0u);
  });
  blocks_.clear();
}

TEST_F(ForeignBlocks, GoHomeWhereTheListIsFull) {
  constexpr size_t count = 300;
  for (size_t i = 0; i < count; i++) blocks_.push_back(make(foreign_bytes));
  neighbour_.run([&] {
    make_room(foreign_bytes);
    for (void* block : blocks_) free_block(block);
    EXPECT_GT(listed(foreign_bytes), 0u);
    EXPECT_LE(listed(foreign_bytes), list_most_of(class_of(foreign_bytes)));
    // Blocks of its own push the foreign blocks out.
    std::vector<void*> own;
    flush_lists(test::own_cache());
    for (size_t i = 0; i < count; i++) own.push_back(allocate(foreign_bytes));
    for (void* block : own) free_block(block);
    for (RemoteBatch& batch : test::own_cache().batches) {
      deliver(test::own_cache(), batch, Newest::go);
    }
  });
  blocks_.clear();
  EXPECT_EQ(taken(foreign_bytes), listed(foreign_bytes));
}

TEST_F(ForeignBlocks, GoHomeWithTheirHost) {
  std::vector<void*> foreign;
  for (size_t i = 0; i < 4; i++) foreign.push_back(make(foreign_bytes));
  const size_t before = taken(foreign_bytes);
  {
    test::Neighbour other;  // of a heap of its own, or of the neighbour's
    other.run([&] {
      make_room(foreign_bytes);
      for (void* block : foreign) free_block(block);
      flush_all(test::own_cache());
    });
  }
  EXPECT_EQ(taken(foreign_bytes), before - foreign.size());
}

// One after the other, between blocks of the host's own.
TEST_F(ForeignBlocks, GoHomeFromAmongOthers) {
  constexpr size_t count = 24;
  std::vector<void*> foreign;
  for (size_t i = 0; i < count; i++) foreign.push_back(make(foreign_bytes_min));
  const size_t before = taken(foreign_bytes_min);
  neighbour_.run([&] {
    ThreadCache& cache = test::own_cache();
    const ClassId id = class_of(foreign_bytes_min);
    std::vector<void*> own;
    const auto has_all_room = [&] {
      return list_of(cache, id).limit == list_bottom(cache, id) + list_most_of(id);
    };
    while (own.size() < count || !has_all_room()) own.push_back(allocate(foreign_bytes_min));
    flush_lists(cache);
    for (size_t i = 0; i < count; i++) {
      free_block(foreign[i]);
      if (i % 3 == 0) {
        free_block(own.back());
        own.pop_back();
      }
    }
    EXPECT_GE(listed(foreign_bytes_min), count);
    flush_lists(cache);
    EXPECT_EQ(listed(foreign_bytes_min), 0u);
    for (void* block : own) free_block(block);
  });
  EXPECT_EQ(taken(foreign_bytes_min), before - count);
}

// All but the uppermost of a list that fast paths use.
TEST_F(ForeignBlocks, AreTakenBackFromAHostThatSleeps) {
  constexpr size_t count = 4;
  for (const size_t bytes : {foreign_bytes, 5 * foreign_bytes}) {
    std::vector<void*> foreign;
    for (size_t i = 0; i < count; i++) foreign.push_back(make(bytes));
    flush_lists(test::own_cache());
    const size_t before = taken(bytes);
    neighbour_.run([&] {
      make_room(bytes);
      for (void* block : foreign) free_block(block);
      EXPECT_EQ(listed(bytes), count);
    });
    purge_beyond(0);
    const uint32_t left = bytes <= fast_bytes_max ? 1 : 0;
    EXPECT_EQ(taken(bytes), before - count + left) << bytes;
  }
}

TEST_F(ForeignBlocks, OfMediumSizesGoToTheirSlabs) {
  void* block = make(40 * kib);
  const size_t before = taken(40 * kib);
  neighbour_.run([&] {
    free_block(allocate(40 * kib));
    free_block(block);
    flush_all(test::own_cache());
  });
  EXPECT_EQ(taken(40 * kib), before - 1);
}

}  // namespace
}  // namespace talus::core
