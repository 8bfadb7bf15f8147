// SPDX-License-Identifier: MIT
// tests/unit/pattern: contents of a block that no other block has.
//
// Owns: nothing. Small blocks are filled to the last byte. Large ones are written at both ends and
// at a byte of ever wider steps, so that a test with a million blocks touches few pages. The same
// places are looked at afterwards. Called on: the thread that owns the block.
#ifndef TALUS_TESTS_UNIT_PATTERN_HPP
#define TALUS_TESTS_UNIT_PATTERN_HPP

#include "base/base.hpp"

namespace talus::core::test {

inline unsigned char pattern_byte(uint64_t seed, size_t offset) {
  return static_cast<unsigned char>((seed * 0xbf58476d1ce4e5b9u + offset * 0x9e3779b97f4a7c15u) >>
                                    24);
}

// Calls visit(offset) for the places of a block that are written and checked.
template <typename Visit>
void for_each_place(size_t bytes, Visit visit) {
  constexpr size_t whole_bytes_max = 1024;
  constexpr size_t end_bytes = 64;
  if (bytes <= whole_bytes_max) {
    for (size_t offset = 0; offset < bytes; offset++) visit(offset);
    return;
  }
  for (size_t offset = 0; offset < end_bytes; offset++) visit(offset);
  // Places must not depend on the size: a block is checked after it has changed its size.
  for (size_t offset = 4096; offset < bytes; offset += offset / 2) {
    visit(offset);
  }
  for (size_t offset = bytes - end_bytes; offset < bytes; offset++) visit(offset);
}

inline void fill_pattern(void* block, size_t bytes, uint64_t seed) {
  auto* at = static_cast<unsigned char*>(block);
  for_each_place(bytes, [&](size_t offset) { at[offset] = pattern_byte(seed, offset); });
}

inline bool has_pattern(const void* block, size_t bytes, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(block);
  bool same = true;
  for_each_place(bytes, [&](size_t offset) { same &= at[offset] == pattern_byte(seed, offset); });
  return same;
}

// After a change of size to `kept` or more bytes: the places of the old block that still exist.
inline bool has_kept_pattern(const void* block, size_t old_bytes, size_t kept, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(block);
  bool same = true;
  for_each_place(old_bytes, [&](size_t offset) {
    if (offset < kept) same &= at[offset] == pattern_byte(seed, offset);
  });
  return same;
}

inline bool is_zero(const void* block, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(block);
  bool zero = true;
  for_each_place(bytes, [&](size_t offset) { zero &= at[offset] == 0; });
  return zero;
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_PATTERN_HPP
