// SPDX-License-Identifier: MIT
// tests/doors/types: what the two units of the programs of C++ types know of each other.
#ifndef TALUS_TESTS_DOORS_TYPES_HPP
#define TALUS_TESTS_DOORS_TYPES_HPP

#include <talus/talus.hpp>

#include <vector>

using Numbers = std::vector<int, talus::allocator<int>>;

// In the other unit: the resource that it sees, and containers that it fills and empties.
std::pmr::memory_resource* resource_of_other();
Numbers numbers_of_other();
void empty_in_other(Numbers numbers);

#endif  // TALUS_TESTS_DOORS_TYPES_HPP
