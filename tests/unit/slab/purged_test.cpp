// SPDX-License-Identifier: MIT
// tests/unit/slab/purged: the purged units of a slab, against a byte for each page that says
// whether a block touched it since. For every size class and page size.
#include <gtest/gtest.h>

#include <vector>

#include "effort.hpp"
#include "made_up_slab.hpp"
#include "slab/purged.hpp"
#include "slab/holes.hpp"

namespace talus::core {
namespace {

class PurgedPages {
 public:
  PurgedPages(Slab& slab, size_t page_bytes)
      : slab_{slab}, page_bytes_{page_bytes}, is_purged_(slab.bytes() / page_bytes, false) {}

  // What a purge does, for all holes.
  void purge() {
    const PurgedUnits units{slab_, page_bytes_};
    visit_holes(slab_, page_bytes_, [&](uintptr_t at, size_t bytes) {
      const size_t first = (at - slab_.base) / page_bytes_;
      if (units.are_purged(at, bytes)) {
        for (size_t page = first; page < first + bytes / page_bytes_; page++) {
          ASSERT_TRUE(is_purged_[page]) << "page " << page << " would not be given back";
        }
        return;
      }
      slab_.purged_units |= units.within(at, bytes);
      for (size_t page = first; page < first + bytes / page_bytes_; page++) is_purged_[page] = true;
    });
    ASSERT_NO_FATAL_FAILURE(check());
  }

  void take(void* block) {
    const size_t purged_page_bytes = forget_purged(slab_, &block, 1, page_bytes_);
    const size_t from = reinterpret_cast<uintptr_t>(block) - slab_.base;
    for (size_t page = from / page_bytes_; page * page_bytes_ < from + slab_.block_bytes; page++) {
      is_purged_[page] = false;
    }
    size_t purged_pages = 0;
    for (const bool is_purged_now : is_purged_) purged_pages += is_purged_now;
    ASSERT_LE(purged_page_bytes, purged_pages * page_bytes_);
    ASSERT_NO_FATAL_FAILURE(check());
  }

 private:
  // A block whose units say so is away with all pages in it. Where units are pages, each page that
  // is away has a bit.
  void check() const {
    const PurgedUnits units{slab_, page_bytes_};
    for (uint32_t index = 0; index < slab_.block_count; index++) {
      const size_t from = size_t{index} * slab_.block_bytes, to = from + slab_.block_bytes;
      const void* const block = reinterpret_cast<void*>(slab_.base + from);
      if ((units.of_block(block) & ~slab_.purged_units) != 0) continue;
      for (size_t at = round_up(from, page_bytes_); at + page_bytes_ <= to; at += page_bytes_) {
        ASSERT_TRUE(is_purged_[at / page_bytes_]) << "page " << at / page_bytes_;
      }
    }
    if (has_block_units(slab_, page_bytes_) || is_purged_.size() > 64) return;
    for (size_t page = 0; page < is_purged_.size(); page++) {
      ASSERT_EQ((slab_.purged_units >> page & 1) != 0, is_purged_[page]) << "page " << page;
    }
  }

  Slab& slab_;
  size_t page_bytes_;
  std::vector<bool> is_purged_;
};

void take_and_give_at_random(ClassId id, size_t page_bytes, test::Random& random) {
  test::MadeUpSlab made{id};
  Slab& slab = made.slab();
  PurgedPages pages{slab, page_bytes};
  std::vector<void*> taken(slab.block_count);
  ASSERT_EQ(slab.take_blocks(taken.data(), taken.size()), taken.size());
  size_t count = taken.size();
  for (int round = 0; round < 30; round++) {
    for (size_t gives = random.below(count + 1); gives > 0; gives--) {
      std::swap(taken[random.below(count)], taken[count - 1]);
      slab.give_blocks(&taken[--count], 1);
    }
    ASSERT_NO_FATAL_FAILURE(pages.purge());
    for (size_t takes = random.below(slab.free_count / 2 + 1); takes > 0; takes--) {
      ASSERT_EQ(slab.take_blocks(&taken[count], 1), 1u);
      ASSERT_NO_FATAL_FAILURE(pages.take(taken[count++]));
    }
  }
}

TEST(Purged, AgreesWithWhatEachPageSawForEveryClass) {
  test::Random random{test::seed_of("Purged.Random")};
  for (size_t index = 0; index < class_count; index++) {
    for (const size_t page_bytes : {size_t{4096}, size_t{16384}, size_t{65536}}) {
      ASSERT_NO_FATAL_FAILURE(
          take_and_give_at_random(ClassId{static_cast<uint8_t>(index)}, page_bytes, random))
          << index << " " << page_bytes;
    }
  }
}

}  // namespace
}  // namespace talus::core
