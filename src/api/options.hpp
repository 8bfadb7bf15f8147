// SPDX-License-Identifier: MIT
// api/options: talus_set_option, talus_get_option, talus_option_source and talus_set_limits.
//
// Owns: the checks of their arguments, and the lock under which options change. Invariants: they
// return errors and keep errno; an option and its origin change together. Called on: any thread.
// Must not know: names and values of options.
#ifndef TALUS_API_OPTIONS_HPP
#define TALUS_API_OPTIONS_HPP

#include <errno.h>

#include "settings/commands.hpp"
#include "settings/machine.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/options_text.hpp"
#include "configuration/change_option.hpp"
#include "configuration/option_target.hpp"
#include "configuration/own_configuration.hpp"

namespace talus::core::api {

// The row of an option; null: no such option. First reads the other places of options.
inline const OptionRow* option_named(const char* name) noexcept {
  if (environ != nullptr) configure_process();
  return find_option(name, option_length(name));
}

inline int set_option(const char* name, const char* value) noexcept {
  if (name == nullptr || value == nullptr) return EINVAL;
  const OptionRow* row = option_named(name);
  switch (change_option(row, value)) {
    case CommandResult::done:
      return 0;
    case CommandResult::no_option:
      return ENOENT;
    case CommandResult::at_start:
      return EPERM;
    case CommandResult::out_of_range:
      return ERANGE;
    default:
      return EINVAL;
  }
}

// Writes into the caller's buffer what `add` says of an option.
template <typename Add>
int tell_option(const char* name, char* text, size_t bytes, Add add) noexcept {
  if (name == nullptr || text == nullptr || bytes == 0) return EINVAL;
  const OptionRow* row = option_named(name);
  if (row == nullptr) return ENOENT;
  char whole[2 * option_text_bytes_max];
  OptionLine line(whole, sizeof whole);
  {
    Held held{space.lock()};
    add(line, *row);
  }
  OptionLine cut(text, bytes);
  cut.add(whole);
  return cut.length() == line.length() ? 0 : ERANGE;
}

inline int get_option(const char* name, char* text, size_t bytes) noexcept {
  return tell_option(name, text, bytes, [](OptionLine& line, const OptionRow& row) noexcept {
    add_option_value(line, options, row);
  });
}

inline int option_source(const char* name, char* text, size_t bytes) noexcept {
  return tell_option(name, text, bytes, [](OptionLine& line, const OptionRow& row) noexcept {
    add_option_origin(line, option_origins[row.id], options);
  });
}

inline void set_limits(size_t soft_bytes, size_t hard_bytes) noexcept {
  Held held{space.lock()};
  options.limit_soft = OptionAmount{soft_bytes, AmountKind::bytes};
  options.limit_hard = OptionAmount{hard_bytes, AmountKind::bytes};
  OptionOrigin origin;
  origin.source = OptionSource::call;
  option_origins[OptionId::limit_soft] = option_origins[OptionId::limit_hard] = origin;
  limits.set({soft_bytes, hard_bytes});
}

}  // namespace talus::core::api

#endif  // TALUS_API_OPTIONS_HPP
