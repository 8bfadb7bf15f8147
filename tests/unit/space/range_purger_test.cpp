// SPDX-License-Identifier: MIT
// tests/unit/space/range_purger: what goes of a range with locked pages, and what purging costs.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

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

// What goes first are whole huge pages: a page with a user on its other side stays as long as there
// are others. A page whose other side is free is whole.
TEST_F(RangePurgerTest, TearsNoHugePageWhileThereAreWholeOnes) {
  rare_calls.ask_when_needed([]() noexcept { return true; });
  options.thp = HugePages::adaptive;
  options.retain_bytes = size_t{1} << 30;
  options.decay_ms = 3'600'000;  // nothing goes because time passes
  Held held{space_.lock()};
  constexpr size_t bytes = arena_alignment + arena_alignment / 2;
  const auto is_hole = [](size_t i) { return i == 10 || i == 20; };
  std::vector<uintptr_t> bases;
  for (size_t i = 0; i < 40; i++) {
    const Range range = space_.take(held, bytes / slice_bytes);
    bases.push_back(range.base);
    if (is_hole(i)) continue;
    memset(reinterpret_cast<void*>(range.base), 1, bytes);
    use(range);
  }
  for (size_t i = 0; i < bases.size(); i++) {
    if (is_hole(i)) space_.give(held, bases[i], bytes / slice_bytes, false);
  }
  struct Freed {
    uintptr_t base, first, last;  // [first, last) is in whole huge pages
  };
  std::vector<Freed> freed;
  size_t whole_bytes = 0;
  bool has_free_neighbour = false;
  for (size_t i = 5; i < 30; i += 2) {
    const uintptr_t base = bases[i], end = base + bytes;
    if (!space_.is_huge(held, base) || !space_.is_huge(held, end - 1)) continue;
    Freed range{base, round_up(base, arena_alignment), round_down(end, arena_alignment)};
    const FreeRange* before = FreeRanges::clean_range_at(base - 1);
    const FreeRange* behind = FreeRanges::clean_range_at(end);
    if (before != nullptr && before->base <= round_down(base, arena_alignment)) range.first = base;
    if (behind != nullptr && behind->end() >= round_up(end, arena_alignment)) range.last = end;
    const bool is_free_before = before != nullptr && range.first == base;
    const bool is_free_behind = behind != nullptr && range.last == end;
    if (!is_free_before && users_.count(base - bytes) == 0) continue;
    if (!is_free_behind && users_.count(end) == 0) continue;
    has_free_neighbour |= is_free_before && base % arena_alignment != 0;
    has_free_neighbour |= is_free_behind && end % arena_alignment != 0;
    freed.push_back(range);
    whole_bytes += range.last - range.first;
  }
  EXPECT_GE(freed.size(), 6u);
  EXPECT_TRUE(has_free_neighbour) << "beside one of the holes";
  for (const Freed& range : freed) give(held, range.base);
  ASSERT_EQ(space_.dirty_bytes(), freed.size() * bytes);
  space_.purge_beyond(held, space_.dirty_bytes() - whole_bytes);
  const auto pages = [](uintptr_t from, uintptr_t to) {
    return from < to ? pages_there(from, to - from) : 0;
  };
  for (const Freed& range : freed) {
    EXPECT_EQ(pages(range.first, range.last), 0u);
    const size_t ends = bytes - (range.last - range.first);
    EXPECT_EQ(pages(range.base, range.first) + pages(range.last, range.base + bytes),
              ends / os::page_bytes());
  }
  space_.purge_beyond(held, slice_bytes);
  EXPECT_LE(space_.dirty_bytes(), slice_bytes) << "what is torn last goes, too";
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
