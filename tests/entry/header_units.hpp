// SPDX-License-Identifier: MIT
// tests/entry/header_units: what the two units of the header-only program know of each other.
#ifndef TALUS_TESTS_ENTRYS_HEADER_UNITS_HPP
#define TALUS_TESTS_ENTRYS_HEADER_UNITS_HPP

// Any of the headers may come first, and any later.
#include <talus/talus.h>
#include <talus/talus.hpp>
#include <talus/bounded.h>

// In the other unit: its own calls of the inline functions, and where it sees the heap.
void* other_malloc(size_t bytes);
void other_free(void* pointer);
size_t other_usable_size(const void* pointer);

#endif  // TALUS_TESTS_ENTRYS_HEADER_UNITS_HPP
