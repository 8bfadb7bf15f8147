// SPDX-License-Identifier: MIT
// tests/entry/one_file_other: the second unit that includes the one file to copy.
#include "talus.hpp"

void* other_malloc(size_t bytes);
void other_free(void* pointer);

void* other_malloc(size_t bytes) { return talus::malloc(bytes); }
void other_free(void* pointer) { talus::free(pointer); }
