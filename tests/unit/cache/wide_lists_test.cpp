// SPDX-License-Identifier: MIT
// tests/unit/cache/wide_lists: lists that run empty and full in turn get more room, within what a
// thread may have, and lose it again.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// A program that frees blocks of one class until their list was full, and takes blocks until it
// was empty, in turn.
class Tide {
 public:
  explicit Tide(size_t bytes) : bytes_{bytes}, id_{class_of(bytes)} { take_many(); }
  ~Tide() {
    for (void* block : blocks_) free_block(block);
  }

  // Frees blocks until the list was full.
  void fill() {
    ThreadCache& cache = *cache_behind(current_context());
    size_t before;
    do {
      before = list_length(cache, id_);
      free_block(blocks_.back());
      blocks_.pop_back();
    } while (list_length(cache, id_) > before);
  }
  void turn(int times) {
    ThreadCache& cache = *cache_behind(current_context());
    for (; times > 0; times--) {
      fill();
      while (list_length(cache, id_) > 0) blocks_.push_back(allocate(bytes_));
      blocks_.push_back(allocate(bytes_));
      take_many();
    }
  }
  ClassId id() const { return id_; }

 private:
  // More than the list may ever hold.
  void take_many() {
    while (blocks_.size() < 3 * list_wide_of(id_)) blocks_.push_back(allocate(bytes_));
  }

  const size_t bytes_;
  const ClassId id_;
  std::vector<void*> blocks_;
};

class WideLists : public testing::Test {
 protected:
  WideLists() {
    test::use_fixed_classes_only();
    flush_all(cache);
  }
  ~WideLists() override {
    flush_all(cache);
    EXPECT_EQ(test::live_bytes(), 0u);
    EXPECT_EQ(cache.wide.bytes, 0u);
  }

  ThreadCache& cache = test::own_cache();
};

TEST_F(WideLists, RunEmptyAndFullInTurn) {
  for (const size_t bytes : {16, 32, 64, 1024, 4096, 8192}) {
    Tide tide{bytes};
    const size_t usual = list_most_of(tide.id()), wide = list_wide_of(tide.id());
    EXPECT_EQ(wide, wide_list_factor * usual) << bytes;
    EXPECT_EQ(list_capacity(cache, tide.id()), usual) << bytes;
    for (int times = 0; times < 4; times++) {
      const size_t before = list_capacity(cache, tide.id());
      tide.turn(1);
      EXPECT_LE(list_capacity(cache, tide.id()), 2 * before) << bytes;
    }
    EXPECT_EQ(list_capacity(cache, tide.id()), wide) << bytes;
  }
}

TEST_F(WideLists, HoldEachBlockOnceWithItsContents) {
  constexpr size_t bytes = 200;
  const ClassId id = class_of(bytes);
  const size_t count = 2 * list_most_of(id);
  for (int times = 0; times < 12; times++) {
    std::set<void*> distinct;
    std::vector<void*> blocks;
    for (size_t i = 0; i < count; i++) {
      blocks.push_back(allocate(bytes));
      ASSERT_TRUE(distinct.insert(blocks.back()).second);
      test::fill_pattern(blocks.back(), bytes, i);
    }
    for (size_t i = 0; i < blocks.size(); i++) {
      ASSERT_TRUE(test::has_pattern(blocks[i], bytes, i));
      free_block(blocks[i]);
    }
  }
  EXPECT_TRUE(is_wide(cache, id));
  const size_t listed = list_length(cache, id);
  EXPECT_GT(listed, list_most_of(id));
  EXPECT_EQ(collect_totals().classes[index_of(id)].listed, listed);
}

TEST_F(WideLists, AreNoneThatOnlyRunEmptyOrOnlyAreFull) {
  Tide tide{112};
  std::vector<void*> blocks;
  for (size_t i = 0; i < 20 * list_most_of(tide.id()); i++) blocks.push_back(allocate(112));
  for (void* block : blocks) {
    free_block(block);
    ASSERT_LE(list_length(cache, tide.id()), list_most_of(tide.id()));
  }
  EXPECT_FALSE(is_wide(cache, tide.id()));
}

TEST_F(WideLists, BecomeNarrowWhereTheyAreFullTwice) {
  Tide tide{256};
  tide.turn(6);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 4 * list_wide_of(tide.id()); i++) blocks.push_back(allocate(256));
  const size_t wide_bytes = cache.wide.bytes;
  EXPECT_EQ(wide_bytes, (list_wide_of(tide.id()) - list_most_of(tide.id())) * 256);
  for (void* block : blocks) free_block(block);
  EXPECT_EQ(list_capacity(cache, tide.id()), list_most_of(tide.id()));
  EXPECT_LE(list_length(cache, tide.id()), list_most_of(tide.id()));
  EXPECT_EQ(cache.wide.bytes, 0u);
  // What it may have it gets again.
  tide.turn(6);
  EXPECT_EQ(cache.wide.bytes, wide_bytes);
}

// All classes in turn would have several times what a thread may have.
TEST_F(WideLists, AreBoundedTogether) {
  size_t requested = 0;
  for (size_t index = 0; index < small_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    requested += (list_wide_of(id) - list_most_of(id)) * size_class_row(id).block_bytes;
  }
  ASSERT_GT(requested, wide_bytes_most());
  for (int round = 0; round < 3; round++) {
    for (size_t index = 0; index < small_class_count; index++) {
      Tide{size_class_table.rows[index].block_bytes}.turn(6);
      size_t beyond = 0;
      for (size_t other = 0; other < small_class_count; other++) {
        const ClassId id{static_cast<uint8_t>(other)};
        const size_t capacity = list_capacity(cache, id), usual = list_most_of(id);
        if (capacity > usual) beyond += (capacity - usual) * size_class_row(id).block_bytes;
        ASSERT_LE(list_length(cache, id), capacity);
      }
      ASSERT_EQ(cache.wide.bytes, beyond);
      ASSERT_LE(beyond, wide_bytes_most());
    }
  }
}

// What a program did once takes no room for ever from what it does now.
TEST_F(WideLists, ThatDoNotTurnAnyMoreYieldToOthers) {
  const auto last = ClassId{static_cast<uint8_t>(small_class_count - 1)};
  {
    std::vector<std::unique_ptr<Tide>> early;  // they end together, and are full twice then
    for (size_t index = 0; index + 1 < small_class_count; index++) {
      early.push_back(std::make_unique<Tide>(size_class_table.rows[index].block_bytes));
      early.back()->turn(6);
    }
    const size_t late_bytes = size_class_row(last).block_bytes;
    const size_t late_beyond = (list_wide_of(last) - list_most_of(last)) * late_bytes;
    ASSERT_GT(cache.wide.bytes + late_beyond, wide_bytes_most()) << "there is room already";
    Tide late{late_bytes};
    late.turn(static_cast<int>(3 * class_count));
    EXPECT_EQ(list_capacity(cache, last), list_wide_of(last));
    // Lists that go on turning keep their room.
    for (int times = 0; times < 200; times++) {
      early.back()->turn(1);
      late.turn(1);
    }
    EXPECT_EQ(list_capacity(cache, last), list_wide_of(last));
    EXPECT_EQ(list_capacity(cache, early.back()->id()), list_wide_of(early.back()->id()));
  }
}

TEST_F(WideLists, LeaveTheirWidePlacesForTheNextThread) {
  Tide tide{64};
  void** usual = list_bottom(cache, tide.id());
  EXPECT_NE(usual, first_place(cache, tide.id()));
  tide.turn(6);
  EXPECT_TRUE(is_wide(cache, tide.id()));
  void** wide = list_bottom(cache, tide.id());
  EXPECT_NE(wide, usual);
  flush_all(cache);
  EXPECT_FALSE(is_wide(cache, tide.id()));
  EXPECT_EQ(list_bottom(cache, tide.id()), first_place(cache, tide.id()));
  EXPECT_EQ(list_capacity(cache, tide.id()), 0u);
  tide.turn(6);
  EXPECT_EQ(list_bottom(cache, tide.id()), wide) << "the place was there";
}

// What a resting thread has in wide lists goes home as all else does, and it goes on with them.
TEST_F(WideLists, OfAThreadThatRestsAreEmptied) {
  std::atomic<int> step{0};
  std::thread other{[&step] {
    Tide tide{64};
    tide.turn(6);
    tide.fill();
    ThreadCache& own = test::own_cache();
    EXPECT_TRUE(is_wide(own, tide.id()));
    EXPECT_GT(list_length(own, tide.id()), list_most_of(tide.id()) / 2);
    step = 1;
    while (step != 2) std::this_thread::yield();
    tide.turn(3);
    EXPECT_TRUE(is_wide(own, tide.id()));
  }};
  while (step != 1) std::this_thread::yield();
  test::quiet_totals();
  EXPECT_LE(collect_totals().classes[index_of(class_of(64))].listed, 1u) << "the uppermost stays";
  step = 2;
  other.join();
}

TEST_F(WideLists, AreNoneWhereOptionsForbidThem) {
  const uint64_t list_bytes = options.list_bytes;
  options.list_bytes = 0;
  Tide tide{64};
  tide.turn(6);
  EXPECT_EQ(list_capacity(cache, tide.id()), list_most_of(tide.id()));
  options.list_bytes = list_bytes;
}

}  // namespace
}  // namespace talus::core
