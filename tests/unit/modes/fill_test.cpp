// SPDX-License-Identifier: MIT
// tests/unit/modes/fill: new and freed blocks hold the chosen bytes, and no byte that the program
// may still read changes.
#include <gtest/gtest.h>

#include <thread>

#include "api/heaps.hpp"
#include "instances/reshape.hpp"
#include "late.hpp"
#include "mapped_mode.hpp"
#include "modes/fill.hpp"
#include "paths/aligned_at.hpp"
#include "paths/batch.hpp"

namespace talus::core {
namespace {

using test::fill_all;
using test::has_all;

constexpr unsigned char fresh = 0xa5, gone = 0x5a;
constexpr size_t sizes[] = {0,     1,      16,     17,     100,    1000,    4096,   4097,
                            30000, 100000, 262144, 262145, 300000, 1000000, 5000000};

// The first byte of [from, to) that differs; `to`: none.
size_t first_other(const void* block, size_t from, size_t to, unsigned char byte) {
  const auto* at = static_cast<const unsigned char*>(block);
  while (from < to && at[from] == byte) from++;
  return from;
}
#define EXPECT_FILLED(block, from, to, byte) EXPECT_EQ(first_other(block, from, to, byte), to)

size_t usable_of(void* block) { return facts_of(block, "test").usable_bytes; }

class FillTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (is_on(fill::mode)) return;
    test::own_cache();
    for (size_t bytes : sizes) {
      early.push_back(allocate(bytes));
      fill_all(early.back(), bytes, bytes);
    }
    fill::begin(junk_fill);
  }
  static inline std::vector<void*> early;
};

// A freed block's pages are there until a decay pass; no test of this file waits for one.
void expect_freed(void* block, size_t usable) { EXPECT_FILLED(block, 0, usable, gone); }

TEST_F(FillTest, BlocksFromBeforeKeepWhatTheyHave) {
  size_t i = 0;
  for (size_t bytes : sizes) EXPECT_TRUE(has_all(early[i++], bytes, bytes)) << bytes;
  for (void* block : early) {
    const size_t usable = usable_of(block);
    free_block(block);
    expect_freed(block, usable);
  }
  early.clear();
}

TEST_F(FillTest, NewAndFreedBlocksToTheirEnd) {
  for (size_t bytes : sizes) {
    for (int turn = 0; turn < 3; turn++) {
      void* block = allocate(bytes);
      const size_t usable = usable_of(block);
      EXPECT_FILLED(block, 0, usable, fresh) << bytes;
      fill_all(block, usable, 7);
      free_block(block);
      expect_freed(block, usable);
    }
  }
}

TEST_F(FillTest, AlignedBlocks) {
  for (size_t alignment : {16u, 64u, 4096u, 65536u, 1048576u}) {
    void* block = allocate_aligned(alignment, 5000);
    EXPECT_FILLED(block, 0, usable_of(block), fresh);
    free_block(block);
  }
  for (size_t bytes : {100u, 5000u, 100000u}) {
    void* block = allocate_aligned_at({4096, 48}, bytes);
    const size_t usable = usable_of(block);
    EXPECT_FILLED(block, 0, usable, fresh);
    free_block(block);
    expect_freed(block, usable);
  }
}

TEST_F(FillTest, ZeroedBlocksReadZeroAndEndInTheByte) {
  for (size_t bytes : sizes) {
    for (int turn = 0; turn < 3; turn++) {
      void* block = allocate_zeroed(bytes);
      const size_t usable = usable_of(block);
      EXPECT_FILLED(block, 0, bytes, 0) << bytes;
      EXPECT_FILLED(block, bytes, usable, fresh) << bytes;
      fill_all(block, usable, 3);
      free_block(block);
    }
    void* whole = allocate_zeroed_whole(64, bytes);
    EXPECT_FILLED(whole, 0, usable_of(whole), 0) << bytes;
    whole = reallocate_zeroed(whole, 3 * bytes + 1);
    EXPECT_FILLED(whole, 0, usable_of(whole), 0) << bytes;
    free_block(whole);
  }
}

TEST_F(FillTest, Batches) {
  for (size_t bytes : {64u, 5000u, 300000u}) {
    void* blocks[40] = {};
    ASSERT_EQ(allocate_batch(bytes, 40, blocks), 40u);
    const size_t usable = usable_of(blocks[0]);
    for (void* block : blocks) EXPECT_FILLED(block, 0, usable, fresh);
    free_many(blocks, 40);
    for (void* block : blocks) expect_freed(block, usable);
  }
}

TEST_F(FillTest, OtherThreadsAndRemoteFrees) {
  void* block = nullptr;
  std::thread{[&block] { block = allocate(100); }}.join();
  EXPECT_FILLED(block, 0, usable_of(block), fresh);
  void* mine = allocate(200);
  const size_t usable = usable_of(mine);
  fill_all(mine, usable, 1);
  std::thread{[mine] { free_block(mine); }}.join();
  expect_freed(mine, usable);
  free_block(block);
}

// What a resize promises, for one step.
void expect_resized(void* resized, size_t before, size_t usable, size_t bytes, uint64_t seed) {
  const size_t kept = before < bytes ? before : bytes;
  const size_t grown = usable < bytes ? usable : bytes;
  EXPECT_TRUE(has_all(resized, kept, seed)) << before << " to " << bytes;
  // What lies between was never the program's, and keeps the byte.
  const size_t first = bytes < before ? grown : before;
  EXPECT_FILLED(resized, first, usable_of(resized), fresh) << before << " to " << bytes;
}

TEST_F(FillTest, ResizesKeepWhatTheyKeepAndFillTheRest) {
  test::Random random{test::seed_of("Fill")};
  void* block = allocate(100);
  size_t bytes = 100;
  for (int turn = 0; turn < 3000; turn++) {
    fill_all(block, bytes, static_cast<uint64_t>(turn));
    const size_t usable = usable_of(block);
    const size_t wanted = turn % 100 == 0 ? 4 * mib + random.below(mib)
                                          : 1 + random.of_any_length(turn % 10 == 0 ? 21 : 14);
    const bool is_expanded = turn % 4 == 0 && expand(block, wanted);
    if (!is_expanded) block = reallocate(block, wanted);
    ASSERT_NE(block, nullptr);
    expect_resized(block, bytes, usable, wanted, static_cast<uint64_t>(turn));
    bytes = wanted;
  }
  free_block(block);
}

TEST_F(FillTest, TheOldBlockOfAMoveIsFilled) {
  for (size_t bytes : {100u, 5000u, 40000u, 100000u}) {
    void* block = allocate(bytes);
    const size_t usable = usable_of(block);
    fill_all(block, usable, 5);
    void* moved = reallocate(block, 4 * bytes);
    ASSERT_NE(moved, block);
    EXPECT_TRUE(has_all(moved, bytes, 5));
    expect_freed(block, usable);
    free_block(moved);
  }
}

TEST_F(FillTest, WhatAShrinkCutsOffIsFilled) {
  auto* block = static_cast<char*>(allocate(600000));
  const size_t usable = usable_of(block);
  fill_all(block, usable, 5);
  ASSERT_EQ(reallocate(block, 300000), block);
  EXPECT_TRUE(has_all(block, 300000, 5));
  EXPECT_FILLED(block, 300000, usable_of(block), fresh);
  const size_t range = round_up(size_t{300000}, slice_bytes);
  EXPECT_FILLED(block, usable_of(block), range, gone);
  EXPECT_FILLED(block, range, usable, 0) << "its pages went";
  free_block(block);
}

TEST_F(FillTest, BlocksOfInstances) {
  alignas(4096) static char buffer[512 * 1024];
  talus_provider provider = {};
  provider.kind = TALUS_PROVIDER_BUFFER;
  provider.buffer = buffer;
  provider.bytes = sizeof buffer;
  talus_heap_options in_buffer = {};
  in_buffer.provider = &provider;
  for (const talus_heap_options* asked : {static_cast<const talus_heap_options*>(nullptr),
                                          static_cast<const talus_heap_options*>(&in_buffer)}) {
    talus_heap* heap = api::heap_new(asked);
    ASSERT_NE(heap, nullptr);
    for (size_t bytes : {100u, 5000u, 70000u, 100000u}) {
      void* block = api::heap_malloc(heap, bytes);
      ASSERT_NE(block, nullptr);
      size_t usable = usable_of(block);
      EXPECT_FILLED(block, 0, usable, fresh) << bytes;
      fill_all(block, usable, 9);
      const size_t more = bytes + bytes / 2;
      block = api::heap_realloc(heap, block, more);
      const size_t kept = usable < more ? usable : more;  // large pages may have had room for more
      EXPECT_TRUE(has_all(block, kept, 9)) << bytes;
      EXPECT_FILLED(block, kept, usable_of(block), fresh) << bytes;
      block = api::heap_realloc(heap, block, bytes / 2);
      EXPECT_TRUE(has_all(block, bytes / 2, 9)) << bytes;
      EXPECT_FILLED(block, bytes / 2, usable_of(block), fresh) << bytes;
      usable = usable_of(block);
      api::heap_free(heap, block);
      expect_freed(block, usable);
      block = api::heap_calloc(heap, 1, bytes);
      EXPECT_FILLED(block, 0, usable_of(block), 0) << bytes;
    }
    void* left = api::heap_malloc(heap, 200);
    api::heap_destroy(heap);
    if (asked != nullptr) expect_freed(left, 200);
  }
}

TEST_F(FillTest, OneOfBothAlone) {
  options.fill = FillChoice{FillKind::bytes, {}, {true, 0x77}};
  auto* block = static_cast<unsigned char*>(allocate(1000));
  const size_t usable = usable_of(block);
  fill_all(block, usable, 2);
  free_block(block);
  EXPECT_FILLED(block, 0, usable, 0x77);
  options.fill = FillChoice{FillKind::bytes, {true, 0}, {}};
  block = static_cast<unsigned char*>(allocate(1000));
  EXPECT_FILLED(block, 0, usable, 0);
  fill_all(block, usable, 2);
  free_block(block);
  EXPECT_TRUE(has_all(block, usable, 2)) << "nothing is written on free";
  options.fill = junk_fill;
}

// The last test of the file: mapped blocks stay on.
TEST_F(FillTest, BesideMappedBlocks) {
  mapped::Settings settings;
  settings.quarantine_bytes = 8 * mib;
  settings.mappings = 20000;
  mapped::begin(settings);
  for (size_t bytes : {1u, 100u, 5000u, 300000u}) {
    void* block = allocate(bytes);
    ASSERT_TRUE(test::is_mapped(block));
    EXPECT_FILLED(block, 0, bytes, fresh);
    fill_all(block, bytes, 4);
    block = reallocate(block, bytes + 50);
    EXPECT_TRUE(has_all(block, bytes, 4));
    EXPECT_FILLED(block, bytes, bytes + 50, fresh);
    free_block(block);  // the pattern behind the block is whole, or this ends the process
    EXPECT_FALSE(test::is_accessible(block));
    block = allocate_zeroed(bytes);
    EXPECT_FILLED(block, 0, bytes, 0);
    free_block(block);
  }
}

}  // namespace
}  // namespace talus::core
