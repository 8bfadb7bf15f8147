// SPDX-License-Identifier: MIT
//
// Owns: which processes descend from which, as /proc tells.
// Invariant: only reads; a process that ends meanwhile is simply not told.
// Must not know: why somebody asks.

#ifndef TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP

#include <sys/types.h>

#include <vector>

namespace talus::tool {

std::vector<pid_t> children_of(pid_t process);

// The process itself and everything below it.
std::vector<pid_t> tree_of(pid_t process);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP
