// SPDX-License-Identifier: MIT
//
// Owns: the descent of processes, according to /proc.
// Invariant: only reads. A process that ends during the walk is left out.
// Must not know: the use of the tree.

#ifndef TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP
#define TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP

#include <sys/types.h>

#include <vector>

namespace talus::tool {

std::vector<pid_t> children_of(pid_t process);

// The process itself and all its descendants.
std::vector<pid_t> tree_of(pid_t process);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_PROCESS_TREE_HPP
