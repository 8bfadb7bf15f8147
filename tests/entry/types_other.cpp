// SPDX-License-Identifier: MIT
// tests/entry/types_other: the second unit that uses the C++ types.
#include "types.hpp"

std::pmr::memory_resource* resource_of_other() {
  static talus::memory_resource resource;
  return &resource;
}
Numbers numbers_of_other() { return Numbers(1000, 7); }
void empty_in_other(Numbers numbers) { Numbers{}.swap(numbers); }
