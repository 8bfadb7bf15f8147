// SPDX-License-Identifier: MIT
// tests/unit/heap/sound: each counter of a heap and of a cache has an equation that notices one
// wrong step of it.
#include "heap/sound.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "footprint.hpp"
#include "paths/alloc.hpp"
#include "paths/free.hpp"

namespace talus::core {
namespace {

constexpr size_t block_bytes = 200;
constexpr size_t large_slices = 6;

// A heap with slabs in several states: full ones, used ones, and an empty one.
class Sound : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < 3000; i++) blocks_.push_back(allocate(i % 7 * 300 + 16));
    for (size_t i = 0; i < blocks_.size(); i += 2) free_block(blocks_[i]);
    flush_lists(cache_);
    free_block(allocate(large_slices * slice_bytes));  // which the cache keeps
    for (size_t i = 0; i < 40; i++) again_.push_back(allocate(block_bytes));
    free_block(again_.back());  // a list with a block in it
    again_.pop_back();
    slab_ = heap_.available[index_of(id_)].fullest();
    ASSERT_NE(slab_, nullptr);
    ASSERT_TRUE(heap_.is_sound());
    ASSERT_TRUE(cache_.is_sound());
  }
  void TearDown() override {
    for (size_t i = 1; i < blocks_.size(); i += 2) free_block(blocks_[i]);
    for (void* block : again_) free_block(block);
    EXPECT_TRUE(is_sound_at_rest());
    EXPECT_TRUE(heap_.is_sound());
    EXPECT_TRUE(cache_.is_sound());
  }
  void expect_noticed(const char* what, const std::function<void()>& plant,
                      const std::function<void()>& mend, bool is_in_cache = false) {
    plant();
    const bool is_sound = is_in_cache ? cache_.is_sound() : heap_.is_sound();
    mend();
    EXPECT_FALSE(is_sound) << what;
    EXPECT_TRUE(heap_.is_sound()) << what;
    EXPECT_TRUE(cache_.is_sound()) << what;
  }
  // The number is off by some, either way.
  template <typename Number>
  void expect_counted(const char* what, Number& number, Number step) {
    expect_noticed(
        what, [&] { number += step; }, [&] { number -= step; });
    expect_noticed(
        what, [&] { number -= step; }, [&] { number += step; });
  }

  ThreadCache& cache_ = test::own_cache();
  Heap& heap_ = *cache_.heap;
  const ClassId id_ = class_of(block_bytes);
  Slab* slab_ = nullptr;
  std::vector<void*> blocks_, again_;
};

TEST_F(Sound, EachCounterOfAHeapHasItsEquation) {
  const size_t index = index_of(id_);
  expect_counted("slab_count", heap_.slab_count, size_t{1});
  expect_counted("slab_bytes", heap_.slab_bytes, slice_bytes);
  expect_counted("free_bytes", heap_.free_bytes, size_t{16});
  expect_counted("partly_purged_free_bytes", heap_.partly_purged_free_bytes, size_t{16});
  expect_counted("purged_page_bytes", heap_.purged_page_bytes, size_t{4096});
  expect_counted("taken_blocks", heap_.taken_blocks[index], size_t{1});
  expect_counted("class_slabs", heap_.class_slabs[index], uint32_t{1});
}

TEST_F(Sound, SlabsAreWhereTheirStateSays) {
  expect_noticed(
      "state", [&] { slab_->state = SlabState::full; },
      [&] { slab_->state = SlabState::available; });
  const uint32_t count = slab_->free_count;
  expect_noticed(
      "free_count", [&] { slab_->free_count++; }, [&] { slab_->free_count = count; });
  Slab* const previous = slab_->previous;
  expect_noticed(
      "previous", [&] { slab_->previous = slab_; }, [&] { slab_->previous = previous; });
  expect_noticed(
      "purged_page_bytes", [&] { slab_->purged_page_bytes += 4096; },
      [&] { slab_->purged_page_bytes -= 4096; });
  SlabList& bin = heap_.available[index_of(id_)].bins[slab_->bin];
  Slab* const last = bin.last;
  expect_noticed(
      "last", [&] { bin.last = nullptr; }, [&] { bin.last = last; });
}

TEST_F(Sound, WhatACacheKeepsIsCounted) {
  Atomic<size_t>& bytes = cache_.kept.bytes;
  ASSERT_NE(bytes.load_relaxed(), 0u);
  expect_noticed(
      "kept.bytes", [&] { bytes.own_add(slice_bytes); }, [&] { bytes.own_add(~slice_bytes + 1); },
      true);
  LargeBlock* const kept = cache_.kept.of_slices[large_slices - 1].load_relaxed();
  ASSERT_NE(kept, nullptr);
  expect_noticed(
      "slices", [&] { kept->slices++; }, [&] { kept->slices--; }, true);
  expect_noticed(
      "state", [&] { kept->state.store_own(LargeState::live); },
      [&] { kept->state.store_own(LargeState::kept); }, true);
}

TEST_F(Sound, ListsAndBatchesAreWhole) {
  void** const bottom = list_bottom(cache_, id_);
  ASSERT_NE(list_length(cache_, id_), 0u);
  void* const first = *bottom;
  expect_noticed(
      "a gap", [&] { *bottom = nullptr; }, [&] { *bottom = first; }, true);
  expect_noticed(
      "nulls below", [&] { bottom[-2] = first; }, [&] { bottom[-2] = nullptr; }, true);
  RemoteBatch& batch = cache_.batches[0];
  ASSERT_EQ(batch.message, nullptr);
  expect_noticed(
      "a batch without a message", [&] { batch.owner = heap_.id; },
      [&] { batch.owner = HeapId::none; }, true);
}

}  // namespace
}  // namespace talus::core
