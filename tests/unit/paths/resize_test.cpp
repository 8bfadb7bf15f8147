// SPDX-License-Identifier: MIT
// tests/unit/paths/resize: contents survive every change of size; blocks grow where they are or are
// moved by the kernel, and what a block no longer needs goes back.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "effort.hpp"
#include "footprint.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

TEST(Resize, RandomSizesKeepTheContents) {
  test::Random random{test::seed_of("Resize.Random")};
  for (size_t round = 0; round < test::rounds_of(300) + 10; round++) {
    size_t bytes = random.of_any_length(22);
    void* at = allocate(bytes);
    test::fill_pattern(at, bytes, round);
    for (int step = 0; step < 12; step++) {
      const size_t wanted = 1 + random.of_any_length(22);
      at = reallocate(at, wanted);
      ASSERT_NE(at, nullptr);
      ASSERT_GE(usable_size(at), wanted);
      ASSERT_TRUE(test::has_kept_pattern(at, bytes, wanted < bytes ? wanted : bytes, round))
          << bytes << " to " << wanted;
      bytes = wanted;
      test::fill_pattern(at, bytes, round);
    }
    free_block(at);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

TEST(Resize, SmallStaysWhereItFits) {
  void* at = allocate(1000);
  const size_t usable = usable_size(at);
  EXPECT_EQ(reallocate(at, usable), at);
  EXPECT_EQ(reallocate(at, usable / 2), at);
  void* moved = reallocate(at, usable / 4);
  EXPECT_LT(usable_size(moved), usable / 2) << "half of a block must not be wasted";
  free_block(moved);
}

TEST(Resize, GrowsIntoAFreeNeighbour) {
  test::live_bytes();
  void* at = allocate(1 * mib);
  void* neighbour = allocate(1 * mib);
  test::fill_pattern(at, 1 * mib, 5);
  if (neighbour == static_cast<char*>(at) + mib) {
    free_block(neighbour);
    EXPECT_EQ(reallocate(at, 3 * mib / 2), at);
    EXPECT_TRUE(test::has_kept_pattern(at, 1 * mib, 1 * mib, 5));
  } else {
    free_block(neighbour);
  }
  EXPECT_TRUE(test::space_is_sound());
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A block that keeps its pages is answered without a lock; each border of that.
TEST(Resize, LargeStaysWhileItNeedsTheSamePages) {
  const size_t page_bytes = os::page_bytes();
  const size_t usable = round_up(400 * kib, slice_bytes) - slice_bytes + 2 * page_bytes;
  void* at = allocate(usable - 7);
  void* wall = allocate(usable);
  test::fill_pattern(at, usable - 7, 3);
  const size_t live = collect_totals().live_large;
  for (const size_t bytes : {usable, usable - page_bytes + 1, usable - 8}) {
    EXPECT_EQ(reallocate(at, bytes), at);
    EXPECT_EQ(usable_size(at), usable);
    EXPECT_EQ(collect_totals().live_large, live);
  }
  if (page_bytes < slice_bytes) {
    EXPECT_EQ(reallocate(at, usable + 1), at) << "the slice has room";
  } else {
    at = reallocate(at, usable + 1);
  }
  EXPECT_EQ(usable_size(at), usable + page_bytes);
  EXPECT_EQ(reallocate(at, usable), at) << "a page less";
  EXPECT_EQ(usable_size(at), usable);
  EXPECT_EQ(reallocate(at, usable - page_bytes), at);
  EXPECT_EQ(usable_size(at), usable - page_bytes);
  EXPECT_EQ(collect_totals().live_large, live - page_bytes);
  at = reallocate(at, usable + slice_bytes);  // more slices, here or elsewhere
  EXPECT_EQ(usable_size(at), usable + slice_bytes);
  EXPECT_EQ(collect_totals().live_large, live + slice_bytes);
  EXPECT_TRUE(test::has_kept_pattern(at, usable - 7, usable - page_bytes, 3));
  EXPECT_TRUE(test::space_is_sound());
  free_block(at);
  free_block(wall);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Resize, LargeBlocksOfFewBytesBecomeSmall) {
  test::live_bytes();
  void* at = allocate_aligned(slice_bytes, 100);  // has pages of its own
  test::fill_pattern(at, 100, 4);
  EXPECT_EQ(usable_size(at), os::page_bytes());
  at = reallocate(at, os::page_bytes() - 8 < small_bytes_max ? os::page_bytes() - 8 : 3000);
  EXPECT_TRUE(test::has_pattern(at, 100, 4));
  EXPECT_EQ(collect_totals().live_large, 0u);
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Resize, BlocksWithoutBytesDoNotBecomeEndless) {
  void* at = allocate_aligned(2 * slice_bytes, 0);
  EXPECT_EQ(usable_size(at), os::page_bytes());
  for (size_t less = 0; less < 2 * slice_bytes; less = 2 * less + 1) {
    EXPECT_EQ(reallocate(at, ~size_t{0} - less), nullptr) << less;
  }
  EXPECT_EQ(usable_size(at), os::page_bytes());
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Another thread's blocks stay, too: whose they are is no matter then.
TEST(Resize, BlocksOfOthersStayWhereTheyFit) {
  void* small = allocate(1000);
  void* large = allocate(100 * kib);
  test::on_threads(1, [&](size_t) {
    EXPECT_EQ(reallocate(small, usable_size(small)), small);
    EXPECT_EQ(reallocate(large, usable_size(large)), large);
    test::fill_pattern(large, 100 * kib, 9);
    large = reallocate(large, 300 * kib);
    small = reallocate(small, 100);
    EXPECT_TRUE(test::has_kept_pattern(large, 100 * kib, 100 * kib, 9));
  });
  free_block(small);
  free_block(large);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// A wall behind each block forces every step to move; the kernel moves the pages.
TEST(Resize, MovesLargeBlocksWithTheirContents) {
  std::vector<void*> walls;
  size_t bytes = 300 * kib;
  void* at = allocate(bytes);
  test::fill_pattern(at, bytes, 6);
  size_t moves = 0;
  for (int step = 0; step < 30; step++) {
    walls.push_back(allocate(64 * kib));
    const size_t wanted = bytes + bytes / 4 + 64 * kib;
    void* grown = reallocate(at, wanted);
    ASSERT_NE(grown, nullptr);
    moves += grown != at;
    ASSERT_TRUE(test::has_kept_pattern(grown, bytes, bytes, 6));
    at = grown;
    bytes = wanted;
    test::fill_pattern(at, bytes, 6);
    if (bytes > 48 * mib) break;
  }
  EXPECT_GE(moves, 2u);
  free_block(at);
  for (void* wall : walls) free_block(wall);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Mappings of this process, read without allocating.
size_t count_mappings() {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char text[4096];
  size_t lines = 0;
  for (ssize_t bytes = 0; (bytes = read(file, text, sizeof text)) > 0;) {
    lines += static_cast<size_t>(std::count(text, text + bytes, '\n'));
  }
  close(file);
  return lines;
}

// Where contents moved away, pages are mapped anew. Otherwise each move leaves a mapping apart, and
// the next block there is moved in one more piece for each.
TEST(Resize, MovesLeaveNoMappingsBehind) {
  if (test::may_be_emulated) GTEST_SKIP() << "an emulator shows its own mappings";
  const size_t most = test::under_asan || test::under_tsan ? 4 * mib : 16 * mib;
  size_t moves = 0;
  const auto count_move = [&moves](test::GrowthStep step) {
    EXPECT_TRUE(step.kept);
    moves += step.moved;
    return step.kept;
  };
  test::grow_two(300 * kib, most, count_move);
  const size_t before = count_mappings();
  for (size_t round = 0; round < 20; round++) {
    test::grow_two(300 * kib + round * 100 * kib, most, count_move);
  }
  EXPECT_GE(moves, 60u);
  EXPECT_LT(count_mappings(), before + 60);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Neither a move, in which two ranges are given for one block, nor growing in place lets more stay.
TEST(Resize, GrowthKeepsTheBound) {
  test::Footprint footprint;
  for (int round = 0; round < 10; round++) {
    test::grow_two(64, test::most_grown, [&footprint](test::GrowthStep step) {
      EXPECT_TRUE(step.kept);
      EXPECT_LE(footprint.bytes(), footprint.most(step.copied_bytes()));
      return step.kept;
    });
    EXPECT_LE(footprint.bytes(), footprint.most());
  }
}

// A block that shrank a little has more room than the one that it moves to.
TEST(Resize, AMoveEndsWhereTheNewRangeEnds) {
  constexpr size_t slices = 48;
  LargeBlock* from = nullptr;
  {
    Zeroed zeroed = Zeroed::no;
    from = take_large(slices * slice_bytes, slices, Placing{}, zeroed);
    ASSERT_NE(from, nullptr);
  }
  const size_t kept = slices * slice_bytes * 3 / 4 + slice_bytes;
  ASSERT_TRUE(resize_large_in_place(*from, kept));
  ASSERT_EQ(from->slices, slices);
  test::fill_pattern(start_of(*from), kept, 5);
  LargeMove move{*from};
  ASSERT_TRUE(move.take_room(kept + slice_bytes, HeapId::none));
  LargeBlock& to = move.to();
  ASSERT_LT(to.slices, slices) << "or this shows nothing";
  const uintptr_t end = to.base + to.slices * slice_bytes;
  Range behind;
  {
    Held held{space.lock()};
    behind = space.take_at(held, end, 1, 1);
    ASSERT_NE(behind.base, 0u);
    page_map.set_ends(behind.base, 1, PageEntry::large(), from);
  }
  void* const other = reinterpret_cast<void*>(end);
  test::fill_pattern(other, slice_bytes, 7);
  give_large(*from, move.move());
  EXPECT_TRUE(test::has_pattern(start_of(to), kept, 5));
  EXPECT_TRUE(test::has_pattern(other, slice_bytes, 7)) << "the block behind it";
  {
    Held held{space.lock()};
    space.give(held, end, 1, true);
  }
  free_block(start_of(to));
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// A block that keeps growing in small steps moves a logarithmic number of times.
TEST(Resize, SteadyGrowthMovesSeldom) {
  void* at = allocate(64 * kib);
  size_t moves = 0;
  const size_t most = test::under_asan || test::under_tsan ? 16 * mib : 128 * mib;
  for (size_t bytes = 64 * kib; bytes < most; bytes += 64 * kib) {
    void* grown = reallocate(at, bytes);
    ASSERT_NE(grown, nullptr);
    moves += grown != at;
    at = grown;
    static_cast<char*>(at)[bytes - 1] = 1;
  }
  EXPECT_LT(moves, 60u);
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(Resize, ShrinkingGivesBack) {
  void* at = allocate(32 * mib);
  test::fill_pattern(at, 32 * mib, 7);
  void* shrunk = reallocate(at, 1 * mib);
  ASSERT_NE(shrunk, nullptr);
  EXPECT_TRUE(test::has_kept_pattern(shrunk, 32 * mib, 1 * mib, 7));
  EXPECT_EQ(collect_totals().live_large, 1 * mib);
  EXPECT_LE(collect_totals().space.given_bytes - collect_totals().slab_count * slab_bytes_max(),
            2 * mib);
  shrunk = reallocate(shrunk, 100);  // to a small block
  EXPECT_TRUE(test::has_kept_pattern(shrunk, 32 * mib, 100, 7));
  EXPECT_EQ(collect_totals().live_large, 0u);
  free_block(shrunk);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// What lies behind a shrunken block's end may be anything; growing again must not show old bytes
// as part of a zeroed block.
TEST(Resize, ZeroedBlockAfterShrinkIsZero) {
  void* at = allocate(8 * mib);
  test::fill_pattern(at, 8 * mib, 8);
  at = reallocate(at, 1 * mib);
  void* zeroed = allocate_zeroed(6 * mib);
  EXPECT_TRUE(test::is_zero(zeroed, 6 * mib));
  free_block(zeroed);
  free_block(at);
  EXPECT_EQ(test::live_bytes(), 0u);
}

// Where there is no room for another block, this one stays, as small as it can be.
TEST(Resize, ShrinksWithoutMemory) {
  const LimitBytes before{limits.soft_bytes.load_relaxed(), limits.hard_bytes.load_relaxed()};
  void* large = allocate(8 * mib);
  void* small = allocate(20000);
  test::fill_pattern(large, 100, 1);
  test::fill_pattern(small, 100, 2);
  limits.set(LimitBytes{0, 1});
  std::vector<void*> others;
  for (size_t bytes = 20000; bytes >= 16; bytes /= 2) {
    while (void* block = allocate(bytes)) others.push_back(block);
  }
  while (void* block = allocate(100)) others.push_back(block);
  while (void* block = allocate(3000)) others.push_back(block);
  EXPECT_EQ(reallocate(large, 3000), large);
  EXPECT_EQ(usable_size(large), usable_bytes_of_large(small_bytes_max + 1));
  EXPECT_EQ(reallocate(small, 100), small);
  EXPECT_EQ(reallocate(small, 9 * mib), nullptr);
  EXPECT_TRUE(test::has_pattern(large, 100, 1));
  EXPECT_TRUE(test::has_pattern(small, 100, 2));
  limits.set(before);
  for (void* block : others) free_block(block);
  free_block(large);
  free_block(small);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
