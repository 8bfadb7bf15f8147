// SPDX-License-Identifier: MIT
// tests/unit/space/range_purger: what goes of a range with locked pages, and what purging costs.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "space_fixture.hpp"

namespace talus::core {
namespace {

size_t pages_there(uintptr_t at, size_t bytes) {
  static unsigned char pages[16 * mib / 4096];
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t resident = 0;
  for (size_t done = 0; done < bytes; done += sizeof pages * page) {
    const size_t step = bytes - done < sizeof pages * page ? bytes - done : sizeof pages * page;
    EXPECT_EQ(mincore(reinterpret_cast<void*>(at + done), step, pages), 0);
    for (size_t i = 0; i < step / page; i++) resident += pages[i] & 1;
  }
  return resident;
}

// Of the window and of the leaves of a range.
size_t resident_pages_of_map(const Range& range) {
  const auto pages_of = [](const PageMap::Piece& piece) {
    return pages_there(reinterpret_cast<uintptr_t>(piece.base), piece.bytes);
  };
  size_t resident = page_map.window().base != nullptr ? pages_of(page_map.window()) : 0;
  const uintptr_t end = range.base + range.slices * slice_bytes;
  for (uintptr_t at = range.base; at < end; at += size_t{1} << PageMap::root_shift) {
    const PageMap::Piece leaf = page_map.leaf_of(at);
    if (leaf.base != nullptr) resident += pages_of(leaf);
  }
  return resident;
}

class RangePurgerTest : public SpaceTest {
 protected:
  // A user of many addresses who touched little; gone again.
  Range take_and_give(Held<SpaceLock>& held, size_t bytes) {
    const Range range = space_.take(held, bytes / slice_bytes);
    EXPECT_NE(range.base, 0u);
    page_map.set_ends(range.base, range.slices, PageEntry::large(), this);
    word_at(range.base) = 1;
    space_.give(held, range.base, range.slices, true);
    return range;
  }
  // Pages of every stride-th slice of a range are locked in memory.
  static void lock_pages(const Range& range, size_t stride, bool is_locked) {
    for (size_t i = stride / 2; i < range.slices; i += stride) {
      void* at = reinterpret_cast<void*>(range.base + i * slice_bytes);
      EXPECT_EQ(is_locked ? mlock(at, slice_bytes / 2) : munlock(at, slice_bytes / 2), 0);
    }
  }
};

// Pieces that go leave their ends in the page map. 16 GiB are 2 MiB of map.
TEST_F(RangePurgerTest, ManyAddressesLeaveNoMapBehind) {
  Held held{space_.lock()};
  const size_t bytes = size_t{16} << 30;
  const Range range = take_and_give(held, bytes);
  space_.purge_beyond(held, 0);
  EXPECT_EQ(space_.dirty_bytes(), 0u);
  const size_t before = resident_pages_of_map(range);
  for (int round = 0; round < 3; round++) {
    take_and_give(held, bytes);
    space_.purge_surplus(held, LowMark::turns_kept + 1);
    space_.purge_surplus(held, LowMark::turns_kept + 1);
    space_.purge_beyond(held, 0);
    EXPECT_LE(resident_pages_of_map(range), before + 16);
  }
  EXPECT_LE(before, 64u);
}

// Locked pages cost their slices, in each purge mode, and go when they are locked no longer.
TEST_F(RangePurgerTest, LockedPagesCostTheirSlices) {
  Held held{space_.lock()};
  const size_t slices = 2048, stride = 20;
  for (const bool is_patient : {true, false}) {
    const Range range = space_.take(held, slices);
    use(range);
    lock_pages(range, stride, true);
    users_.erase(range.base);
    slices_ -= range.slices;
    space_.give(held, range.base, range.slices, true);
    if (is_patient) {
      for (int pass = 0; pass < 4; pass++) {
        space_.purge_surplus(held, LowMark::turns_kept + 1);
      }
    } else {
      space_.purge_beyond(held, 0);
    }
    EXPECT_LE(space_.dirty_bytes(), (slices / stride + 2) * slice_bytes) << is_patient;
    lock_pages(range, stride, false);
    space_.purge_beyond(held, 0);
    EXPECT_EQ(space_.dirty_bytes(), 0u) << is_patient;
  }
}

// Small ranges at large alignments leave gaps, whatever was filled before, also where huge pages
// were asked for ahead.
TEST_F(RangePurgerTest, RangesThatStandApartGetSmallPages) {
  rare_calls.ask_when_needed([]() noexcept { return true; });
  options.thp = HugePages::adaptive;
  Held held{space_.lock()};
  const size_t slices = arena_alignment / slice_bytes;
  size_t huge = 0;
  for (int i = 0; i < 64; i++) {
    const Range range = space_.take(held, slices, arena_alignment);
    memset(reinterpret_cast<void*>(range.base), 1, arena_alignment);
    use(range);
    huge += space_.is_huge(held, range.base);
  }
  EXPECT_GT(huge, 16u) << "what is filled is trusted";
  for (int i = 0; i < 200; i++) {
    const Range range = space_.take(held, 1, arena_alignment);
    use(range);
    EXPECT_FALSE(space_.is_huge(held, range.base)) << i;
  }
}

}  // namespace
}  // namespace talus::core
