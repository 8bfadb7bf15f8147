// SPDX-License-Identifier: MIT
//
// Owns: which allocators there are to compare: Talus, the C library, the known ones that the loader
// would find on this machine, and those named by the user.
// Invariant: each name stands for one library that exists, is built for this machine and brings
// malloc, and for one list of settings; two names found here never stand for the same file.
// Must not know: the program that will run.

#ifndef TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP

#include <string>
#include <vector>

#include "samples.hpp"

namespace talus::tool {

struct AllocatorWishes {
  std::string library;             // --lib: the libtalus.so to use; empty: search
  std::vector<std::string> named;  // --alloc: NAME=PATH or talus-PRESET
  std::vector<std::string> with;   // --with: KEY=VALUE,KEY=VALUE
  std::string only;                // --only: names with commas between them; empty: all
};

struct AllocatorChoice {
  std::vector<Allocator> allocators;  // those of Talus first, then the C library
  std::string error;                  // one line; empty: all is well
};

constexpr const char* c_library_name = "libc";

AllocatorChoice choose_allocators(const AllocatorWishes& wishes);

// The name of the known allocator that a library file is called like; empty if of none.
std::string known_allocator(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP
