// SPDX-License-Identifier: MIT
//
// Owns: how options are read from the environment: TALUS_* variables of an envp array go into an
// Options, and each mistake becomes exactly one line of warning.
// Invariant: an Options that was sound before stays sound; a refused value leaves its field as it
// was. Nothing is allocated and no function of libc is named (a compiler may still turn a loop
// into strlen or memmove, which need no initialised libc): this may run inside the very first
// malloc of the process, before libc is initialised, so there is no locale, errno or printf here.
// Callers: process start, on the first thread, before any other thread exists; `talus run`, which
// refuses what this would only warn about. In a process that gained privileges (AT_SECURE) the
// caller must not call parse_options at all: the environment belongs to whoever started it.
// Must not know: what an option does, and where warnings go.

#ifndef TALUS_PROCESS_OPTIONS_ENV_HPP
#define TALUS_PROCESS_OPTIONS_ENV_HPP

#include <cstddef>
#include <cstdint>

#include "process/options_text.hpp"
#include "settings/options.hpp"

namespace talus {

// Receives one line, zero-terminated, without a newline, valid during the call only.
using WarningSink = void (*)(const char* line);

struct OptionsResult {
  std::uint32_t accepted;  // variables that set an option
  std::uint32_t unknown;   // TALUS_* variables that are no option
  std::uint32_t invalid;   // options with a value that was refused
};

// Longest line of warning, with its zero: two names, 64 foreign letters and a range.
inline constexpr std::size_t option_warning_bytes_max = 512;

inline void add_option_env_name(OptionLine& line, const OptionRow& row) noexcept {
  line.add("TALUS_");
  for (const char* letter = row.name; *letter != '\0'; ++letter) {
    line.add_char(option_upper(*letter));
  }
}

// The row whose environment name, without TALUS_, is exactly `name`; null if there is none.
inline const OptionRow* find_option_env(const char* name, std::size_t length) noexcept {
  for (const OptionRow& row : option_rows) {
    std::size_t i = 0;
    while (i < length && row.name[i] != '\0' && name[i] == option_upper(row.name[i]))
      ++i;
    if (i == length && row.name[i] == '\0') return &row;
  }
  return nullptr;
}

// How many letters must be dropped, added, changed or swapped with their neighbour to turn `text`
// into `name`. Only the first 48 letters are compared: no name is longer.
inline std::size_t option_distance(const char* text, std::size_t length,
                                   const char* name) noexcept {
  constexpr std::size_t letters_max = 48;
  std::size_t rows[3][letters_max + 1];  // of the distance table: [0] this, [1] last, [2] before
  const std::size_t full = option_length(name);
  const std::size_t columns = full < letters_max ? full : letters_max;
  const std::size_t lines = length < letters_max ? length : letters_max;
  for (std::size_t j = 0; j <= columns; ++j)
    rows[0][j] = j;
  for (std::size_t i = 1; i <= lines; ++i) {
    for (std::size_t j = 0; j <= columns; ++j) {
      rows[2][j] = rows[1][j];
      rows[1][j] = rows[0][j];
    }
    rows[0][0] = i;
    const char now = option_lower(text[i - 1]);
    for (std::size_t j = 1; j <= columns; ++j) {
      std::size_t best = rows[1][j - 1] + (now == name[j - 1] ? 0 : 1);
      if (rows[1][j] + 1 < best) best = rows[1][j] + 1;
      if (rows[0][j - 1] + 1 < best) best = rows[0][j - 1] + 1;
      const bool swapped =
          i > 1 && j > 1 && now == name[j - 2] && option_lower(text[i - 2]) == name[j - 1];
      if (swapped && rows[2][j - 2] + 1 < best) best = rows[2][j - 2] + 1;
      rows[0][j] = best;
    }
  }
  return rows[0][columns];
}

struct OptionGuess {
  const OptionRow* row;  // never null
  bool close;            // so near that it was probably meant
};

// The row whose name comes nearest to `name` (given without TALUS_).
inline OptionGuess nearest_option(const char* name, std::size_t length) noexcept {
  const OptionRow* best = &option_rows[0];
  std::size_t best_distance = static_cast<std::size_t>(-1);
  for (const OptionRow& row : option_rows) {
    const std::size_t distance = option_distance(name, length, row.name);
    if (distance < best_distance) {
      best_distance = distance;
      best = &row;
    }
  }
  return {best, best_distance * 2 <= option_length(best->name)};
}

// One line for a name that is no option. `name` is given without TALUS_.
inline void add_unknown_option(OptionLine& line, const char* name, std::size_t length) noexcept {
  const OptionGuess guess = nearest_option(name, length);
  line.add("talus: unknown option TALUS_");
  line.add_foreign(name, length);
  line.add(guess.close ? "; did you mean " : "; the nearest is ");
  add_option_env_name(line, *guess.row);
  line.add(guess.close ? "?" : ", `talus options` lists them all");
}

// One line for a value that was refused, without what is done about it.
inline void add_refused_value(OptionLine& line, const OptionRow& row, const char* text,
                              OptionParse parse) noexcept {
  line.add("talus: ");
  add_option_env_name(line, row);
  line.add("=");
  line.add_foreign(text, option_length(text));
  line.add(parse == OptionParse::out_of_range ? " is out of range; allowed: "
                                              : " is not understood; allowed: ");
  add_option_range(line, row);
}

// Names that live in the same prefix but belong to the benchmarks and to the tests.
inline bool is_option_env(const char* name, std::size_t length) noexcept {
  static constexpr const char* others[] = {"BENCH_", "TEST_"};
  for (const char* other : others) {
    const std::size_t other_length = option_length(other);
    if (length >= other_length && option_is_word(name, other_length, other)) return false;
  }
  return true;
}

// The part of NAME=value behind TALUS_; null if the variable is not ours.
inline const char* option_env_name(const char* variable) noexcept {
  static constexpr const char prefix[] = "TALUS_";
  std::size_t i = 0;
  for (; prefix[i] != '\0'; ++i) {
    if (variable[i] != prefix[i]) return nullptr;
  }
  return variable + i;
}

// Reads every TALUS_* variable of `envp` (null-ended; may be null) into `out`. A name that comes
// twice counts once, the first time, as for getenv. `sink` may be null.
inline OptionsResult parse_options(const char* const* envp, Options& out,
                                   WarningSink sink) noexcept {
  OptionsResult result{0, 0, 0};
  bool seen[option_count] = {};
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const char* name = option_env_name(*envp);
    if (name == nullptr) continue;
    std::size_t length = 0;
    while (name[length] != '\0' && name[length] != '=')
      ++length;
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
      const OptionParse parse = set_option(out, *row, value);
      if (parse == OptionParse::accepted) {
        ++result.accepted;
      } else {
        ++result.invalid;
        add_refused_value(line, *row, value, parse);
        line.add("; keeping ");
        const std::size_t length_before = line.length();
        add_option_value(line, out, *row);
        if (line.length() == length_before) line.add("(empty)");
      }
    }
    if (line.length() != 0 && sink != nullptr) sink(buffer);
  }
  return result;
}

}  // namespace talus

#endif  // TALUS_PROCESS_OPTIONS_ENV_HPP
