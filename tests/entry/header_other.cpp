// SPDX-License-Identifier: MIT
// tests/entry/header_other: the second unit that includes the header-only entry.
#include <talus/bounded.h>

#include "header_units.hpp"

void* other_malloc(size_t bytes) { return talus_malloc(bytes); }
void other_free(void* pointer) { talus_free(pointer); }
size_t other_usable_size(const void* pointer) { return talus_usable_size(pointer); }
