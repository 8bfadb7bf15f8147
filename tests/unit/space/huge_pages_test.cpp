// SPDX-License-Identifier: MIT
// tests/unit/space/huge_pages: which untouched addresses ask for huge pages, and when they are
// given up.
#include <gtest/gtest.h>

#include <cstring>

#include "space/arenas.hpp"
#include "space/huge_pages.hpp"

namespace talus::core {
namespace {

constexpr size_t huge = arena_alignment;
constexpr size_t small_process = mib, large_process = huge_dense_bytes_min;

class HugePagesTest : public testing::Test {
 protected:
  HugePagesTest() : before_{options} {
    rare_calls.ask_when_needed([]() noexcept { return true; });
    arena_ = arenas_.reserve(64 * mib, PageRequest::small, 0, SIZE_MAX);
    EXPECT_NE(arena_.base, 0u);
  }
  ~HugePagesTest() override {
    options = before_;
    os::System::unmap(reinterpret_cast<void*>(arena_.base), arena_.bytes);
  }

  // A slab of 64 KiB is taken at this offset, when all behind it is untouched.
  void take(size_t offset, Filling filling, size_t given_bytes) {
    const uintptr_t base = arena_.base + offset;
    policy_.begin_use(base, base + slice_bytes, arena_.base + arena_.bytes, filling, given_bytes,
                      metadata_);
  }
  bool is_huge(size_t offset) const { return policy_.is_huge(arena_.base + offset); }

  Options before_;
  Metadata metadata_;
  Arenas arenas_;
  HugePagePolicy policy_;
  Arena arena_;
};

TEST_F(HugePagesTest, AskWhereAHugePageBeginsInALargeDenseHeap) {
  take(0, Filling::dense, large_process);
  EXPECT_TRUE(is_huge(0));
  EXPECT_TRUE(is_huge(huge - 1));
  EXPECT_FALSE(is_huge(large_process / 4)) << "a quarter of what is used, not the whole arena";
}

TEST_F(HugePagesTest, LeaveAHugePageAloneThatIsInUseAlready) {
  take(slice_bytes, Filling::dense, large_process);
  EXPECT_FALSE(is_huge(slice_bytes));
  EXPECT_FALSE(is_huge(huge)) << "not yet taken";
  take(huge - slice_bytes, Filling::dense, large_process);
  EXPECT_FALSE(is_huge(huge));
  take(huge, Filling::dense, large_process);
  EXPECT_TRUE(is_huge(huge));
  EXPECT_FALSE(is_huge(slice_bytes));
}

TEST_F(HugePagesTest, AskForNothingInSmallOrSparseHeapsNorForLargeBlocks) {
  take(0, Filling::dense, small_process);
  take(0, Filling::sparse, large_process);
  take(0, Filling::unknown, huge_sparse_bytes_min);
  EXPECT_FALSE(policy_.has_huge());
  take(0, Filling::sparse, huge_sparse_bytes_min);
  EXPECT_TRUE(policy_.has_huge());
}

TEST_F(HugePagesTest, AskEarlierWhereSlabsGrowFast) {
  constexpr size_t half_large = huge_fast_bytes_min;
  static_assert(half_large < huge_dense_bytes_min);
  take(0, Filling::middling, large_process);
  take(0, Filling::dense, half_large);
  EXPECT_FALSE(policy_.has_huge()) << "a slow process is too small, or not dense enough";
  const uint64_t now = os::System::now_ns();
  policy_.note_growth(slice_bytes, now);
  policy_.note_growth(fast_growth_bytes, now);
  take(0, Filling::sparse, half_large);
  EXPECT_FALSE(policy_.has_huge()) << "half of a sparse heap is gaps";
  take(0, Filling::middling, half_large - 1);
  EXPECT_FALSE(policy_.has_huge()) << "a huge page is too much of a small process";
  // These two look at the clock: a thread that is stopped here for 2 ms would see it as slow.
  policy_.note_growth(fast_growth_bytes, os::System::now_ns());
  take(0, Filling::middling, half_large);
  if (os::System::now_ns() - now < fast_growth_ns) {
    EXPECT_TRUE(is_huge(0));
  }
}

TEST(GrowthPaceTest, IsFastWhileAMibTakesLessThanItsTime) {
  GrowthPace pace;
  uint64_t now = 1000 * fast_growth_ns;
  const auto grow = [&](uint64_t ns) {
    for (size_t i = 0; i < 16; i++) pace.note(fast_growth_bytes / 16, now += ns / 16);
    return pace.is_fast();
  };
  EXPECT_FALSE(grow(fast_growth_ns / 2)) << "the begin is not known yet";
  EXPECT_TRUE(grow(fast_growth_ns / 2));
  EXPECT_TRUE(grow(fast_growth_ns / 2));
  EXPECT_FALSE(grow(fast_growth_ns * 2));
  EXPECT_FALSE(grow(fast_growth_ns * 20));
  grow(fast_growth_ns / 2);
  EXPECT_TRUE(grow(fast_growth_ns / 2));
  pace.note(slice_bytes, now += 100 * fast_growth_ns);
  EXPECT_FALSE(pace.is_fast()) << "long ago";
}

TEST_F(HugePagesTest, AskForLargeBlocksOnceTheOnesBeforeWereFilled) {
  take(0, Filling::unknown, huge_proven_bytes_min);
  EXPECT_FALSE(policy_.has_huge()) << "the first place is the probe";
  memset(reinterpret_cast<void*>(arena_.base), 1, huge);
  const uintptr_t base = arena_.base + huge;
  policy_.begin_use(base, base + 12 * huge, arena_.base + arena_.bytes, Filling::unknown,
                    large_process, metadata_);
  EXPECT_TRUE(is_huge(huge));
  EXPECT_TRUE(is_huge(large_process / 2));
  EXPECT_EQ(is_huge(huge + large_process / 2), false) << "half of what is used, at most";
}

TEST_F(HugePagesTest, AskOnlyForWholeHugePagesThatAreUntouched) {
  const uintptr_t base = arena_.base;
  policy_.begin_use(base, base + slice_bytes, base + huge - slice_bytes, Filling::dense,
                    large_process, metadata_);
  EXPECT_FALSE(policy_.has_huge());
  policy_.begin_use(base, base + slice_bytes, base + 2 * huge - slice_bytes, Filling::dense,
                    64 * large_process, metadata_);
  EXPECT_TRUE(is_huge(0));
  EXPECT_FALSE(is_huge(huge));
}

TEST_F(HugePagesTest, ObeyTheOption) {
  options.thp = HugePages::never;
  take(0, Filling::dense, large_process);
  EXPECT_FALSE(policy_.has_huge());
}

// Contents that moved from one half of the arena to the other, with a slice before them.
class MovedContents : public HugePagesTest {
 protected:
  static constexpr size_t bytes = 4 * huge, to = 8 * huge;

  void move(bool is_filled, size_t given_bytes = large_process) {
    const uintptr_t from = arena_.base + slice_bytes;
    const uintptr_t target = arena_.base + to + slice_bytes;
    policy_.note_moved(from, from + bytes, target, target + bytes + huge - slice_bytes, is_filled,
                       given_bytes, metadata_);
  }
};

TEST_F(MovedContents, OfHugePagesAskForThemWhereTheyAre) {
  take(huge, Filling::dense, large_process);
  move(false);
  EXPECT_FALSE(is_huge(to)) << "not all of it is theirs";
  for (size_t place = 1; place <= 4; place++) EXPECT_TRUE(is_huge(to + place * huge)) << place;
  EXPECT_FALSE(is_huge(to + bytes + huge));
  EXPECT_TRUE(is_huge(huge)) << "what they leave asks again";
}

TEST_F(MovedContents, ThatFillSmallPagesAskForHugeOnes) {
  move(false);
  EXPECT_FALSE(is_huge(to + huge));
  move(true, huge_proven_bytes_min - 1);
  EXPECT_FALSE(is_huge(to + huge)) << "the process is small";
  options.thp = HugePages::never;
  move(true);
  EXPECT_FALSE(is_huge(to + huge));
  options.thp = HugePages::adaptive;
  move(true);
  EXPECT_TRUE(is_huge(to + huge));
  EXPECT_TRUE(is_huge(to + bytes));
}

TEST_F(MovedContents, AskForWhatLiesAroundPlacesThatAsked) {
  take(to + 2 * huge, Filling::dense, large_process);
  ASSERT_TRUE(is_huge(to + 2 * huge));
  move(true);
  for (size_t place = 1; place <= 4; place++) EXPECT_TRUE(is_huge(to + place * huge)) << place;
  EXPECT_FALSE(is_huge(to));
  const size_t used = metadata_.used_bytes();
  move(true);
  EXPECT_EQ(metadata_.used_bytes(), used) << "nothing is left to remember";
}

TEST_F(MovedContents, AreNotAskedForWhenTheirRoomIsTaken) {
  take(0, Filling::moved, huge_sparse_bytes_min);
  take(huge, Filling::moved, huge_sparse_bytes_min);
  EXPECT_FALSE(is_huge(0));
  EXPECT_FALSE(is_huge(huge));
}

TEST_F(HugePagesTest, GiveHugePagesUpAndMayAskAgain) {
  take(0, Filling::dense, large_process);
  take(8 * huge, Filling::dense, large_process);
  take(huge, Filling::dense, large_process);
  EXPECT_TRUE(is_huge(0) && is_huge(huge) && is_huge(8 * huge));
  policy_.split_all();
  EXPECT_FALSE(policy_.has_huge());
  const size_t used = metadata_.used_bytes();
  take(8 * huge, Filling::dense, large_process);
  EXPECT_TRUE(is_huge(8 * huge));
  EXPECT_EQ(metadata_.used_bytes(), used) << "what remembered it before is used again";
}

TEST(HugePagePolicy, IsSparseWhereMuchStaysFreeOrTheProcessIsSmall) {
  constexpr size_t large = 256 * mib, part = large / sparse_free_part;
  EXPECT_FALSE(HugePagePolicy::is_sparse(0, large, 0, large));
  EXPECT_FALSE(HugePagePolicy::is_sparse(part, large, part, large));
  EXPECT_TRUE(HugePagePolicy::is_sparse(part + 1, large, 0, large)) << "slabs";
  EXPECT_TRUE(HugePagePolicy::is_sparse(0, large, part + 1, large)) << "ranges";
  constexpr size_t least = sparse_surplus_bytes_min;
  EXPECT_FALSE(HugePagePolicy::is_sparse(least - 1, mib, least - 1, huge_fast_bytes_min));
  EXPECT_TRUE(HugePagePolicy::is_sparse(least, mib, 0, huge_fast_bytes_min));
  EXPECT_TRUE(HugePagePolicy::is_sparse(0, 0, 0, huge_fast_bytes_min - 1)) << "small";
}

TEST(HugePagePolicy, AsksForArenasAsTheOptionSays) {
  const Options before = options;
  constexpr size_t large = small_process_bytes_max;
  EXPECT_EQ(HugePagePolicy::request_for_arena(Filling::unknown, large - 1), PageRequest::small);
  EXPECT_EQ(HugePagePolicy::request_for_arena(Filling::unknown, large), PageRequest::system);
  EXPECT_EQ(HugePagePolicy::request_for_arena(Filling::sparse, large), PageRequest::small);
  options.thp = HugePages::always;
  EXPECT_EQ(HugePagePolicy::request_for_arena(Filling::sparse, 0), PageRequest::huge);
  options.thp = HugePages::never;
  EXPECT_EQ(HugePagePolicy::request_for_arena(Filling::unknown, large), PageRequest::small);
  options = before;
}

}  // namespace
}  // namespace talus::core
