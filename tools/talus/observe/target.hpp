// SPDX-License-Identifier: MIT
//
// Owns: what PID|CORE means on the command line, and the exit code of what was found there.
// Invariant: a word of digits is a process id; a file of such a name is ./1234.
// Must not know: how numbers are found or shown.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_TARGET_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_TARGET_HPP

#include <optional>
#include <string>

#include "observe/observe.hpp"

namespace talus::tool {

struct Target {
  bool is_process = false;
  int pid = 0;
  std::string path;  // of a core file
};

inline Target process_target(int pid) { return {true, pid, ""}; }

// Complains and returns nothing if the word is neither. `command` stands before the complaint.
std::optional<Target> read_target(const std::string& command, const std::string& word);

Observation observe(const Target& target, Detail detail, Patience patience = {});

int exit_code_of(ObserveResult result);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_TARGET_HPP
