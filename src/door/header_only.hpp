// SPDX-License-Identifier: MIT
// door/header_only: Talus without a library, in any C++17 program.
//
// Owns: nothing; all of it is the same code as in the compiled library. Users include the one file
// that tools/amalgamate.py makes of this one, talus.hpp.
#ifndef TALUS_DOOR_HEADER_ONLY_HPP
#define TALUS_DOOR_HEADER_ONLY_HPP

#include "door/life.hpp"

#define TALUS_DOOR static inline
#include "door/talus_names.hpp"

#endif  // TALUS_DOOR_HEADER_ONLY_HPP
