// SPDX-License-Identifier: MIT
// entry/talus: the talus_* functions of the compiled library.
//
// Owns: their visibility; the header-only entry has the same bodies.
#include "entry/life.hpp"

#define TALUS_ENTRY extern "C" TALUS_EXPORT
#include "entry/talus_names.hpp"
