// SPDX-License-Identifier: MIT
//
// Owns: one look at each process on Talus that belongs to the user, with the labels that tell the
// processes apart.
// Invariant: a process that ends meanwhile, or that may not be read, is left out.
// Must not know: what the numbers are for.

#ifndef TALUS_TOOLS_TALUS_SERVE_EVERY_PROCESS_HPP
#define TALUS_TOOLS_TALUS_SERVE_EVERY_PROCESS_HPP

#include <vector>

#include "observe/numbers.hpp"

namespace talus::tool {

std::vector<Numbers> look_at_every_process();

// Does it belong to the user, and is it not this one?
bool is_own_process(int pid);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_SERVE_EVERY_PROCESS_HPP
