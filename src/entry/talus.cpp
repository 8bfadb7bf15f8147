// SPDX-License-Identifier: MIT
// entry/talus: the talus_* functions of the compiled library.
//
// Owns: their visibility; the header-only entry has the same bodies.
#include "base/base.hpp"
#include "entry/life.hpp"  // IWYU pragma: keep (start and end of the process)

#define TALUS_ENTRY extern "C" TALUS_EXPORT
#include "entry/talus_names.hpp"  // IWYU pragma: keep (it defines the functions)
