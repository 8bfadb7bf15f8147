// SPDX-License-Identifier: MIT
// entry/archive: what the operators bring with them, where they are taken from the archive.
//
// Owns: a reference. A linker takes only those members of libtalus.a that somebody names: with the
// operators come the names of C, or libc's own calls would go on with another heap than `new`. Must
// not name: what is weak there (entry/replaceable.list), which nothing is taken for.
#include "talus/talus.h"

namespace {
[[gnu::used]] void* (*const names_of_c)(size_t) noexcept = &talus_malloc;
}  // namespace
