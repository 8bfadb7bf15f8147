// SPDX-License-Identifier: MIT
//
// Owns: the list of allocators to compare: Talus, the C library, known allocators that the loader
// would find on this machine, and allocators that the user names. The benchmarks read the same
// table of library files (tools/allocators.csv), but they measure builds of their own.
// Invariant: each name stands for one list of settings and one library. The library exists, is
// built for this machine and defines malloc. Two known names never stand for the same file.
// Must not know: the program that will run.

#ifndef TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP

#include <string>
#include <vector>

#include "samples.hpp"

namespace talus::tool {

struct AllocatorRequests {
  std::string library;             // --lib: the libtalus.so to use; empty: search
  std::vector<std::string> named;  // --alloc: NAME=PATH or talus-PRESET
  std::vector<std::string> with;   // --with: KEY=VALUE,KEY=VALUE
  std::string only;                // --only: names separated by commas; empty: all
};

struct AllocatorChoice {
  std::vector<Allocator> allocators;  // Talus rows first, then the C library
  std::string error;                  // one line; empty: success
};

constexpr const char* c_library_name = "libc";

AllocatorChoice choose_allocators(const AllocatorRequests& requests);

// The name of the known allocator whose file name the path has; empty: none.
std::string known_allocator(const std::string& path);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_ALLOCATORS_HPP
