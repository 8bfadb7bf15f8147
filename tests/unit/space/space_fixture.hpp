// SPDX-License-Identifier: MIT
// tests/unit/space/space_fixture: users of address space that write their memory, and their ranges.
#ifndef TALUS_TESTS_UNIT_SPACE_SPACE_FIXTURE_HPP
#define TALUS_TESTS_UNIT_SPACE_SPACE_FIXTURE_HPP

#include <gtest/gtest.h>

#include <map>

#include "space/space.hpp"

namespace talus::core {

struct Shadow {
  size_t slices = 0;
  uint64_t mark = 0;
};

// There is one page map, so there can be one space: tests share it and leave it clean.
inline Space only_space;

// The ranges of the space by user.
class SpaceTest : public testing::Test {
 protected:
  SpaceTest() : before_{options} {}
  ~SpaceTest() override {
    Held held{space_.lock()};
    while (!users_.empty()) give(held, users_.begin()->first);
    space_.split_huge(held);
    space_.purge_beyond(held, 0);
    // And what was in use is forgotten, at last by the program's own threads, too.
    space_.purge_surplus(held, LowMark::turns_kept + 1);
    space_.purge_surplus(held, 1);
    EXPECT_EQ(space_.dirty_bytes(), 0u);
    EXPECT_EQ(space_.counters().given_bytes, 0u);
    // All free memory is clean now, so each arena is one range (neighbouring arenas join).
    EXPECT_LE(space_.free_range_count(), space_.counters().arena_count);
    EXPECT_TRUE(space_.is_sound());
    options = before_;
  }

  static uint64_t& word_at(uintptr_t address) { return *reinterpret_cast<uint64_t*>(address); }

  // What every user does: marks the ends in the page map and writes its memory.
  void use(const Range& range) {
    const uint64_t mark = ++marks_;
    page_map.set_ends(range.base, range.slices, PageEntry::large(), this);
    for (size_t i = 0; i < range.slices; i++) {
      word_at(range.base + i * slice_bytes) = mark;
      word_at(range.base + (i + 1) * slice_bytes - 8) = mark;
    }
    users_[range.base] = Shadow{range.slices, mark};
    slices_ += range.slices;
  }

  bool overlaps(const Range& range) const {
    auto after = users_.lower_bound(range.base);
    const uintptr_t end = range.base + range.slices * slice_bytes;
    if (after != users_.end() && after->first < end) return true;
    if (after == users_.begin()) return false;
    --after;
    return after->first + after->second.slices * slice_bytes > range.base;
  }

  void check(const Range& range, size_t alignment) {
    ASSERT_EQ(range.base % alignment, 0u);
    ASSERT_FALSE(overlaps(range));
    if (range.zeroed == Zeroed::no) return;
    for (uintptr_t at = range.base; at < range.base + range.slices * slice_bytes; at += 2048) {
      ASSERT_EQ(word_at(at), 0u) << "said to be zero";
      ASSERT_EQ(word_at(at + 2040), 0u) << "said to be zero";
    }
  }

  void give(Held<SpaceLock>& held, uintptr_t base) {
    const Shadow shadow = users_[base];
    for (size_t i = 0; i < shadow.slices; i++) {
      ASSERT_EQ(word_at(base + i * slice_bytes), shadow.mark);
      ASSERT_EQ(word_at(base + (i + 1) * slice_bytes - 8), shadow.mark);
    }
    space_.give(held, base, shadow.slices, true);
    users_.erase(base);
    slices_ -= shadow.slices;
  }

  Space& space_ = only_space;
  std::map<uintptr_t, Shadow> users_;
  size_t slices_ = 0;
  uint64_t marks_ = 0;
  Options before_;
};

}  // namespace talus::core

#endif  // TALUS_TESTS_UNIT_SPACE_SPACE_FIXTURE_HPP
