// SPDX-License-Identifier: MIT
//
// Owns: the place of libtalus.so as seen from the command: beside it in a build tree, under lib in
// an installed prefix. Also the LD_PRELOAD value that puts the library first and keeps the earlier
// entries.
// Invariant: the path is absolute, so a program that changes its folder still passes Talus to its
// children.
// Must not know: the program to run.

#ifndef TALUS_TOOLS_TALUS_LIBRARY_HPP
#define TALUS_TOOLS_TALUS_LIBRARY_HPP

#include <string>

namespace talus::tool {

struct LibraryPath {
  std::string path;   // absolute; empty: not found
  std::string error;  // the reason, one line
};

// `wanted` is the --lib argument; empty: search.
LibraryPath find_library(const std::string& wanted);

// `existing` may be null or empty. The result never names the library twice at the front.
std::string preload_with(const std::string& library, const char* existing);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_LIBRARY_HPP
