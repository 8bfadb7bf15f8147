// SPDX-License-Identifier: MIT
// tests/unit/slab/holes: the pages of a slab without live blocks, against a search byte by byte,
// for every size class and page size.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "slab/holes.hpp"

namespace talus::core {
namespace {

struct AnySlab {
  explicit AnySlab(ClassId id)
      : memory(Slab::descriptor_bytes(size_class_row(id).bitmap_words) + cache_line_bytes) {
    void* at = reinterpret_cast<void*>(
        round_up(reinterpret_cast<uintptr_t>(memory.data()), cache_line_bytes));
    slab = make_descriptor(at, id);
    slab->begin(uintptr_t{1} << 32, Zeroed::no);
  }
  std::vector<char> memory;
  Slab* slab;
};

// Page by page: is there a live block that reaches into it?
std::vector<bool> pages_without_blocks(const Slab& slab, size_t page_bytes) {
  const size_t bytes = size_class_row(slab.class_id).slab_slices * slice_bytes;
  std::vector<bool> is_hole(bytes / page_bytes, true);
  for (uint32_t block = 0; block < slab.block_count; block++) {
    if (slab.is_free(block)) continue;
    const size_t first = block * size_t{slab.block_bytes} / page_bytes;
    const size_t last = ((block + 1) * size_t{slab.block_bytes} - 1) / page_bytes;
    for (size_t page = first; page <= last; page++) is_hole[page] = false;
  }
  return is_hole;
}

void check(const Slab& slab, size_t page_bytes) {
  std::vector<bool> wanted = pages_without_blocks(slab, page_bytes);
  uintptr_t end_before = 0;
  visit_holes(slab, page_bytes, [&](uintptr_t at, size_t bytes) {
    ASSERT_EQ((at - slab.base) % page_bytes, 0u);
    ASSERT_EQ(bytes % page_bytes, 0u);
    ASSERT_GT(bytes, 0u);
    ASSERT_GT(at, end_before) << "runs are joined and in order";
    end_before = at + bytes;
    for (size_t page = (at - slab.base) / page_bytes; bytes > 0; page++, bytes -= page_bytes) {
      ASSERT_LT(page, wanted.size());
      ASSERT_TRUE(wanted[page]) << "page " << page << " holds a block";
      wanted[page] = false;
    }
  });
  // What lies behind the last block was never touched; it may be found or not.
  const size_t used_bytes = slab.block_count * size_t{slab.block_bytes};
  for (size_t page = 0; page * page_bytes < used_bytes; page++) {
    ASSERT_FALSE(wanted[page]) << "page " << page << " was not found";
  }
}

TEST(Holes, AgreeWithASearchForEveryClass) {
  test::Random random{test::seed_of("Holes.Random")};
  for (size_t index = 0; index < class_count; index++) {
    AnySlab any{ClassId{static_cast<uint8_t>(index)}};
    Slab& slab = *any.slab;
    std::vector<void*> taken(slab.block_count);
    ASSERT_EQ(slab.take_blocks(taken.data(), slab.block_count), slab.block_count);
    for (const size_t page_bytes : {size_t{4096}, size_t{16384}, size_t{65536}}) {
      ASSERT_NO_FATAL_FAILURE(check(slab, page_bytes)) << "full";
    }
    // Freed in random order: from no hole to nothing but a hole.
    for (size_t left = taken.size(); left > 0; left--) {
      std::swap(taken[random.below(left)], taken[left - 1]);
      slab.give_blocks(&taken[left - 1], 1);
      if (random.below(1 + taken.size() / 32) != 0 && left > 1) continue;
      for (const size_t page_bytes : {size_t{4096}, size_t{16384}, size_t{65536}}) {
        ASSERT_NO_FATAL_FAILURE(check(slab, page_bytes)) << index << " " << left;
      }
    }
  }
}

}  // namespace
}  // namespace talus::core
