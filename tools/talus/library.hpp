// SPDX-License-Identifier: MIT
//
// Owns: where libtalus.so is, seen from the command: beside it in a build tree, under lib in an
// installed prefix; and the LD_PRELOAD value that puts it first and keeps what was there.
// Invariant: the path told is absolute, so a program that changes its folder and starts others
// still carries Talus into them.
// Must not know: the program that is going to run.

#ifndef TALUS_TOOLS_TALUS_LIBRARY_HPP
#define TALUS_TOOLS_TALUS_LIBRARY_HPP

#include <string>

namespace talus::tool {

struct LibraryPath {
  std::string path;   // absolute; empty: not found
  std::string error;  // why not, one line
};

// `wanted` is the --lib argument; empty: search.
LibraryPath find_library(const std::string& wanted);

// `existing` may be null or empty. Never names the library twice at the front.
std::string preload_with(const std::string& library, const char* existing);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_LIBRARY_HPP
