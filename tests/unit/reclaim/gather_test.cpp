// SPDX-License-Identifier: MIT
// tests/unit/reclaim/gather: blocks gather in few slabs where memory is short. The next blocks come
// from the fullest slabs, blocks that a thread only moves through its lists go home, and purged
// pages are not given back again.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "api/entry.hpp"
#include "reclaim/decay.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

constexpr size_t gathered_bytes = 128;

ThreadCache& own_cache() {
  free_block(allocate(1));  // the thread has one from here on
  return *cache_behind(current_context());
}
void send_lists_home() {
  ThreadCache& cache = own_cache();
  const Working working{cache};
  flush_lists(cache);
}
// Asks without a call that might send lists home.
size_t listed_blocks(size_t bytes) {
  return list_length(*cache_behind(current_context()), class_of(bytes));
}
size_t purge_count() {
  Held held{space.lock()};
  return space.counters().purge_count;
}
uintptr_t slab_base_of(const void* block) {
  return static_cast<Slab*>(page_map.descriptor_of(reinterpret_cast<uintptr_t>(block)))->base;
}

// Slabs of which one has many blocks taken and the others one each.
class GatherTest : public testing::Test {
 protected:
  static constexpr size_t slabs = 16;

  GatherTest() : before_{options} {
    options.helper = false;
    purge_beyond(0);
    const size_t blocks_each = size_class_row(class_of(gathered_bytes)).block_count;
    std::vector<void*> blocks(slabs * blocks_each);
    for (void*& block : blocks) block = allocate(gathered_bytes);
    std::sort(blocks.begin(), blocks.end());
    full_base_ = slab_base_of(blocks[blocks.size() / 2]);
    uintptr_t base_before = 0;
    for (void* block : blocks) {
      const uintptr_t base = slab_base_of(block);
      const bool is_first = base != base_before;
      base_before = base;
      const size_t index = (reinterpret_cast<uintptr_t>(block) - base) / gathered_bytes;
      if (base == full_base_ ? index < blocks_each / 4 : is_first) {
        left_.push_back(block);
      } else if (base != full_base_ && index == blocks_each / 2) {
        second_.push_back(block);
      } else {
        free_block(block);
      }
    }
    purge_beyond(0);
  }
  ~GatherTest() override {
    for (void* block : left_) free_block(block);
    for (void* block : second_) free_block(block);
    options = before_;
  }

  void give_second_blocks() {
    for (void* block : second_) free_block(block);
    second_.clear();
    send_lists_home();
  }

  uintptr_t full_base_ = 0;
  std::vector<void*> left_;
  std::vector<void*> second_;  // one more of each slab, but of the full one

 private:
  Options before_;
};

TEST_F(GatherTest, TheFullestComesFirstThoughItsHolesWent) {
  give_second_blocks();  // their slabs have free blocks with pages now
  for (int i = 0; i < 100; i++) {
    left_.push_back(allocate(gathered_bytes));
    ASSERT_EQ(slab_base_of(left_.back()), full_base_) << "block " << i;
  }
}

TEST_F(GatherTest, WhatWentIsNotGivenBackAgain) {
  const size_t before = purge_count();
  give_second_blocks();
  purge_beyond(0);
  // One page of each, which the second block had to itself.
  EXPECT_LE(purge_count() - before, slabs);
  left_.push_back(allocate(gathered_bytes));
  const size_t between = purge_count();
  purge_beyond(0);
  // At most what the list was filled with, and goes from again.
  EXPECT_LE(purge_count() - between, 2u);
}

TEST_F(GatherTest, ListsGoHomeBeyondTheBoundAndNotAgainAtOnce) {
  options.retain_bytes = 64 * kib;
  options.decay_ms = 1000000;
  // A block in each page stays, so nothing can be given back.
  std::vector<void*> blocks(16 * mib / 512);
  for (void*& block : blocks) block = allocate(512);
  for (size_t i = 0; i < blocks.size(); i++) {
    if (i % 8 != 0) free_block(blocks[i]);
  }
  free_block(allocate(64));
  usleep(2 * reclaim_pause_ms * 1000);
  ASSERT_GT(listed_blocks(64), 0u);
  reclaim();
  EXPECT_EQ(listed_blocks(64), 0u);
  free_block(allocate(64));
  reclaim();
  EXPECT_GT(listed_blocks(64), 0u);
  for (size_t i = 0; i < blocks.size(); i += 8) free_block(blocks[i]);
}

}  // namespace
}  // namespace talus::core
