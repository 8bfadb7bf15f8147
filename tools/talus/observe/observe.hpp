// SPDX-License-Identifier: MIT
//
// Owns: one look at all of Talus in a process, or the reason why there is none.
// Invariant: a look says of itself whether it is consistent. It takes a bounded time.
// Must not know: how numbers are printed.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_OBSERVE_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_OBSERVE_HPP

#include <chrono>
#include <string>
#include <vector>

#include "observe/numbers.hpp"
#include "observe/reach.hpp"

namespace talus::tool {

struct Observation {
  ObserveResult result = ObserveResult::good;
  std::string message;           // one line; empty if good
  std::string note;              // one line for people; empty: none
  std::vector<Numbers> numbers;  // one for each Talus in the process
};

enum class Detail { numbers, pieces };

// How long a look at a busy process is repeated until it is consistent. The last look counts if
// none is. Damage is told by `Patience::looks` looks at least, whatever the time.
struct Patience {
  static constexpr int looks = 4;
  int looks_min = looks;
  std::chrono::milliseconds time{25};
};

Observation observe_process(int pid, Detail detail = Detail::numbers, Patience patience = {});
// The same of a process in its core file. It has no time of its own, and no pages.
Observation observe_core(const std::string& path, Detail detail = Detail::numbers);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_OBSERVE_HPP
