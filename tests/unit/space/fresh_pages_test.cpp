// SPDX-License-Identifier: MIT
// tests/unit/space/fresh_pages: which users may take from a huge page that another user began.
#include <map>
#include <thread>
#include <vector>

#include "space/fresh_pages.hpp"
#include "space/space_fixture.hpp"

namespace talus::core {
namespace {

constexpr size_t page_bytes = FreshPages::page_bytes;

// Untouched addresses, and three threads that take from them.
class FreshPagesTest : public testing::Test {
 protected:
  // Takes at the beginning of a free range, or where FreshPages says. Returns where.
  uintptr_t take(uintptr_t thread, size_t bytes) {
    const Taker taker{thread, now_ns_};
    const auto [from, to] = *free_.rbegin();
    const auto free_at = [this](uintptr_t address) noexcept -> size_t {
      const auto found = free_.find(address);
      return found == free_.end() ? 0 : found->second - address;
    };
    const uintptr_t at = pages_.choose(from, to, bytes, given_bytes_, taker, free_at);
    carve(at, at + bytes);
    pages_.note_taken(at, at + bytes, taker);
    return at;
  }
  void carve(uintptr_t from, uintptr_t to) {
    auto range = free_.upper_bound(from);
    ASSERT_NE(range, free_.begin());
    --range;
    const auto [start, end] = *range;
    ASSERT_LE(to, end);
    free_.erase(range);
    if (start < from) free_[start] = from;
    if (to < end) free_[to] = end;
  }
  static uintptr_t page(size_t number) { return first + number * page_bytes; }

  static constexpr uintptr_t first = 64 * page_bytes;
  FreshPages pages_;
  std::map<uintptr_t, uintptr_t> free_{{first, first + 8 * page_bytes}};
  size_t given_bytes_ = 1024 * page_bytes;
  uint64_t now_ns_ = 10 * FreshPages::begin_ns;
};

TEST_F(FreshPagesTest, TheUserThatBeganAPageHasItAtFirst) {
  EXPECT_EQ(take(1, slice_bytes), page(0));
  EXPECT_EQ(take(2, slice_bytes), page(1));
  EXPECT_EQ(take(3, slice_bytes), page(2));
  EXPECT_EQ(take(1, slice_bytes), page(0) + slice_bytes);
  EXPECT_EQ(take(2, slice_bytes), page(1) + slice_bytes);
}

TEST_F(FreshPagesTest, OthersGoOnInIt) {
  take(1, slice_bytes);
  take(2, slice_bytes);
  now_ns_ += FreshPages::begin_ns;
  EXPECT_EQ(take(3, slice_bytes), page(0) + slice_bytes);
  EXPECT_EQ(take(3, page_bytes - 2 * slice_bytes), page(0) + 2 * slice_bytes);
  EXPECT_EQ(take(3, slice_bytes), page(1) + slice_bytes) << "before a third is begun";
}

TEST_F(FreshPagesTest, WhatDoesNotFitTheRestLeavesIt) {
  take(1, page_bytes - slice_bytes);
  take(2, slice_bytes);
  EXPECT_EQ(take(1, 2 * slice_bytes), page(2)) << "the second is not there yet";
  EXPECT_EQ(take(1, slice_bytes), page(1) - slice_bytes);
  EXPECT_EQ(take(1, slice_bytes), page(2) + 2 * slice_bytes);
}

TEST_F(FreshPagesTest, OneThreadLeavesNothingOut) {
  uintptr_t expected = first;
  for (const size_t slices : {1, 5, 40, 3, 64, 1, 31, 2}) {
    EXPECT_EQ(take(1, slices * slice_bytes), expected);
    expected += slices * slice_bytes;
    now_ns_ += FreshPages::begin_ns / 4;
  }
}

TEST_F(FreshPagesTest, WithoutRoomForAnotherTheySharePages) {
  carve(page(0) + 2 * slice_bytes, page(8));
  take(1, slice_bytes);
  EXPECT_EQ(take(2, slice_bytes), page(0) + slice_bytes);
}

TEST_F(FreshPagesTest, SmallProcessesHaveNoRoomForMany) {
  given_bytes_ = 16 * page_bytes;
  EXPECT_EQ(take(1, slice_bytes), page(0));
  EXPECT_EQ(take(2, slice_bytes), page(1));
  EXPECT_EQ(take(3, slice_bytes), page(1) + slice_bytes) << "two were begun";
  EXPECT_EQ(take(2, page_bytes - 2 * slice_bytes), page(1) + 2 * slice_bytes);
  EXPECT_EQ(take(3, slice_bytes), page(2)) << "one is left";
}

TEST_F(FreshPagesTest, ManyPagesAtOnceForgetTheFirst) {
  free_ = {{first, first + 64 * page_bytes}};
  for (size_t i = 0; i < 40; i++) EXPECT_EQ(take(i + 1, slice_bytes), page(i));
  EXPECT_EQ(take(40, slice_bytes), page(39) + slice_bytes);
}

// Two threads that take for slabs by turns, in a process that asks for huge pages.
TEST_F(SpaceTest, ThreadsBeginHugePagesOfTheirOwn) {
  Held held{space_.lock()};
  // Makes the process large enough, and takes the untouched addresses that are there already.
  std::vector<Range> small{space_.take(held, 64 * mib / slice_bytes)};
  while (space_.clean_bytes() > 0) small.push_back(space_.take(held, 1));
  options.thp = HugePages::always;
  options.arena_bytes = 8 * mib;
  const auto take_one = [&] {
    const Range range = space_.take(held, 1, slice_bytes, Filling::dense);
    EXPECT_EQ(range.zeroed, Zeroed::yes);
    use(range);
    return range.base;
  };
  // On a machine that did something else meanwhile, a page may be taken for one that is there.
  const uint64_t start_ns = os::System::now_ns();
  const auto is_late = [start_ns] {
    return os::System::now_ns() - start_ns >= FreshPages::begin_ns;
  };
  const uintptr_t mine = take_one();
  ASSERT_TRUE(space_.is_huge(held, mine));
  uintptr_t other = 0;
  std::thread{[&] { other = take_one(); }}.join();
  if (!is_late()) {
    EXPECT_NE(other / page_bytes, mine / page_bytes);
  }
  const uintptr_t next = take_one();
  const bool is_behind_other = is_late() && next == other + slice_bytes;
  EXPECT_TRUE(next == mine + slice_bytes || is_behind_other) << "no third page was begun";
  for (const Range& range : small) {
    page_map.set_ends(range.base, range.slices, PageEntry::large(), this);
    space_.give(held, range.base, range.slices, range.zeroed == Zeroed::no);
  }
}

}  // namespace
}  // namespace talus::core
