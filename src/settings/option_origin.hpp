// SPDX-License-Identifier: MIT
// settings/option_origin: where the value of an option comes from, and which source is stronger.
//
// Owns: the order of sources, see strength(); and for each option of the process the source of its
// value. Invariant: a value changes only together with its origin, except where mallopt bounds
// retained memory. Why this order: docs/decisions/0011-configuration.md.
// Written when the process is configured, later under the space lock. Pure data, floor 2.
#ifndef TALUS_SETTINGS_OPTION_ORIGIN_HPP
#define TALUS_SETTINGS_OPTION_ORIGIN_HPP

#include "base/base.hpp"
#include "settings/options.hpp"

namespace talus::core {

// From weak to strong. At most one of the three files of a user is read.
enum class OptionSource : std::uint8_t {
  builtin,
  program,      // talus_options, which the program defines
  system_file,  // /etc/talus.conf
  user_file,    // ~/.config/talus.conf
  xdg_file,     // $XDG_CONFIG_HOME/talus.conf
  named_file,   // the one that TALUS_CONFIG names
  environment,
  call,  // talus_set_option
};

struct OptionOrigin {
  OptionSource source = OptionSource::builtin;
  bool is_for_program = false;  // in a section that names the program
  std::uint8_t preset = 0;      // the preset's index plus one; 0: the option itself was given
  std::uint16_t line = 0;       // in a file; 0: none
};

// In one file, a section for one program is stronger than one for all programs. In one place, an
// option itself is stronger than a preset.
constexpr unsigned strength(OptionOrigin origin) noexcept {
  return static_cast<unsigned>(origin.source) * 4 + (origin.is_for_program ? 2 : 0) +
         (origin.preset == 0 ? 1 : 0);
}

struct OptionOrigins {
  OptionOrigin of[option_count];

  OptionOrigin& operator[](OptionId id) noexcept { return of[static_cast<std::size_t>(id)]; }
  const OptionOrigin& operator[](OptionId id) const noexcept {
    return of[static_cast<std::size_t>(id)];
  }
};

TALUS_CONSTINIT inline OptionOrigins option_origins;

}  // namespace talus::core

#endif  // TALUS_SETTINGS_OPTION_ORIGIN_HPP
