// SPDX-License-Identifier: MIT
// tests/unit/modes/mapped_mode: a process that is in the mode of mapped blocks, and what the kernel
// says of its addresses.
//
// Owns: the start of the mode, once for all tests of the program, after some blocks were made.
// Called on: a test's main thread.
#ifndef TALUS_TESTS_UNIT_MODES_MAPPED_MODE_HPP
#define TALUS_TESTS_UNIT_MODES_MAPPED_MODE_HPP

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <vector>

#include "effort.hpp"
#include "pattern.hpp"
#include "quiet.hpp"

namespace talus::core::test {

inline bool is_mapped(const void* block) {
  return is_special(page_map.word_of(reinterpret_cast<uintptr_t>(block)));
}

// All bytes of a block, so that contents can be looked at up to any size.
inline void fill_all(void* block, size_t bytes, uint64_t seed) {
  auto* at = static_cast<unsigned char*>(block);
  for (size_t i = 0; i < bytes; i++) at[i] = pattern_byte(seed, i);
}
inline bool has_all(const void* block, size_t bytes, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(block);
  for (size_t i = 0; i < bytes; i++) {
    if (at[i] != pattern_byte(seed, i)) return false;
  }
  return true;
}

// Asks the kernel, which does not fault.
inline bool is_accessible(const void* address) {
  static int ends[2] = {-1, -1};
  if (ends[0] < 0 && pipe(ends) != 0) return false;
  if (write(ends[1], address, 1) != 1) return false;
  char byte = 0;
  return read(ends[0], &byte, 1) == 1;
}

inline size_t mapping_count() {
  FILE* maps = fopen("/proc/self/maps", "r");
  size_t lines = 0;
  for (int letter = getc(maps); letter != EOF; letter = getc(maps)) lines += letter == '\n';
  fclose(maps);
  return lines;
}

class MappedTest : public testing::Test {
 protected:
  struct Early {
    void* block;
    size_t bytes;
  };

  static void SetUpTestSuite() {
    if (is_on(mapped::mode)) return;
    own_cache();
    for (size_t bytes : {100u, 5000u, 100000u, 3000000u}) {
      early.push_back({allocate(bytes), bytes});
      fill_all(early.back().block, bytes, early.size() - 1);
    }
    mapped::Settings settings;
    settings.quarantine_bytes = 8 * mib;
    settings.mappings = 20000;
    mapped::begin(settings);
  }
  void SetUp() override { live_before_ = special_pool.live_count; }
  void TearDown() override { EXPECT_EQ(special_pool.live_count, live_before_) << "not freed"; }

  static inline std::vector<Early> early;
  size_t live_before_ = 0;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_MODES_MAPPED_MODE_HPP
