// SPDX-License-Identifier: MIT
// tests/unit/inspect/resident: each part of the heap is found where it is, and only as far as
// touched.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "effort.hpp"
#include "paths/aligned_at.hpp"
#include "inspect/resident.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

#define TALUS_NEEDS_TRUE_KERNEL() \
  if (!kernel_tells_pages()) GTEST_SKIP() << "the kernel does not tell which pages are resident"

void expect_grown(size_t before, size_t after, size_t expected, const char* what) {
  const size_t grown = after - before;
  const size_t off = grown > expected ? grown - expected : expected - grown;
  EXPECT_LE(off * 100, expected) << what << " grew by " << grown << ", not " << expected;
}

TEST(Resident, UntouchedMemoryIsNotAndTouchedIs) {
  TALUS_NEEDS_TRUE_KERNEL();
  test::live_bytes();
  constexpr size_t bytes = 32 * mib;  // less than retain_bytes
  const ResidentTotals before = collect_resident();
  auto* block = static_cast<char*>(allocate(bytes));
  const ResidentTotals taken = collect_resident();
  EXPECT_LT(taken.live_large - before.live_large, mib);
  memset(block, 1, bytes / 4);
  const size_t touched = collect_resident().live_large - before.live_large;
  EXPECT_GE(touched, bytes / 4);
  EXPECT_LE(touched, bytes / 4 + arena_alignment);  // the system may have a huge page at the end
  memset(block, 1, bytes);
  expect_grown(before.live_large, collect_resident().live_large, bytes, "a large block");
  free_block(block);
  const ResidentTotals freed = collect_resident();
  EXPECT_EQ(freed.live_large, before.live_large);
  expect_grown(before.retained, freed.retained, bytes, "the retained range");
  purge_beyond(0);
  EXPECT_LT(collect_resident().retained, mib + arena_alignment);
}

TEST(Resident, WhatLiesBeforeABlockIsNotTheBlocks) {
  TALUS_NEEDS_TRUE_KERNEL();
  test::live_bytes();
  const size_t page = os::page_bytes();
  const ResidentTotals before = collect_resident();
  auto* block = static_cast<char*>(allocate_aligned_at({slice_bytes, page}, mib));
  const size_t front = slice_bytes - page, usable = usable_size(block);
  memset(block - front, 1, front + usable);
  const ResidentTotals after = collect_resident();
  EXPECT_EQ(after.live_large - before.live_large, usable);
  EXPECT_GE(after.rest - before.rest, front);
  free_block(block);
}

TEST(Resident, SmallBlocksAndHoles) {
  TALUS_NEEDS_TRUE_KERNEL();
  test::live_bytes();
  constexpr size_t count = 40000, bytes = 1024;
  const ResidentTotals before = collect_resident();
  std::vector<void*> blocks;
  for (size_t i = 0; i < count; i++) {
    blocks.push_back(allocate(bytes));
    memset(blocks.back(), 1, bytes);
  }
  const ResidentTotals full = collect_resident();
  expect_grown(before.taken_small, full.taken_small, count * bytes, "live blocks");
  EXPECT_EQ(full.total(), full.taken_small + full.free_in_slabs + full.live_large +
                              full.kept_large + full.retained + full.metadata + full.rest);
  // One page in sixteen survives.
  size_t live = 0;
  for (size_t i = 0; i < count; i++) {
    if (i / 4 % 16 == 0) {
      live += bytes;
    } else {
      free_block(blocks[i]);
    }
  }
  HeapTotals totals = collect_totals();
  ResidentTotals sparse = collect_resident();
  expect_grown(totals.listed, sparse.taken_small, live, "survivors");
  expect_grown(0, sparse.free_in_slabs, totals.free_in_slabs, "free blocks");
  purge_beyond(0);
  sparse = collect_resident();
  EXPECT_LT(sparse.free_in_slabs, totals.free_in_slabs / 2);  // pages that a survivor shares stay
  EXPECT_GE(sparse.taken_small, live);
  for (size_t i = 0; i < count; i++) {
    if (i / 4 % 16 == 0) free_block(blocks[i]);
  }
  purge_beyond(0);
  // A huge page that was touched in part stays whole, beside what went back.
  EXPECT_LT(collect_resident().total(), before.total() + mib + arena_alignment);
}

TEST(Resident, KeptBlocksAndMetadata) {
  TALUS_NEEDS_TRUE_KERNEL();
  test::live_bytes();
  const ResidentTotals before = collect_resident();
  EXPECT_GT(before.metadata, 0u);
  auto* block = static_cast<char*>(allocate(320 * kib));
  memset(block, 1, 320 * kib);
  free_block(block);
  const ResidentTotals kept = collect_resident();
  EXPECT_EQ(kept.kept_large - before.kept_large, 320 * kib);
  EXPECT_EQ(kept.live_large, before.live_large);
  std::vector<void*> blocks;  // each with a descriptor of a cache line
  for (int i = 0; i < 4000; i++) blocks.push_back(allocate(300 * kib));
  EXPECT_GE(collect_resident().metadata - before.metadata, 4000 * cache_line_bytes * 9 / 10);
  for (void* each : blocks) free_block(each);
  purge_beyond(0);
}

TEST(Resident, MayBeAskedForWhileOthersAllocate) {
  TALUS_NEEDS_TRUE_KERNEL();
  test::ask_while_others_allocate(test::rounds_of(100000), 20, [] {
    const ResidentTotals found = collect_resident();
    if (found.total() >> 40 != 0) std::abort();
  });
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
