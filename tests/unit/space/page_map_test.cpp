// SPDX-License-Identifier: MIT
// tests/unit/space/page_map: what was set is found, and all other slices have no owner.
#include <gtest/gtest.h>

#include <map>

#include "effort.hpp"
#include "space/page_map.hpp"

namespace talus::core {
namespace {

// Made-up addresses: the map never looks at the memory it tells about.
PageMap map_under_test;

TEST(PageMap, WordsPackOwnerAndTag) {
  const PageEntry word{HeapId{0x1234}, 0xabcd};
  EXPECT_EQ(word.owner(), HeapId{0x1234});
  EXPECT_EQ(word.tag(), 0xabcd);
  EXPECT_TRUE(word.is_slab());
  EXPECT_FALSE(word.is_large());
  EXPECT_FALSE(word.has_no_owner());
  EXPECT_EQ(PageEntry::from_bits(word.bits()).bits(), word.bits());
  EXPECT_TRUE(PageEntry::large().is_large());
  EXPECT_FALSE(PageEntry::large().is_slab());
  EXPECT_FALSE(PageEntry::large().has_no_owner());
  EXPECT_TRUE(PageEntry{}.has_no_owner());
}

TEST(PageMap, CoversWhatItCanIndex) {
  EXPECT_TRUE(PageMap::covers(0));
  EXPECT_TRUE(PageMap::covers((uintptr_t{1} << address_bits) - 1));
  EXPECT_FALSE(PageMap::covers(uintptr_t{1} << address_bits));
  EXPECT_FALSE(PageMap::covers(~uintptr_t{0}));
}

TEST(PageMap, UncoveredAddressesHaveNoOwner) {
  test::Random random{test::seed_of("PageMap.Uncovered")};
  static PageMap empty;
  for (int round = 0; round < 10000; round++) {
    const uintptr_t address = random.next() >> (64 - address_bits);
    ASSERT_TRUE(empty.word_of(address).has_no_owner());
    ASSERT_EQ(empty.descriptor_of(address), nullptr);
  }
  EXPECT_EQ(empty.descriptor_of(~uintptr_t{0}), nullptr);
}

TEST(PageMap, RemembersEachSliceAcrossLeaves) {
  test::Random random{test::seed_of("PageMap.Random")};
  const uintptr_t four_gib = uintptr_t{1} << PageMap::root_shift;
  // Straddles two leaves, and the last leaf there is.
  const uintptr_t starts[] = {5 * four_gib - 100 * slice_bytes,
                              (uintptr_t{1} << address_bits) - 200 * slice_bytes};
  std::map<uintptr_t, std::pair<uint32_t, void*>> model;
  for (uintptr_t start : starts) ASSERT_TRUE(map_under_test.cover(start, 200 * slice_bytes));
  for (int round = 0; round < 20000; round++) {
    const uintptr_t slice = starts[random.below(2)] + random.below(200) * slice_bytes;
    const PageEntry word = PageEntry::from_bits(static_cast<uint32_t>(random.next()));
    void* descriptor = reinterpret_cast<void*>(random.next());
    map_under_test.set(slice, word, descriptor);
    model[slice] = {word.bits(), descriptor};
  }
  for (uintptr_t start : starts) {
    for (size_t i = 0; i < 200; i++) {
      const uintptr_t slice = start + i * slice_bytes;
      const uintptr_t inside = slice + random.below(slice_bytes);
      ASSERT_EQ(map_under_test.word_of(inside).bits(), model[slice].first);
      ASSERT_EQ(map_under_test.descriptor_of(inside), model[slice].second);
    }
  }
  EXPECT_TRUE(map_under_test.word_of(4 * four_gib).has_no_owner());
}

// The window lies around its own memory; on both sides of it there are leaves.
TEST(PageMap, TheWindowEndsWhereLeavesBegin) {
  static PageMap map;
  const uintptr_t four_gib = uintptr_t{1} << PageMap::root_shift;
  EXPECT_EQ(map.window().base, nullptr);
  ASSERT_TRUE(map.cover(77 * slice_bytes, slice_bytes));
  const auto own = reinterpret_cast<uintptr_t>(map.window().base);
  ASSERT_NE(own, 0u);
  const uintptr_t end = round_down(own, four_gib) + (1 + PageMap::window_roots_above) * four_gib;
  const uintptr_t begin = end - PageMap::window_roots * four_gib;
  PageMap::Place place;
  for (const uintptr_t near : {begin, own, end - 1}) EXPECT_TRUE(map.find_near(near, place));
  for (const uintptr_t far : {begin - 1, end, uintptr_t{0}, ~uintptr_t{0}}) {
    EXPECT_FALSE(map.find_near(far, place));
    EXPECT_TRUE(map.word_anywhere(far).has_no_owner());
  }
  EXPECT_FALSE(map.has_leaf(begin - 1));
  EXPECT_FALSE(map.has_leaf(end));
  // Ranges that lie half in the window.
  int owner = 0;
  const PageEntry word{HeapId{7}, 9};
  for (const uintptr_t border : {begin, end}) {
    const uintptr_t start = border - 2 * slice_bytes;
    ASSERT_TRUE(map.cover(start, 4 * slice_bytes));
    map.set_all(start, 4, word, &owner);
    for (size_t i = 0; i < 4; i++) {
      const uintptr_t inside = start + i * slice_bytes + 17;
      EXPECT_EQ(map.word_of(inside).bits(), word.bits());
      EXPECT_EQ(map.place_of(inside).descriptor(), &owner);
      const bool is_below = i < 2;
      EXPECT_EQ(map.leaf_of(inside).base == nullptr, is_below == (border == end));
    }
    EXPECT_TRUE(map.word_of(start - 1).has_no_owner());
    EXPECT_TRUE(map.word_of(start + 4 * slice_bytes).has_no_owner());
  }
}

TEST(PageMap, EndsAndWholes) {
  const uintptr_t start = uintptr_t{9} << PageMap::root_shift;
  int owner = 0;
  const PageEntry word{HeapId{3}, 5};
  ASSERT_TRUE(map_under_test.cover(start, mib));
  map_under_test.set_ends(start, 10, word, &owner);
  for (size_t i = 0; i < 11; i++) {
    const bool is_end = i == 0 || i == 9;
    EXPECT_EQ(map_under_test.word_of(start + i * slice_bytes).has_no_owner(), !is_end);
    EXPECT_EQ(map_under_test.descriptor_of(start + i * slice_bytes), is_end ? &owner : nullptr);
  }
  map_under_test.set_all(start, 10, word, &owner);
  for (size_t i = 0; i < 11; i++) {
    EXPECT_EQ(map_under_test.word_of(start + i * slice_bytes).is_slab(), i < 10);
  }
  map_under_test.set_ends(start + mib / 2, 1, PageEntry::large(), &owner);
  EXPECT_TRUE(map_under_test.word_of(start + mib / 2).is_large());
}

}  // namespace
}  // namespace talus::core
