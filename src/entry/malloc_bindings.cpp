// SPDX-License-Identifier: MIT
// entry/malloc_bindings: the table of the C library's names (entry/bindings.hpp).
//
// Owns: the table. Must not define: any of them.
#include "entry/bindings.hpp"

#include <stdlib.h>

const talus::core::MallocBindings talus::core::malloc_bindings = {
    &::malloc, &::aligned_alloc, &::calloc, &::realloc, &::free, &::reallocarray};
