// SPDX-License-Identifier: MIT
//
// Owns: the way to the Talus of a running process, or the reason why there is none.
// Invariant: only reads. "Not allowed" and "not Talus" are different results.
// Must not know: what is done with what it finds.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_REACH_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_REACH_HPP

#include <string>
#include <vector>

#include "observe/copies.hpp"

namespace talus::tool {

enum class ObserveResult { good, no_process, not_talus, refused, damaged };

struct Reached {
  ObserveResult result = ObserveResult::good;
  std::string message;  // one line; empty if good
  FoundCopies found;    // at least one copy if good
  std::vector<Mapping> mappings = {};
};

Reached reach_process(int pid, const ProcessMemory& memory);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_REACH_HPP
