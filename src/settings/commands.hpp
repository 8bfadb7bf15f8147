// SPDX-License-Identifier: MIT
// settings/commands: what another process may ask of this one, and what it is told.
//
// Owns: the numbers of commands and of results, and the check that tells a whole command from half
// of one. Invariant: a number keeps its meaning, because the command `talus` may be older or newer
// than the process. A process answers `unknown` to a number that it does not know.
// Must not know: how a command gets here (threads/mailbox.hpp), and what it does. Pure data.
#ifndef TALUS_SETTINGS_COMMANDS_HPP
#define TALUS_SETTINGS_COMMANDS_HPP

#include <cstddef>
#include <cstdint>

#include "base/base.hpp"

namespace talus::core {

enum class CommandId : std::uint32_t {
  none,
  release,      // number: bytes, 0: all free memory
  trim,         // number: bytes to keep
  set_option,   // text: name, a zero, value
  count_calls,  // number: 1: count from here on; 0: stop
  reset_peaks,
  profile  // number: mean bytes between samples from here on; 0: no samples. Answers the mean
};

enum class CommandResult : std::uint32_t {
  none,
  done,
  unknown,       // a command that this version does not have
  damaged,       // the command is not whole
  refused,       // option observers says none
  no_option,     // set: no such option
  at_start,      // set: the option is read at the start only
  malformed,     // set: the value is not understood
  out_of_range,  // set: the value is out of range
  no_room,       // stats, profile: too many modes are on, or no memory
  withdrawn      // it was not executed
};

inline constexpr std::size_t command_text_bytes = 160;
inline constexpr std::size_t answer_text_bytes = 96;

// FNV-1a over all that makes a command.
constexpr std::uint32_t command_check(CommandId command, std::uint64_t number, const char* text,
                                      std::uint32_t request) noexcept {
  std::uint32_t sum = 2166136261U;
  const auto add = [&sum](std::uint64_t value, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i++) {
      sum = (sum ^ static_cast<std::uint32_t>((value >> 8 * i) & 0xff)) * 16777619U;
    }
  };
  add(static_cast<std::uint32_t>(command), sizeof command);
  add(number, sizeof number);
  add(request, sizeof request);
  for (std::size_t i = 0; i < command_text_bytes; i++) add(static_cast<unsigned char>(text[i]), 1);
  return sum;
}

}  // namespace talus::core

#endif  // TALUS_SETTINGS_COMMANDS_HPP
