// SPDX-License-Identifier: MIT
// configuration/change_option: changes an option while the process runs.
//
// Owns: which options may change, and the lock under which they do. Invariants: an option and its
// origin change together; a refused value changes nothing. Called on: any thread, without locks of
// the heap. Must not know: names and values of options, and which call or command asks.
#ifndef TALUS_CONFIGURATION_CHANGE_OPTION_HPP
#define TALUS_CONFIGURATION_CHANGE_OPTION_HPP

#include "settings/commands.hpp"
#include "settings/machine.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "parsing/option_number.hpp"
#include "configuration/option_target.hpp"

namespace talus::core {

inline CommandResult change_option(const OptionRow* row, const char* value) noexcept {
  if (row == nullptr) return CommandResult::no_option;
  if (row->reload == OptionReload::at_start) return CommandResult::at_start;
  OptionOrigin origin;
  origin.source = OptionSource::call;
  Held held{space.lock()};
  switch (set_option_from(OptionTarget{options, option_origins}, *row, value, origin)) {
    case OptionParse::malformed:
      return CommandResult::malformed;
    case OptionParse::out_of_range:
      return CommandResult::out_of_range;
    case OptionParse::accepted:
      break;
  }
  const bool is_limit = row->id == OptionId::limit_soft || row->id == OptionId::limit_hard;
  // Sets both: if the other limit had lowered this one, it rises again with it.
  if (is_limit) limits.set(effective_limits(options, machine));
  return CommandResult::done;
}

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_CHANGE_OPTION_HPP
