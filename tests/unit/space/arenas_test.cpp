// SPDX-License-Identifier: MIT
// tests/unit/space/arenas: how large arenas are, and where they begin.
#include <gtest/gtest.h>

#include "space/arenas.hpp"

namespace talus::core {
namespace {

TEST(Arenas, SmallOnesAreReservedWithoutRoomForHugePages) {
  const Options before = options;
  Arenas arenas;
  options.arena_bytes = 1 * mib;
  Arena arena = arenas.reserve(slice_bytes, PageRequest::small, 0, SIZE_MAX);
  EXPECT_EQ(arena.bytes, 1 * mib);
  EXPECT_EQ(arena.base % slice_bytes, 0u);
  os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
  arena = arenas.reserve(3 * mib + 1, PageRequest::small, 0, SIZE_MAX);
  EXPECT_EQ(arena.bytes, 3 * mib + slice_bytes);
  os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
  options.arena_bytes = 2 * mib;
  arena = arenas.reserve(slice_bytes, PageRequest::small, 0, SIZE_MAX);
  EXPECT_EQ(arena.bytes, 2 * mib);
  EXPECT_EQ(arena.base % arena_alignment, 0u);
  os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
  options = before;
}

// 4 MiB would leave 14 of 64 slices behind two ranges of 25; 8 MiB leave 3 of 128.
TEST(Arenas, HaveTheLengthOfTheRangesThatFillThem) {
  Arenas arenas;
  const auto bytes_for = [&arenas](size_t range_bytes, size_t reserved_bytes) {
    const Arena arena = arenas.reserve(range_bytes, PageRequest::small, reserved_bytes, SIZE_MAX);
    os::System::unmap(reinterpret_cast<void*>(arena.base), arena.bytes);
    return arena.bytes;
  };
  EXPECT_EQ(bytes_for(60 * slice_bytes, 0), 4 * mib);
  EXPECT_EQ(bytes_for(25 * slice_bytes, 0), 8 * mib);
  for (size_t slices = 4; slices <= 64; slices++) {
    for (const size_t reserved : {size_t{0}, 24 * mib, 64 * mib, 200 * mib}) {
      const size_t bytes = bytes_for(slices * slice_bytes, reserved);
      EXPECT_LE(bytes % (slices * slice_bytes), bytes / 10) << slices << " in " << bytes;
    }
  }
  EXPECT_EQ(bytes_for(slice_bytes, 0), 4 * mib) << "small ranges fill any arena";
  EXPECT_EQ(bytes_for(33 * mib, 0), 34 * mib) << "so few large ranges follow that it does not pay";
}

}  // namespace
}  // namespace talus::core
