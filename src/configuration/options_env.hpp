// SPDX-License-Identifier: MIT
// configuration/options_env: reads options from the environment.
//
// TALUS_* variables of an envp array go into an OptionTarget. Each mistake becomes exactly one line
// of warning.
//
// Owns: this reading. Invariant: a sound Options stays sound; a refused value leaves its field
// unchanged. It allocates nothing and names no function of libc. A compiler may still turn a loop
// into strlen or memmove, which need no initialised libc. This may run inside the first malloc of
// the process, before libc is initialised, so it uses no locale, errno or printf. Callers: process
// start, on the first thread, before any other thread exists; `talus run`, which refuses what only
// gives a warning here. In a process that gained privileges (AT_SECURE) the caller must not read
// the environment: it belongs to the user that started the process. Must not know: what an option
// does, and where warnings go.

#ifndef TALUS_CONFIGURATION_OPTIONS_ENV_HPP
#define TALUS_CONFIGURATION_OPTIONS_ENV_HPP

#include <cstddef>
#include <cstdint>

#include "base/base.hpp"
#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "configuration/option_target.hpp"

namespace talus::core {

struct OptionsResult {
  std::uint32_t accepted;  // variables that set an option
  std::uint32_t unknown;   // TALUS_* variables that name no option
  std::uint32_t invalid;   // options with a refused value
};

inline void add_option_env_name(OptionLine& line, const OptionRow& row) noexcept {
  line.add("TALUS_");
  for (const char* letter = row.name; *letter != '\0'; ++letter) {
    line.add_char(option_upper(*letter));
  }
}

// The row whose environment name, without TALUS_, is exactly `name`; null: none.
inline const OptionRow* find_option_env(const char* name, std::size_t length) noexcept {
  for (const OptionRow& row : option_rows) {
    std::size_t i = 0;
    while (i < length && row.name[i] != '\0' && name[i] == option_upper(row.name[i])) ++i;
    if (i == length && row.name[i] == '\0') return &row;
  }
  return nullptr;
}

// One line for an unknown name. `name` is given without TALUS_.
inline void add_unknown_option(OptionLine& line, const char* name, std::size_t length) noexcept {
  line.add("talus: ");
  add_unknown(line, "TALUS_", name, length, add_option_env_name);
}

// One line for a refused value, without what is done about it.
inline void add_refused_value(OptionLine& line, const OptionRow& row, const char* text,
                              OptionParse parse) noexcept {
  line.add("talus: ");
  add_option_env_name(line, row);
  add_refusal(line, row, text, parse);
}

// False for names with this prefix that belong to the benchmarks, to the tests, or to
// told_mistakes.
inline bool is_option_env(const char* name, std::size_t length) noexcept {
  if (option_is_word(name, length, "TOLD")) return false;
  static constexpr const char* others[] = {"BENCH_", "TEST_"};
  for (const char* other : others) {
    const std::size_t other_length = option_length(other);
    if (length >= other_length && option_is_word(name, other_length, other)) return false;
  }
  return true;
}

// The name after TALUS_ in NAME=value; null: the variable has another prefix.
inline const char* option_env_name(const char* variable) noexcept {
  static constexpr const char prefix[] = "TALUS_";
  std::size_t i = 0;
  for (; prefix[i] != '\0'; ++i) {
    if (variable[i] != prefix[i]) return nullptr;
  }
  return variable + i;
}

// Reads every TALUS_* variable of `envp` (null-ended; may be null) into the target. If a name comes
// twice, the first counts, as for getenv. `sink` may be null.
TALUS_START OptionsResult read_environment(const char* const* envp, OptionTarget target,
                                           WarningSink sink) noexcept {
  OptionOrigin origin;
  origin.source = OptionSource::environment;
  OptionsResult result{0, 0, 0};
  bool seen[option_count] = {};
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const char* name = option_env_name(*envp);
    if (name == nullptr) continue;
    std::size_t length = 0;
    while (name[length] != '\0' && name[length] != '=') ++length;
    if (name[length] == '\0' || !is_option_env(name, length)) continue;
    const OptionRow* row = find_option_env(name, length);
    char buffer[option_warning_bytes_max];
    OptionLine line(buffer, sizeof buffer);
    if (row == nullptr) {
      ++result.unknown;
      add_unknown_option(line, name, length);
    } else if (!seen[static_cast<std::size_t>(row->id)]) {
      seen[static_cast<std::size_t>(row->id)] = true;
      const char* value = name + length + 1;
      const OptionParse parse = set_option_from(target, *row, value, origin);
      if (parse == OptionParse::accepted) {
        ++result.accepted;
      } else {
        ++result.invalid;
        add_refused_value(line, *row, value, parse);
        add_kept_value(line, *row, target.values);
      }
    }
    if (line.length() != 0 && sink != nullptr) sink(buffer);
  }
  return result;
}

// Reads the environment alone.
inline OptionsResult parse_options(const char* const* envp, Options& out,
                                   WarningSink sink) noexcept {
  OptionOrigins origins;
  return read_environment(envp, OptionTarget{out, origins}, sink);
}

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_OPTIONS_ENV_HPP
