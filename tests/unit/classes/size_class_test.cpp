// SPDX-License-Identifier: MIT
// tests/unit/classes/size_class: the proof, by exhaustion, that the classes are what their head
// says: complete, monotone, minimal, with bounded waste, aligned, and with exact division.
#include <gtest/gtest.h>

#include "classes/size_class.hpp"

namespace talus::core {
namespace {

size_t bytes_of(ClassId id) { return size_class_row(id).block_bytes; }
ClassId class_at(size_t index) { return ClassId{static_cast<uint8_t>(index)}; }

TEST(SizeClass, EverySizeFitsMinimallyAndMonotonely) {
  size_t before = 0;
  for (size_t size = 0; size <= medium_bytes_max; size++) {
    const size_t index = index_of(class_of(size));
    ASSERT_LT(index, fixed_class_count);
    ASSERT_GE(bytes_of(class_of(size)), size);
    ASSERT_GE(index, before) << size;
    ASSERT_TRUE(index == 0 || bytes_of(class_at(index - 1)) < size) << "a smaller class would do";
    before = index;
  }
  EXPECT_EQ(before, fixed_class_count - 1);
  EXPECT_EQ(index_of(class_of(0)), 0u);
}

TEST(SizeClass, RoundTrip) {
  for (size_t index = 0; index < fixed_class_count; index++) {
    EXPECT_EQ(index_of(class_of(bytes_of(class_at(index)))), index);
    EXPECT_TRUE(index == 0 || bytes_of(class_at(index)) > bytes_of(class_at(index - 1)));
    EXPECT_EQ(bytes_of(class_at(index)) % block_alignment, 0u);
  }
}

TEST(SizeClass, WasteIsBounded) {
  double waste_sum = 0;
  for (size_t size = 1; size <= small_bytes_max; size++) {
    const size_t waste = bytes_of(class_of(size)) - size;
    ASSERT_LT(waste, size <= linear_bytes_max ? block_alignment : divide_up(size, 8)) << size;
    waste_sum += static_cast<double>(waste) / static_cast<double>(size);
  }
  EXPECT_LT(waste_sum / static_cast<double>(small_bytes_max), 1.0 / 16);
  waste_sum = 0;
  for (size_t size = small_bytes_max + 1; size <= medium_bytes_max; size++) {
    const size_t waste = bytes_of(class_of(size)) - size;
    ASSERT_LT(waste, divide_up(size, 4)) << size;
    waste_sum += static_cast<double>(waste) / static_cast<double>(size);
  }
  EXPECT_LT(waste_sum / static_cast<double>(medium_bytes_max - small_bytes_max), 1.0 / 8);
}

TEST(SizeClass, SmallAndMediumClassesMeet) {
  EXPECT_EQ(bytes_of(class_at(small_class_count - 1)), small_bytes_max);
  EXPECT_FALSE(is_medium(class_of(small_bytes_max)));
  EXPECT_TRUE(is_medium(class_of(small_bytes_max + 1)));
  EXPECT_EQ(bytes_of(class_at(fixed_class_count - 1)), medium_bytes_max);
}

TEST(SizeClass, EveryPowerOfTwoIsAClass) {
  for (size_t power = block_alignment; power <= medium_bytes_max; power *= 2) {
    EXPECT_EQ(bytes_of(class_of(power)), power);
  }
}

TEST(SizeClass, AlignedClassServesEverySizeAtEveryAlignment) {
  for (size_t alignment = 1; alignment <= 2 * slice_bytes; alignment *= 2) {
    for (size_t size = 0; size <= medium_bytes_max + 1; size++) {
      if (!has_class(size, alignment)) continue;
      const ClassId id = class_of_aligned(size, alignment);
      ASSERT_LT(index_of(id), fixed_class_count);
      const size_t bytes = bytes_of(id);
      ASSERT_GE(bytes, size);
      ASSERT_EQ(bytes % alignment, 0u) << size << " at " << alignment;
      // No smaller class would have done.
      for (size_t below = index_of(id); below-- > 0;) {
        if (bytes_of(class_at(below)) < size) break;
        ASSERT_NE(bytes_of(class_at(below)) % alignment, 0u) << size << " at " << alignment;
      }
    }
  }
}

TEST(SizeClass, WhatHasAClassAtAnAlignment) {
  EXPECT_TRUE(has_class(0, 1));
  EXPECT_TRUE(has_class(small_bytes_max, small_bytes_max));
  EXPECT_FALSE(has_class(small_bytes_max, slice_bytes)) << "a block of twice the size";
  EXPECT_TRUE(has_class(small_bytes_max + 1, slice_bytes));
  EXPECT_TRUE(has_class(medium_bytes_max, slice_bytes));
  EXPECT_FALSE(has_class(medium_bytes_max, 2 * slice_bytes)) << "slabs lie at any slice";
  EXPECT_FALSE(has_class(medium_bytes_max + 1, 1));
  EXPECT_FALSE(has_class(SIZE_MAX, 1));
}

TEST(SizeClass, SlabsHoldTheirBlocksAndWasteLittle) {
  for (size_t index = 0; index < fixed_class_count; index++) {
    const SizeClass& row = size_class_row(class_at(index));
    const size_t slab_bytes = row.slab_slices * slice_bytes;
    EXPECT_GE(row.block_count, index < small_class_count ? slab_blocks_min : 1);
    EXPECT_LE(size_t{row.block_count} * row.block_bytes, slab_bytes);
    EXPECT_GT(size_t{row.block_count + 1} * row.block_bytes, slab_bytes);
    const bool is_power = has_self_aligned_slabs(row.block_bytes);
    EXPECT_EQ(slab_alignment_of(class_at(index)), is_power ? slab_bytes : slice_bytes);
    EXPECT_TRUE(!is_power || is_power_of_two(slab_bytes));
    if (row.block_bytes > fast_bytes_max) {
      EXPECT_LE(slab_bytes % row.block_bytes, slab_bytes / slab_rest_part);
    }
    if (is_medium(class_at(index))) {
      EXPECT_LE(row.block_count, 64u) << "what is zero is known of the first word of a bitmap";
    }
    EXPECT_EQ(row.bitmap_words, divide_up(row.block_count, 64));
  }
}

// What a byte of a request costs where slabs lie in huge pages. docs/decisions/0040 says why it is
// no less.
TEST(SizeClass, SlabsCostALittleMoreThanWhatIsAskedFor) {
  const auto most_from = [](size_t first, size_t last) {
    double most = 0;
    for (size_t size = first; size <= last; size++) {
      const SizeClass& row = size_class_row(class_of(size));
      const double slab_bytes = static_cast<double>(row.slab_slices * slice_bytes);
      const double cost = slab_bytes / static_cast<double>(row.block_count * size);
      most = cost > most ? cost : most;
    }
    return most;
  };
  EXPECT_LE(most_from(1 * kib, 4 * kib), 1.15);
  EXPECT_LE(most_from(4 * kib + 1, 32 * kib), 1.20);
  EXPECT_LE(most_from(32 * kib + 1, 256 * kib), 1.34);
}

TEST(SizeClass, DivisionIsExactForEveryOffsetOfEverySlab) {
  for (size_t index = 0; index < fixed_class_count; index++) {
    const SizeClass& row = size_class_row(class_at(index));
    const size_t slab_bytes = row.slab_slices * slice_bytes;
    size_t quotient = 0, rest = 0;
    for (size_t offset = 0; offset < slab_bytes; offset++) {
      if (divide_by_reciprocal(offset, row.reciprocal) != quotient) {
        FAIL() << "offset " << offset << " in blocks of " << row.block_bytes;
      }
      if (++rest == row.block_bytes) rest = 0, quotient++;
    }
  }
}

TEST(SizeClass, SumsAndMaximaAreThoseOfTheTable) {
  size_t words = 0, slab_bytes = 0;
  for (const SizeClass& row : size_class_table.rows) {
    if (row.bitmap_words > words) words = row.bitmap_words;
    if (row.slab_slices * slice_bytes > slab_bytes) {
      slab_bytes = row.slab_slices * slice_bytes;
    }
  }
  EXPECT_EQ(bitmap_words_max(), words);
  EXPECT_EQ(slab_bytes_max(), slab_bytes);
}

TEST(SizeClass, ListsHaveRoomBesideEachOtherWhateverTheirBound) {
  for (size_t list_bytes = 0; list_bytes <= list_bytes_most; list_bytes += kib) {
    const ListBounds bounds = derive_list_bounds(list_bytes);
    size_t next = 0;
    for (size_t index = 0; index < fixed_class_count; index++) {
      ASSERT_EQ(bounds.first_start[index], next + list_nulls) << "nulls before each list";
      ASSERT_GE(bounds.blocks_max[index], list_blocks_min);
      ASSERT_LE(bounds.blocks_max[index], list_blocks_max);
      ASSERT_LE(bounds.first_blocks[index], bounds.blocks_max[index]);
      next = bounds.first_start[index] + bounds.first_blocks[index];
    }
    for (size_t index = 0; index < class_count; index++) {
      if (bounds.first_blocks[index] == bounds.blocks_max[index]) continue;
      ASSERT_EQ(bounds.usual_start[index], next + list_nulls) << "nulls before each list";
      ASSERT_LE(least_block_bytes_at(index), fast_bytes_max);
      next = bounds.usual_start[index] + bounds.blocks_max[index];
    }
    for (size_t index = fixed_class_count; index < class_count; index++) {
      ASSERT_EQ(bounds.first_start[index], next + list_nulls) << "nulls before each list";
      ASSERT_EQ(bounds.first_blocks[index], bounds.blocks_max[index]);
      next = bounds.first_start[index] + bounds.first_blocks[index];
    }
    ASSERT_EQ(bounds.places, next);
    ASSERT_LE(bounds.places, list_places_most);
  }
  const ListBounds usual = derive_list_bounds(list_bytes_max);
  EXPECT_EQ(usual.blocks_max[index_of(class_of(64))], 16 * kib / 64);
  EXPECT_EQ(usual.blocks_max[index_of(class_of(8 * kib))], 64 * kib / (8 * kib));
  EXPECT_EQ(usual.first_blocks[index_of(class_of(64))], list_batch_blocks);
  EXPECT_EQ(usual.first_blocks[index_of(class_of(512))], list_blocks_start);
}

}  // namespace
}  // namespace talus::core
