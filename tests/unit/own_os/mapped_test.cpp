// SPDX-License-Identifier: MIT
// tests/unit/own_os/mapped: the mapped mode without the group guards: each block lies between pages
// that are reserved, opened for it, and withdrawn when it goes.
#include <gtest/gtest.h>

#include <vector>

#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core {
namespace {

TEST(OwnOsMapped, BlocksAreOpenAndTheirNeighboursAreNot) {
  test::own_cache();
  mapped::Settings settings;
  settings.quarantine_bytes = mib;
  settings.mappings = 20000;
  settings.address_bytes = 256 * mib;
  mapped::begin(settings);
  test::Random random{test::seed_of("OwnOs.Mapped")};
  const size_t allowed = test::machine.allowed_count();
  const size_t withdrawn = test::machine.withdrawn_count();
  size_t mapped_count = 0;
  for (size_t round = 0; round < test::rounds_of(4000); round++) {
    const size_t bytes = 1 + random.of_any_length(17);
    char* block = static_cast<char*>(allocate(bytes));
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(test::machine.is_open(block) && test::machine.is_open(block + bytes - 1));
    const bool is_mapped = is_special(page_map.word_of(reinterpret_cast<uintptr_t>(block)));
    mapped_count += is_mapped;
    if (is_mapped) {
      ASSERT_TRUE(test::is_zero(block, bytes)) << "a page that was withdrawn";
      ASSERT_FALSE(test::machine.is_open(block + bytes + test::Machine::page_bytes / 2)) << bytes;
    }
    test::fill_pattern(block, bytes, round);
    ASSERT_TRUE(test::has_pattern(block, bytes, round));
    free_block(block);
    if (is_mapped) {
      ASSERT_FALSE(test::machine.is_open(block)) << "a freed block can be used";
    }
  }
  EXPECT_GT(mapped_count, test::rounds_of(4000) / 2);
  EXPECT_GE(test::machine.allowed_count(), allowed + mapped_count);
  EXPECT_GE(test::machine.withdrawn_count(), withdrawn + mapped_count);
  EXPECT_TRUE(test::machine.is_sound());
}

}  // namespace
}  // namespace talus::core
