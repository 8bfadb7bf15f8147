// SPDX-License-Identifier: MIT
// tests/entry/types: what the two units of the programs of C++ types know of each other.
#ifndef TALUS_TESTS_ENTRYS_TYPES_HPP
#define TALUS_TESTS_ENTRYS_TYPES_HPP

#include <talus/talus.hpp>

#include <vector>

using Numbers = std::vector<int, talus::allocator<int>>;

// In the other unit, or in a library that hides all else: the resource that it sees, and containers
// that it fills and empties.
#pragma GCC visibility push(default)
std::pmr::memory_resource* resource_of_other();
Numbers numbers_of_other();
void empty_in_other(Numbers numbers);
#pragma GCC visibility pop

#endif  // TALUS_TESTS_ENTRYS_TYPES_HPP
