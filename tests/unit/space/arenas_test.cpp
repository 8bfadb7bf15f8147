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

}  // namespace
}  // namespace talus::core
