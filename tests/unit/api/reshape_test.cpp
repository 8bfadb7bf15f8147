// SPDX-License-Identifier: MIT
// tests/unit/api/reshape: growing in place or not at all, resizing without the contents, resizing
// with an alignment, blocks with an aligned place inside, real sizes and copies of texts.
#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <vector>

#include "api/extended.hpp"
#include "effort.hpp"
#include "modes/counting.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

// Allocates blocks until one lies directly behind a large block, where an arena may end, too: after
// a thousand nothing is free there.
std::vector<void*> walls_behind(void* block) {
  const char* end = static_cast<char*>(block) + usable_size(block);
  std::vector<void*> walls;
  do {
    walls.push_back(api::malloc(64 * kib));
  } while (walls.back() != end && walls.size() < 1000);
  EXPECT_EQ(api::expand_in_place(block, usable_size(block) + 1), nullptr) << "no wall is behind it";
  return walls;
}

TEST(Expand, SmallBlocksUpToTheirUsableSize) {
  void* block = api::malloc(1000);
  const size_t usable = usable_size(block);
  errno = 5;
  EXPECT_EQ(api::expand_in_place(block, usable), block);
  EXPECT_EQ(api::expand_in_place(block, usable + 1), nullptr);
  EXPECT_EQ(api::expand_in_place(block, 0), block);
  EXPECT_EQ(api::expand_in_place(block, SIZE_MAX), nullptr);
  EXPECT_EQ(api::expand_in_place(nullptr, 1), nullptr);
  EXPECT_EQ(errno, 5) << "null is an answer, not an error";
  EXPECT_EQ(usable_size(block), usable);
  free_block(block);
}

TEST(Expand, LargeBlocksWhileNothingLiesBehind) {
  test::live_bytes();
  void* block = api::malloc(1 * mib);
  test::fill_pattern(block, 1 * mib, 3);
  const std::vector<void*> walls = walls_behind(block);
  EXPECT_EQ(api::expand_in_place(block, 2 * mib), nullptr);
  EXPECT_EQ(usable_size(block), 1 * mib);
  for (void* wall : walls) free_block(wall);
  purge_beyond(0);  // no thread keeps them
  EXPECT_EQ(api::expand_in_place(block, 2 * mib), block);
  EXPECT_EQ(usable_size(block), 2 * mib);
  EXPECT_TRUE(test::has_kept_pattern(block, 1 * mib, 1 * mib, 3));
  EXPECT_EQ(api::expand_in_place(block, 100), block) << "gives back what is not needed";
  EXPECT_LT(usable_size(block), 64 * kib);
  EXPECT_LT(collect_totals().live_large, 64 * kib);
  free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(NoPreserve, StaysWhereItFitsElseTheOldIsFreedFirst) {
  void* block = api::malloc(1000);
  EXPECT_EQ(api::realloc_no_preserve(block, 900), block);
  block = api::realloc_no_preserve(block, 100000);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(usable_size(block), 100000u);
  EXPECT_EQ(api::realloc_no_preserve(block, 0), nullptr);
  EXPECT_EQ(test::live_bytes(), 0u);
  block = api::realloc_no_preserve(nullptr, 10);
  errno = 0;
  EXPECT_EQ(api::realloc_no_preserve(block, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(test::live_bytes(), 0u) << "the old block is freed";
}

// Both blocks at once would be above the limit; with realloc they would have to be.
TEST(NoPreserve, NeedsNoRoomForBoth) {
  test::live_bytes();
  void* block = api::malloc(40 * mib);
  const std::vector<void*> walls = walls_behind(block);
  const size_t given = collect_totals().space.given_bytes;
  limits.set({0, given + 30 * mib});
  EXPECT_EQ(api::realloc(block, 60 * mib), nullptr);
  block = api::realloc_no_preserve(block, 60 * mib);
  EXPECT_NE(block, nullptr);
  limits.set({0, 0});
  free_block(block);
  for (void* wall : walls) free_block(wall);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(AlignedRealloc, KeepsContentsAndAlignment) {
  test::Random random{test::seed_of("AlignedRealloc")};
  for (size_t round = 0; round < test::rounds_of(200) + 10; round++) {
    const size_t alignment = size_t{1} << random.below(18);
    size_t bytes = 1 + random.of_any_length(18);
    void* at = round % 2 == 0 ? nullptr : api::malloc(bytes);
    at = api::aligned_realloc(at, alignment, bytes);
    for (int step = 0; step < 6; step++) {
      ASSERT_NE(at, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
      ASSERT_GE(usable_size(at), bytes);
      test::fill_pattern(at, bytes, round);
      const size_t wanted = 1 + random.of_any_length(18);
      at = api::aligned_realloc(at, alignment, wanted);
      ASSERT_NE(at, nullptr);
      ASSERT_TRUE(test::has_kept_pattern(at, bytes, bytes < wanted ? bytes : wanted, round));
      bytes = wanted;
    }
    EXPECT_EQ(api::aligned_realloc(at, alignment, 0), nullptr);
  }
  void* block = api::malloc(10);
  errno = 0;
  EXPECT_EQ(api::aligned_realloc(block, 24, 10), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(api::aligned_realloc(block, 64, SIZE_MAX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  free_block(block);
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(AlignedAt, EveryPlaceThatBlocksCanHave) {
  for (size_t alignment = 1; alignment <= slice_bytes; alignment *= 2) {
    size_t smallest_offset = alignment < block_alignment ? alignment : block_alignment;
    for (size_t offset = 0; offset <= 2 * alignment; offset += smallest_offset) {
      for (const size_t bytes : {size_t{0}, size_t{20}, size_t{200}, size_t{3000}, 70 * kib}) {
        void* block = api::memalign_at(alignment, offset, bytes);
        ASSERT_NE(block, nullptr) << alignment << " " << offset << " " << bytes;
        ASSERT_EQ((reinterpret_cast<uintptr_t>(block) + offset) % alignment, 0u);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % block_alignment, 0u);
        ASSERT_GE(usable_size(block), bytes);
        ASSERT_NE(usable_size(block), 0u) << alignment << " " << offset << ": of zero bytes";
        memset(block, 0x5a, bytes);
        free_block(block);
      }
      if (offset >= 8 * smallest_offset) smallest_offset = offset;  // then in larger steps
    }
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_TRUE(test::space_is_sound());
}

// Small ones share slabs with all others, so that a thousand of them do not cost a thousand ranges.
TEST(AlignedAt, SmallBlocksLieInSlabs) {
  const Heap& heap = *test::own_cache().heap;
  test::live_bytes();
  std::vector<void*> blocks;
  for (size_t i = 0; i < 1000; i++) {
    blocks.push_back(api::memalign_at(64, 16, 100));
    ASSERT_EQ((reinterpret_cast<uintptr_t>(blocks.back()) + 16) % 64, 0u);
    test::fill_pattern(blocks.back(), 100, i);
  }
  EXPECT_EQ(collect_totals().live_large, 0u);
  EXPECT_LE(collect_totals().slab_count, 4 * 1000 * 112 / slice_bytes + 2) << "one of 4 is right";
  EXPECT_EQ((std::set<void*>{blocks.begin(), blocks.end()}).size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); i++) {
    EXPECT_TRUE(test::has_pattern(blocks[i], 100, i));
    free_block(blocks[i]);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(heap.slab_bytes, 0u);
  EXPECT_EQ(heap.free_bytes, 0u) << "counted at each coming and going";
}

// Blocks that start inside their range are like all others for every other call.
TEST(AlignedAt, BlocksWithABeginningOfTheirOwn) {
  for (const size_t wanted : {size_t{50}, size_t{5000}, 100 * kib, 900 * kib}) {
    char* block = static_cast<char*>(api::memalign_at(4096, 48, 300 * kib));
    ASSERT_NE(block, nullptr);
    ASSERT_NE(reinterpret_cast<uintptr_t>(block) % slice_bytes, 0u);
    const size_t usable = usable_size(block);
    ASSERT_GE(usable, 300 * kib);
    memset(block, 1, usable);
    test::fill_pattern(block, 300 * kib, 9);
    EXPECT_EQ(api::expand_in_place(block, usable), block);
    EXPECT_EQ(api::expand_in_place(block, usable + 1), nullptr);
    void* moved = api::realloc(block, wanted);
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(test::has_kept_pattern(moved, 300 * kib, wanted, 9)) << wanted;
    free_block(moved);
  }
  // One that was kept by the thread is given out with its beginning at the front again.
  free_block(api::memalign_at(4096, 48, 40000));
  void* next = api::malloc(40000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(next) % slice_bytes, 0u);
  EXPECT_EQ(usable_size(next), api::malloc_good_size(40000));
  free_block(next);
  EXPECT_EQ(test::live_bytes(), 0u);
  EXPECT_EQ(collect_totals().live_large, 0u);
}

// What lies before a block is no part of it, whether it is kept by its thread then or goes back.
TEST(AlignedAt, OnlyTheBlockCounts) {
  test::live_bytes();
  for (const size_t bytes : {100 * kib, 2 * mib}) {
    void* block = api::memalign_at(slice_bytes, 48, bytes);
    ASSERT_NE(block, nullptr);
    const HeapTotals totals = collect_totals();
    EXPECT_EQ(totals.live_large, usable_size(block));
    EXPECT_GE(totals.large_ends, slice_bytes - 48) << "what lies before it";
    free_block(block);
    EXPECT_EQ(collect_totals().live_large, 0u);
  }
  EXPECT_EQ(test::live_bytes(), 0u);
}

TEST(AlignedAt, Errors) {
  const auto error_of = [](size_t alignment, size_t offset, size_t bytes) {
    errno = 0;
    EXPECT_EQ(api::memalign_at(alignment, offset, bytes), nullptr);
    return errno;
  };
  EXPECT_EQ(error_of(48, 0, 10), EINVAL);
  EXPECT_EQ(error_of(64, 8, 10), EINVAL);
  EXPECT_EQ(error_of(2 * slice_bytes, 16, 10), EINVAL);
  EXPECT_EQ(error_of(64, 16, SIZE_MAX), ENOMEM);
  EXPECT_EQ(error_of(64, 16, PTRDIFF_MAX), ENOMEM);
  void* block = api::memalign_at(2 * slice_bytes, 4 * slice_bytes, 10);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 * slice_bytes), 0u);
  free_block(block);
}

TEST(AtLeast, TellsTheUsableSize) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{33000}, 5 * mib + 1}) {
    for (const size_t alignment : {size_t{8}, size_t{256}, size_t{8192}}) {
      const talus_block block = api::allocate_at_least(alignment, bytes);
      ASSERT_NE(block.pointer, nullptr);
      EXPECT_GE(block.bytes, bytes);
      EXPECT_EQ(block.bytes, usable_size(block.pointer));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.pointer) % alignment, 0u);
      memset(block.pointer, 1, block.bytes < mib ? block.bytes : mib);
      free_block(block.pointer);
    }
  }
  errno = 0;
  const talus_block none = api::allocate_at_least(16, SIZE_MAX);
  EXPECT_EQ(none.pointer, nullptr);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Texts, AreCopied) {
  char text[] = "abcdef";
  char* copy = api::strdup(text);
  char* part = api::strndup(text, 3);
  const volatile size_t more_than_it_has = 100;
  char* whole = api::strndup(text, more_than_it_has);
  const char no_end[3] = {'x', 'y', 'z'};
  char* bounded = api::strndup(no_end, sizeof no_end);
  text[0] = 'Z';
  EXPECT_STREQ(copy, "abcdef");
  EXPECT_STREQ(part, "abc");
  EXPECT_STREQ(whole, "abcdef");
  EXPECT_STREQ(bounded, "xyz");
  for (char* each : {copy, part, whole, bounded}) free_block(each);
  char* path = api::realpath("/./usr/..//", nullptr);
  EXPECT_STREQ(path, "/");
  EXPECT_GT(usable_size(path), 0u) << "a block of Talus";
  free_block(path);
  char buffer[PATH_MAX];
  EXPECT_EQ(api::realpath("/", buffer), buffer);
  // A name that is no symbolic link makes libc's set errno on its way.
  errno = 1234;
  free_block(api::realpath("/usr/../usr", nullptr));
  EXPECT_EQ(errno, 1234);
  EXPECT_EQ(api::realpath("/usr/../usr", buffer), buffer);
  EXPECT_EQ(errno, 1234);
  errno = 0;
  EXPECT_EQ(api::realpath("/no such file", nullptr), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(test::live_bytes(), 0u);
}

}  // namespace
}  // namespace talus::core
