// SPDX-License-Identifier: MIT
//
// Owns: what would make a process smaller, and by how much.
// Invariant: the bytes of an advice are resident bytes that were seen in the process, not a guess.
// Must not know: how advice is shown.

#ifndef TALUS_TOOLS_TALUS_WHY_ADVICE_HPP
#define TALUS_TOOLS_TALUS_WHY_ADVICE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "why/picture.hpp"

namespace talus::tool {

struct Advice {
  const char* name;  // in JSON
  const char* what;  // a call or an option
  std::string why;   // one line
  uint64_t bytes = 0;
};

// The largest first. Empty: nothing would help.
std::vector<Advice> advise(const Picture& picture);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_ADVICE_HPP
