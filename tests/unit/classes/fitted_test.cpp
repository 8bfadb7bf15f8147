// SPDX-License-Identifier: MIT
// tests/unit/classes/fitted: what a fitted class costs, and which requests it serves.
#include <gtest/gtest.h>

#include "classes/fitted.hpp"

namespace talus::core {
namespace {

size_t fitted_bytes(ClassId id) { return size_class_row(id).block_bytes; }
void nothing(ClassId) {}

TEST(Fitted, EverySizeHasSlabsThatCostLittle) {
  for (size_t bytes = fast_bytes_max + 1; bytes <= fitted_bytes_max; bytes += 61) {
    const SizeClass row = derive_fitted_class(bytes);
    const size_t slab_bytes = row.slab_slices * slice_bytes;
    const size_t lines = row.block_bytes / cache_line_bytes;
    const size_t more_lines = bytes <= medium_bytes_max ? 2 : 4;
    ASSERT_TRUE(row.block_bytes >= bytes &&
                row.block_bytes < bytes + more_lines * cache_line_bytes);
    ASSERT_EQ(is_home_at_once(row.block_bytes), bytes > medium_bytes_max) << bytes;
    ASSERT_TRUE(row.block_bytes % cache_line_bytes == 0 && lines % 2 == 1) << "all sets in turn";
    ASSERT_TRUE(row.block_count >= 2 && row.block_count <= fitted_blocks_max) << bytes;
    ASSERT_EQ(row.bitmap_words, 1u);
    ASSERT_LE(slab_bytes, fitted_slab_bytes_max);
    const bool is_small = row.block_bytes <= small_bytes_max;
    ASSERT_LE(size_t{row.block_count} * row.block_bytes + (is_small ? 0 : fitted_front_room),
              slab_bytes);
    const double cost =
        static_cast<double>(slab_bytes) / static_cast<double>(row.block_count * bytes);
    ASSERT_LE(cost, 1.085) << bytes;
    ASSERT_GE(fitted_share_of(row.block_bytes, row.slab_slices), 0.91 * 65536) << bytes;
  }
}

TEST(Fitted, DivisionIsExactForTheLongestSlabs) {
  for (const size_t bytes : {fast_bytes_max + 1, slice_bytes, fitted_bytes_max}) {
    const SizeClass row = derive_fitted_class(bytes);
    for (size_t offset = 0; offset < row.slab_slices * slice_bytes; offset += 16) {
      ASSERT_EQ(divide_by_reciprocal(offset, row.reciprocal), offset / row.block_bytes);
    }
  }
}

// One test, because classes stay.
TEST(Fitted, ServeTheSizeTheyWereMadeForAndNoLarger) {
  ClassId id{};
  EXPECT_FALSE(fitted_classes.find(65537, id));
  fitted_classes.make(65537, [](ClassId made) { EXPECT_EQ(fitted_bytes(made), 65600u); });
  ASSERT_TRUE(fitted_classes.find(65537, id));
  EXPECT_TRUE(is_fitted(id) && is_medium(id));
  EXPECT_TRUE(fitted_classes.find(65600, id));
  EXPECT_FALSE(fitted_classes.find(65601, id)) << "it does not fit";
  EXPECT_FALSE(fitted_classes.find(65536, id)) << "another step";
  EXPECT_FALSE(fitted_classes.has_room_for(66000)) << "its step has a class";
  EXPECT_EQ(fitted_classes.count(), 1u);
  EXPECT_TRUE(fitted_classes.is_made(ClassId{uint8_t{fitted_medium_first}}));
  EXPECT_FALSE(fitted_classes.is_made(ClassId{uint8_t{fitted_medium_first + 1}}));

  // A size of the step before, with blocks of the same size.
  fitted_classes.make(65500, [](ClassId) { FAIL() << "65600 B are there"; });
  EXPECT_TRUE(fitted_classes.find(65500, id));
  EXPECT_EQ(fitted_classes.count(), 1u);

  fitted_classes.make(5000, nothing);
  ASSERT_TRUE(fitted_classes.find(5000, id));
  EXPECT_TRUE(is_fitted(id) && !is_medium(id));
  fitted_classes.make(fitted_bytes_max, nothing);
  ASSERT_TRUE(fitted_classes.find(fitted_bytes_max, id));
  EXPECT_GE(fitted_bytes(id), fitted_bytes_max);

  // No place is left at last; what there is stays.
  for (size_t bytes = 33 * kib; bytes <= 256 * kib; bytes += 3 * kib) {
    fitted_classes.make(bytes, nothing);
  }
  EXPECT_EQ(fitted_classes.count(), 1 + fitted_medium_classes);
  EXPECT_FALSE(fitted_classes.has_room_for(250 * kib));
  EXPECT_TRUE(fitted_classes.has_room_for(6000)) << "small classes have places of their own";
  ASSERT_TRUE(fitted_classes.find(65537, id));
  EXPECT_EQ(fitted_bytes(id), 65600u);
}

}  // namespace
}  // namespace talus::core
