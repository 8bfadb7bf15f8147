// SPDX-License-Identifier: MIT
// tests/unit/heap/list_bounds: lists that an option bounds, before and after there are caches. Each
// case has a process of its own, because the layout is settled once.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

int failures;
void expect(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "%s\n", what);
  failures++;
}

// Fills and empties the lists of all classes, in the last rounds as wide ones. Contents show lists
// that reach into each other.
void use_all_classes(const ListBounds& bounds) {
  ThreadCache& cache = test::own_cache();
  test::use_fixed_classes_only();
  for (int round = 0; round < 4; round++) {
    for (size_t index = 0; index < fixed_class_count; index++) {
      const ClassId id{static_cast<uint8_t>(index)};
      const size_t bytes = size_class_row(id).block_bytes;
      const bool may_grow = round >= 2;
      if (!may_grow) {  // as if no list had turned before
        for (uint64_t& word : cache.wide.turning_words) word = 0;
      }
      std::vector<void*> blocks;
      for (size_t i = 0; i < 3u * bounds.blocks_max[index]; i++) {
        blocks.push_back(allocate(bytes));
        test::fill_pattern(blocks.back(), bytes, i);
      }
      for (size_t i = 0; i < blocks.size(); i++) {
        expect(test::has_pattern(blocks[i], bytes, i), "a block was changed");
        free_block(blocks[i]);
        const size_t most = may_grow ? list_wide_of(id) : bounds.blocks_max[index];
        expect(list_length(cache, id) <= most, "a list is too long");
      }
      const bool is_full = list_capacity(cache, id) == bounds.blocks_max[index];
      expect(is_full || is_medium(id) || (may_grow && is_wide(cache, id)), "another capacity");
    }
  }
  // Every list is where it was, and full of blocks of its own.
  for (size_t index = 0; index < fixed_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    for (size_t i = 0; i < list_length(cache, id); i++) {
      expect(usable_size(list_bottom(cache, id)[i]) == size_class_row(id).block_bytes,
             "a block of another class");
    }
  }
  expect(test::live_bytes() == 0, "live blocks are left");
}

TEST(ListBounds, LayListsOutBeforeTheFirstCache) {
  for (const size_t list_bytes : {size_t{0}, 1 * kib, 5000 * size_t{1}, 64 * kib}) {
    EXPECT_EXIT(
        {
          bound_lists(list_bytes);
          expect(list_bounds.places == derive_list_bounds(list_bytes).places, "another layout");
          use_all_classes(derive_list_bounds(list_bytes));
          _exit(failures == 0 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << list_bytes;
  }
}

TEST(ListBounds, OnlyBecomeLowerOnceThereAreCaches) {
  EXPECT_EXIT(
      {
        free_block(allocate(64));
        const ListBounds usual = derive_list_bounds(list_bytes_max);
        bound_lists(64 * kib);
        expect(list_bounds.blocks_max[3] == usual.blocks_max[3], "a list grew into the next");
        bound_lists(1 * kib);
        expect(list_bounds.usual_start[3] == usual.usual_start[3], "a list moved");
        expect(list_bounds.blocks_max[3] == 16, "not lower");
        for (size_t i = 0; i < 2; i++) {  // a list that was short all along
          std::vector<void*> blocks;
          for (size_t n = 0; n < 200; n++) blocks.push_back(allocate(64));
          for (void* block : blocks) free_block(block);
          expect(list_length(test::own_cache(), ClassId{3}) <= 16, "a list is too long");
        }
        _exit(failures == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ListBounds, BoundMediumAndLargeBlocksThatAThreadKeepsAsWell) {
  EXPECT_EXIT(
      {
        options.list_bytes = 1 * kib;
        test::own_cache();
        const size_t listed = collect_totals().listed;
        std::vector<void*> blocks;
        for (size_t i = 0; i < 20; i++) {
          blocks.push_back(allocate(40 * kib));
          blocks.push_back(allocate_aligned(slice_bytes, 100));  // with a range of its own
        }
        for (void* block : blocks) {
          free_block(block);
          const HeapTotals totals = collect_totals();
          const size_t kept = totals.kept_large + totals.listed - listed;
          expect(kept > 0, "nothing is kept");
          expect(kept <= large_kept_factor * kib, "too much is kept");
        }
        _exit(failures == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace talus::core
