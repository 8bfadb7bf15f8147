// SPDX-License-Identifier: MIT
//
// Owns: see target.hpp.
// Invariant: see target.hpp.
// Must not know: how numbers are found or shown.

#include "observe/target.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "process_word.hpp"

namespace talus::tool {

std::optional<Target> read_target(const std::string& command, const std::string& word) {
  Target target;
  target.is_process = word.find_first_not_of("0123456789") == std::string::npos;
  target.path = word;
  if (!target.is_process) return target;
  target.pid = process_of_word(word);
  if (target.pid != 0) return target;
  complain(fmt::format("{}: {} is not a process id", command, word));
  return {};
}

Observation observe(const Target& target, Detail detail, Patience patience) {
  return target.is_process ? observe_process(target.pid, detail, patience)
                           : observe_core(target.path, detail);
}

int exit_code_of(ObserveResult result) {
  switch (result) {
    case ObserveResult::good:
      return exit_yes;
    case ObserveResult::not_talus:
      return exit_no;
    case ObserveResult::no_process:
      return exit_usage;
    case ObserveResult::refused:
      return exit_refused;
    case ObserveResult::damaged:
      return exit_damaged;
  }
  return exit_usage;
}

}  // namespace talus::tool
