// SPDX-License-Identifier: MIT
// entry/header_only: Talus without a library, in any C++17 program.
//
// Owns: nothing; all of it is the same code as in the compiled library. Users include the one file
// that tools/amalgamate.py makes of this one, talus.hpp.
#ifndef TALUS_ENTRY_HEADER_ONLY_HPP
#define TALUS_ENTRY_HEADER_ONLY_HPP

#include "entry/life.hpp"

#define TALUS_ENTRY static inline
#include "entry/talus_names.hpp"

#endif  // TALUS_ENTRY_HEADER_ONLY_HPP
