// SPDX-License-Identifier: MIT
// entry/archive: what the operators pull from the archive along with themselves.
//
// A linker takes only referenced members of libtalus.a. The operators must bring the names of C, or
// libc's own calls would use another heap than `new`.
//
// Owns: a reference. Must not name: the weak names there (entry/replaceable.list), because a linker
// takes no member for them.
#include "talus/talus.h"

namespace {
[[gnu::used]] void* (*const names_of_c)(size_t) noexcept = &talus_malloc;
}  // namespace
