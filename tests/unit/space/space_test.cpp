// SPDX-License-Identifier: MIT
// tests/unit/space/space: random users of address space against a shadow map, and the promises
// that single cases show better: joining, reuse before growth, give-back by time and by amount.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "effort.hpp"
#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

TEST_F(SpaceTest, RandomUsersGetFreeRanges) {
  test::Random random{test::seed_of("Space.Random")};
  options.retain_bytes = 16 * mib;
  Held held{space_.lock()};
  size_t most = 0;
  for (size_t round = 0; round < test::rounds_of(20000); round++) {
    const size_t what = random.below(100);
    if (what < 45 && slices_ < 2000) {
      const bool is_aligned = random.below(4) == 0;
      const size_t alignment = is_aligned ? slice_bytes << random.below(7) : slice_bytes;
      const size_t slices = 1 + random.of_any_length(5);
      const Filling filling = random.below(2) == 0 ? Filling::sparse : Filling::unknown;
      const Range range = space_.take(held, slices, alignment, filling);
      ASSERT_NE(range.base, 0u);
      ASSERT_EQ(range.slices, slices);
      ASSERT_NO_FATAL_FAILURE(check(range, alignment));
      use(range);
    } else if (what < 60 && !users_.empty()) {
      auto user = users_.lower_bound(random.below(2) == 0 ? 0 : users_.rbegin()->first);
      const uintptr_t end = user->first + user->second.slices * slice_bytes;
      const size_t least = 1 + random.below(4);
      const Range range = space_.take_at(held, end, least, least + random.below(8));
      if (range.base != 0) {
        ASSERT_EQ(range.base, end);
        ASSERT_GE(range.slices, least);
        ASSERT_NO_FATAL_FAILURE(check(range, slice_bytes));
        use(range);
      }
    } else if (what < 99 && !users_.empty()) {
      auto user = users_.begin();
      std::advance(user, random.below(users_.size() < 50 ? users_.size() : 50));
      ASSERT_NO_FATAL_FAILURE(give(held, user->first));
      ASSERT_LE(space_.dirty_bytes(),
                std::max<size_t>(options.retain_bytes, (most - slices_) * slice_bytes));
    } else {
      const size_t keep = random.below(8) * mib;
      space_.purge_beyond(held, keep);
      ASSERT_LE(space_.dirty_bytes(), keep);
    }
    ASSERT_EQ(space_.counters().given_bytes, slices_ * slice_bytes);
    most = std::max(most, slices_);
    if (round % 64 != 0) continue;
    ASSERT_TRUE(space_.is_sound());
  }
}

TEST_F(SpaceTest, NeighboursJoinInEveryOrder) {
  const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  Held held{space_.lock()};
  for (const auto& order : orders) {
    const Range whole = space_.take(held, 9);
    ASSERT_NE(whole.base, 0u);
    space_.give(held, whole.base, 9, true);
    Range parts[3];
    for (Range& part : parts) use(part = space_.take(held, 3));
    EXPECT_EQ(parts[0].base, whole.base) << "no other range was touched";
    for (int which : order) give(held, parts[which].base);
    const Range again = space_.take(held, 9);
    EXPECT_EQ(again.base, whole.base);
    EXPECT_EQ(again.zeroed, Zeroed::no);
    use(again);
    give(held, again.base);
    space_.purge_beyond(held, 0);
  }
}

TEST_F(SpaceTest, TouchedMemoryIsReusedBeforeUntouched) {
  Held held{space_.lock()};
  const Range first = space_.take(held, 4);
  EXPECT_EQ(first.zeroed, Zeroed::yes);
  use(first);
  give(held, first.base);
  const Range second = space_.take(held, 2);
  EXPECT_EQ(second.base, first.base);
  EXPECT_EQ(second.zeroed, Zeroed::no);
  use(second);
}

TEST_F(SpaceTest, UntouchedMemoryStaysZero) {
  Held held{space_.lock()};
  const Range first = space_.take(held, 4);
  page_map.set_ends(first.base, first.slices, PageEntry::large(), this);
  space_.give(held, first.base, first.slices, false);
  EXPECT_EQ(space_.dirty_bytes(), 0u);
  const Range second = space_.take(held, 4);
  EXPECT_EQ(second.zeroed, Zeroed::yes);
  use(second);
}

size_t resident_pages(uintptr_t base, size_t bytes) {
  std::vector<unsigned char> pages(bytes / page_bytes_min);
  EXPECT_TRUE(os::System::look_for_pages(reinterpret_cast<void*>(base), bytes, pages.data()));
  size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

// A process that is large enough for huge pages, and goes on in addresses that it never used.
class HugePlaces : public SpaceTest {
 protected:
  void grow(Held<SpaceLock>& held) {
    while (space_.counters().given_bytes < huge_dense_bytes_min) take_other(held);
    for (const size_t arenas = space_.counters().arena_count;
         space_.counters().arena_count == arenas;) {
      take_other(held);
    }
  }
  void shrink(Held<SpaceLock>& held) {
    for (const Range& range : others_) space_.give(held, range.base, range.slices, false);
  }
  // With every page written, as a program fills it.
  Range take_filled(Held<SpaceLock>& held, Filling filling) {
    const Range range = space_.take(held, place_slices, arena_alignment, filling);
    memset(reinterpret_cast<void*>(range.base), 1, arena_alignment);
    use(range);
    return range;
  }

 private:
  static constexpr size_t place_slices = arena_alignment / slice_bytes;

  void take_other(Held<SpaceLock>& held) {
    const Range range = space_.take(held, place_slices);
    page_map.set_ends(range.base, range.slices, PageEntry::large(), this);
    others_.push_back(range);
  }

  std::vector<Range> others_;
};

TEST_F(HugePlaces, AreNotSmallPagesThatAreFilled) {
  rare_calls.ask_when_needed([]() noexcept { return true; });
  Range small;
  Range huge;
  {
    Held held{space_.lock()};
    grow(held);
    options.thp = HugePages::never;
    small = take_filled(held, Filling::dense);
    options.thp = HugePages::adaptive;
    huge = take_filled(held, Filling::dense);
    ASSERT_FALSE(space_.is_huge(held, small.base));
    ASSERT_TRUE(space_.is_huge(held, huge.base));
  }
  Held held{space_.lock()};
  EXPECT_TRUE(space_.is_filled(held, small));
  EXPECT_FALSE(space_.is_filled(held, huge));
  shrink(held);
}

TEST_F(HugePlaces, HaveRestsThatTrimFinds) {
  Held held{space_.lock()};
  grow(held);
  const Range slab = space_.take(held, 1, arena_alignment, Filling::dense);
  ASSERT_NE(slab.base, 0u);
  use(slab);
  ASSERT_TRUE(space_.is_huge(held, slab.base));
  const size_t pages = resident_pages(slab.base, arena_alignment);
  shrink(held);
  if (pages * page_bytes_min < arena_alignment) GTEST_SKIP() << "no huge page was to be had";
  space_.purge_beyond(held, 0);
  EXPECT_LE(resident_pages(slab.base, arena_alignment) * page_bytes_min, slice_bytes);
  EXPECT_TRUE(space_.is_sound());
}

// Linux drops the table of small pages of a place that is purged whole, from 6.14 on.
bool kernel_drops_empty_tables() {
  void* at = os::map_aligned(nullptr, 2 * arena_alignment, arena_alignment);
  auto* const bytes = static_cast<volatile char*>(at);
  bytes[0] = 1;
  os::System::advise_huge(at, 2 * arena_alignment);
  os::System::purge(at, arena_alignment);
  bytes[0] = 1;
  const size_t pages = resident_pages(reinterpret_cast<uintptr_t>(at), arena_alignment);
  os::System::unmap(at, 2 * arena_alignment);
  return pages * page_bytes_min == arena_alignment;
}

TEST_F(SpaceTest, APlaceThatWentPieceByPieceIsAHugePageAgain) {
  if (!kernel_drops_empty_tables()) GTEST_SKIP() << "this kernel keeps tables, or has none to give";
  constexpr size_t half = arena_alignment / slice_bytes / 2;
  Held held{space_.lock()};
  const Range place = space_.take(held, 2 * half, arena_alignment);
  ASSERT_NE(place.base, 0u);
  os::System::advise_small(reinterpret_cast<void*>(place.base), arena_alignment);
  use(Range{place.base, half, Zeroed::no});
  use(Range{place.base + half * slice_bytes, half, Zeroed::no});
  os::System::advise_huge(reinterpret_cast<void*>(place.base), arena_alignment);
  give(held, place.base);
  space_.purge_beyond(held, 0);
  give(held, place.base + half * slice_bytes);
  space_.purge_beyond(held, 0);
  word_at(place.base) = 1;
  EXPECT_EQ(resident_pages(place.base, arena_alignment) * page_bytes_min, arena_alignment);
  os::System::purge(reinterpret_cast<void*>(place.base), arena_alignment);
  os::System::advise_small(reinterpret_cast<void*>(place.base), arena_alignment);
}

TEST_F(SpaceTest, RetentionIsBoundedInBytes) {
  options.retain_bytes = 1 * mib;
  options.decay_ms = 1000000;
  Held held{space_.lock()};
  space_.purge_beyond(held, 0);
  const size_t purged = space_.counters().purged_bytes;
  Range ranges[64];
  for (Range& range : ranges) use(range = space_.take(held, 4));
  // Only every second one, so that they cannot join. All of them were in use together.
  for (size_t i = 0; i < 64; i += 2) give(held, ranges[i].base);
  EXPECT_EQ(space_.counters().purged_bytes, purged);
  EXPECT_EQ(space_.dirty_bytes(), 32 * 4 * slice_bytes);
  // They go as far as as much is in use without them.
  Range larger[20];
  for (Range& range : larger) use(range = space_.take(held, 8));
  EXPECT_EQ(space_.dirty_bytes(), options.retain_bytes);
  size_t used_lately = 0;
  for (const Range& range : larger) {
    give(held, range.base);
    used_lately += 8 * slice_bytes;
    ASSERT_LE(space_.dirty_bytes(), std::max<size_t>(options.retain_bytes, used_lately));
  }
}

TEST_F(SpaceTest, WhatComesAndGoesInLargeStepsStays) {
  options.retain_bytes = 1 * mib;
  options.decay_ms = 1000000;
  constexpr size_t slices = 32 * mib / slice_bytes;
  Held held{space_.lock()};
  const size_t purged = space_.counters().purged_bytes;
  for (int step = 0; step < 10; step++) {
    const Range range = space_.take(held, slices);
    ASSERT_NE(range.base, 0u);
    EXPECT_EQ(range.zeroed == Zeroed::no, step != 0);
    use(range);
    give(held, range.base);
    space_.purge_surplus(held, 1);  // a turn passes
  }
  EXPECT_EQ(space_.counters().purged_bytes, purged);
  space_.purge_surplus(held, LowMark::turns_kept + 1);  // and now time enough
  EXPECT_GE(space_.counters().purged_bytes - purged, 32 * mib);
}

// A user that grows over untouched addresses takes new memory as others do.
TEST_F(SpaceTest, GrowingInPlaceKeepsTheBound) {
  options.retain_bytes = 1 * mib;
  options.decay_ms = 1000000;
  constexpr size_t slices = 32 * mib / slice_bytes;
  Held held{space_.lock()};
  const Range other = space_.take(held, slices);
  use(other);
  const Range room = space_.take(held, 1 + slices);
  ASSERT_NE(room.base, 0u);
  use(Range{room.base, 1, room.zeroed});
  const uintptr_t neighbour = room.base + slice_bytes;
  space_.give_part(held, neighbour, slices, false);
  // That both were given at once is forgotten, also by the program's own threads.
  space_.purge_surplus(held, LowMark::turns_kept + 1);
  space_.purge_surplus(held, 1);
  give(held, other.base);
  EXPECT_EQ(space_.dirty_bytes(), 32 * mib);
  const Range grown = space_.take_at(held, neighbour, slices, slices);
  ASSERT_EQ(grown.slices, slices);
  EXPECT_EQ(grown.zeroed, Zeroed::yes);
  EXPECT_LE(space_.dirty_bytes(), options.retain_bytes);
  space_.give(held, neighbour, slices, false);
}

// Purging on behalf of a user that grows joins ranges to the one that it grows over. It takes no
// more than the bound was kept for.
TEST_F(SpaceTest, GrowingInPlaceTakesNothingOfWhatItPurged) {
  options.retain_bytes = 1 * mib;
  options.decay_ms = 1000000;
  constexpr size_t slices = 16 * mib / slice_bytes;
  Held held{space_.lock()};
  const Range room = space_.take(held, 1 + 2 * slices);
  ASSERT_NE(room.base, 0u);
  use(Range{room.base, 1, room.zeroed});
  const uintptr_t near = room.base + slice_bytes;
  const uintptr_t far = near + slices * slice_bytes;
  space_.give_part(held, near, slices, false);
  space_.purge_surplus(held, LowMark::turns_kept + 1);
  space_.purge_surplus(held, 1);
  space_.give_part(held, far, slices, true);
  EXPECT_EQ(space_.dirty_bytes(), 16 * mib);
  const size_t most = space_.counters().given_bytes + space_.dirty_bytes();
  const Range grown = space_.take_at(held, near, 1, 2 * slices);
  ASSERT_NE(grown.slices, 0u);
  EXPECT_LE(space_.counters().given_bytes + space_.dirty_bytes(), most + options.retain_bytes);
  space_.give(held, near, grown.slices, false);
}

TEST_F(SpaceTest, NothingStaysWhereNothingMay) {
  options.retain_bytes = 0;
  Held held{space_.lock()};
  const Range range = space_.take(held, 100);
  use(range);
  give(held, range.base);
  EXPECT_EQ(space_.dirty_bytes(), 0u);
}

TEST_F(SpaceTest, MuchIsGivenBackInFewCalls) {
  constexpr size_t bytes = 512 * mib;
  Held held{space_.lock()};
  const Range range = space_.take(held, bytes / slice_bytes);
  ASSERT_NE(range.base, 0u);
  const SpaceCounters before = space_.counters();
  space_.give(held, range.base, range.slices, true);
  space_.purge_beyond(held, options.retain_bytes);
  EXPECT_GE(space_.counters().purged_bytes - before.purged_bytes, bytes - options.retain_bytes);
  EXPECT_LE(space_.counters().purge_count - before.purge_count, 1 + bytes / urgent_piece_bytes);
}

TEST(PurgePace, TakesTwiceAsMuchWhileTheKernelIsQuick) {
  PurgePace pace{PurgeMode::forced, 1000};
  uint64_t now = 1000;
  const auto pass = [&](uint64_t ns) {
    now += ns;
    pace.note_call(pace.piece_bytes(SIZE_MAX / 2), now);
    return pace.piece_bytes(SIZE_MAX / 2);
  };
  EXPECT_EQ(pace.piece_bytes(SIZE_MAX / 2), urgent_piece_bytes);
  EXPECT_EQ(pace.piece_bytes(1), arena_alignment);
  for (size_t bytes = 2 * urgent_piece_bytes; bytes <= light_piece_bytes_max; bytes *= 2) {
    EXPECT_EQ(pass(light_purge_ns - 1), bytes);
  }
  EXPECT_EQ(pass(0), light_piece_bytes_max);
  EXPECT_EQ(pass(light_purge_ns), urgent_piece_bytes) << "there was much to do";
  pace.note_call(slice_bytes, ++now);
  EXPECT_EQ(pace.piece_bytes(SIZE_MAX / 2), urgent_piece_bytes) << "a small piece says nothing";
  pace = PurgePace{PurgeMode::background, now};
  EXPECT_EQ(pass(1), arena_alignment);
}

TEST_F(SpaceTest, RetentionIsBoundedInTime) {
  options.decay_ms = 30;
  Held held{space_.lock()};
  const Range first = space_.take(held, 16);
  const Range wall = space_.take(held, 1);
  const Range last = space_.take(held, 1);
  use(first);
  use(wall);
  use(last);
  give(held, first.base);
  EXPECT_EQ(space_.dirty_bytes(), 16 * slice_bytes);
  usleep(80000);
  give(held, last.base);  // any later give looks at the clock
  EXPECT_EQ(space_.dirty_bytes(), slice_bytes);
}

TEST_F(SpaceTest, ImpossibleRequestsChangeNothing) {
  Held held{space_.lock()};
  use(space_.take(held, 1));
  const size_t reserved = space_.counters().reserved_bytes;
  EXPECT_EQ(space_.take(held, ~size_t{0}).base, 0u);
  EXPECT_EQ(space_.take(held, ~size_t{0} - 3, 4 * slice_bytes).base, 0u);
  EXPECT_EQ(space_.take(held, size_t{1} << 40).base, 0u);
  EXPECT_EQ(space_.take(held, 1, size_t{1} << 60).base, 0u);
  EXPECT_EQ(space_.counters().reserved_bytes, reserved);
  EXPECT_TRUE(space_.is_sound());
  use(space_.take(held, 1));
  EXPECT_EQ(space_.counters().given_bytes, 2 * slice_bytes);
}

TEST_F(SpaceTest, MetadataIsZeroAlignedAndDistinct) {
  Held held{space_.lock()};
  uintptr_t before_end = 0;
  for (size_t bytes = 1; bytes < 300 * kib; bytes = bytes * 3 / 2 + 1) {
    auto* at = static_cast<unsigned char*>(space_.take_metadata(held, bytes));
    ASSERT_NE(at, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % cache_line_bytes, 0u);
    for (size_t i = 0; i < bytes; i++) ASSERT_EQ(at[i], 0);
    for (size_t i = 0; i < bytes; i++) at[i] = 0xff;
    ASSERT_NE(reinterpret_cast<uintptr_t>(at), before_end - 1);
    before_end = reinterpret_cast<uintptr_t>(at) + bytes;
  }
}

}  // namespace
}  // namespace talus::core
