// SPDX-License-Identifier: MIT
// door/talus: the talus_* functions of the compiled library.
//
// Owns: their visibility; the bodies are those of the header-only door.
#include "door/life.hpp"

#define TALUS_DOOR extern "C" TALUS_EXPORT
#include "door/talus_names.hpp"
