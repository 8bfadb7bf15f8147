// SPDX-License-Identifier: MIT
// tests/unit/space_counts: what address space counts, in bytes.
//
// Owns: nothing. Called on: any thread.
#ifndef TALUS_TESTS_UNIT_SPACE_COUNTS_HPP
#define TALUS_TESTS_UNIT_SPACE_COUNTS_HPP

#include "space/space.hpp"

namespace talus::core::test {

inline size_t dirty_bytes() {
  Held held{space.lock()};
  return space.dirty_bytes();
}
inline size_t given_bytes() {
  Held held{space.lock()};
  return space.counters().given_bytes;
}
inline size_t purged_bytes() {
  Held held{space.lock()};
  return space.counters().purged_bytes;
}

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_SPACE_COUNTS_HPP
