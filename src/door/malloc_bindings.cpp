// SPDX-License-Identifier: MIT
// door/malloc_bindings: the table of the C library's names (door/bindings.hpp).
//
// Owns: the table. Must not define: any of them.
#include "door/bindings.hpp"

#include <stdlib.h>

const talus::MallocBindings talus::malloc_bindings = {&::calloc, &::realloc, &::free,
                                                      &::reallocarray};
