// SPDX-License-Identifier: MIT
// tests/unit/modes/mapped_place: a block is aligned, as near to its guard as that allows, and has
// pages without access on both sides, whatever the size of a page.
#include <gtest/gtest.h>

#include "effort.hpp"
#include "modes/mapped_place.hpp"

namespace talus::core {
namespace {

using mapped::bytes_max;
using mapped::Guard;
using mapped::is_possible;
using mapped::Place;
using mapped::place_in;
using mapped::slot_bytes_for;

void expect_sound(const BlockRequest& request, size_t page, Guard guard) {
  const size_t slot_bytes = slot_bytes_for(request, page);
  const uintptr_t slot = uintptr_t{77} << 30;
  const Place place = place_in(slot, slot_bytes, request, page, guard);
  const uintptr_t end = place.start + request.bytes, pages_end = place.pages + place.page_bytes;
  SCOPED_TRACE(testing::Message() << request.bytes << " at " << request.alignment << " less "
                                  << request.offset << ", page " << page);
  EXPECT_EQ((place.start + request.offset) % request.alignment, 0u);
  EXPECT_EQ(place.start % block_alignment, 0u);
  EXPECT_EQ(place.pages % page, 0u);
  EXPECT_EQ(place.page_bytes % page, 0u);
  EXPECT_GE(place.pages, slot + page);
  EXPECT_LE(pages_end, slot + slot_bytes - page);
  EXPECT_LE(place.pages, place.start);
  EXPECT_LE(end, pages_end);
  EXPECT_LT(place.start - place.pages, page);
  EXPECT_LT(pages_end - end, page);
  if (guard == Guard::at_end) {
    EXPECT_LT(pages_end - end, request.alignment);
  } else if (request.offset == 0) {
    EXPECT_EQ(place.start, place.pages);
  }
}

TEST(MappedPlace, EachRequestHasOne) {
  test::Random random{test::seed_of("MappedPlace")};
  for (size_t i = 0; i < test::rounds_of(200000); i++) {
    BlockRequest request;
    request.bytes = random.of_any_length(22);
    request.alignment = size_t{16} << random.below(20);
    if (i % 3 == 0) request.offset = random.below(request.alignment / 16) * 16;
    const size_t page = size_t{4096} << 2 * random.below(3);
    expect_sound(request, page, i % 2 == 0 ? Guard::at_end : Guard::at_start);
    if (HasFailure()) return;
  }
}

TEST(MappedPlace, SmallBlocksNeedOneSlice) {
  EXPECT_EQ(slot_bytes_for({0, 16, 0}, 4096), slice_bytes);
  EXPECT_EQ(slot_bytes_for({32 * kib, 16, 0}, 4096), slice_bytes);
  EXPECT_EQ(slot_bytes_for({4096, 4096, 0}, 4096), slice_bytes);
}

TEST(MappedPlace, WhatIsTooLargeIsRefused) {
  EXPECT_TRUE(is_possible({bytes_max, bytes_max, 0}));
  EXPECT_FALSE(is_possible({bytes_max + 1, 16, 0}));
  EXPECT_FALSE(is_possible({~size_t{0}, 16, 0}));
  EXPECT_FALSE(is_possible({16, size_t{1} << 62, 0}));
}

}  // namespace
}  // namespace talus::core
