// SPDX-License-Identifier: MIT
// entry/header_only: Talus without a library, in any C++17 program.
//
// Owns: nothing; the code is the same as in the compiled library. tools/amalgamate.py turns this
// file into the one that users include, talus.hpp.
#ifndef TALUS_ENTRY_HEADER_ONLY_HPP
#define TALUS_ENTRY_HEADER_ONLY_HPP

#include "entry/life.hpp"

#define TALUS_ENTRY static inline
#include "entry/talus_names.hpp"

#endif  // TALUS_ENTRY_HEADER_ONLY_HPP
