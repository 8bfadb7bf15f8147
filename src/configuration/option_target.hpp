// SPDX-License-Identifier: MIT
// configuration/option_target: where options from all places meet: the stronger place wins.
//
// Owns: setting one option, by name or row, from a given place; presets; messages about mistakes.
// Invariants: places may be read in any order. A refused text changes nothing, and a sound Options
// stays sound. It allocates nothing and names no function of libc, as options_text.hpp explains.
// Callers: process start, the API under the space lock, `talus`. Must not know: what an option
// does, and how places are read.
#ifndef TALUS_CONFIGURATION_OPTION_TARGET_HPP
#define TALUS_CONFIGURATION_OPTION_TARGET_HPP

#include "settings/option_origin.hpp"
#include "settings/options.hpp"
#include "settings/presets.hpp"
#include "parsing/options_text.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "parsing/option_spelling.hpp"
#include "parsing/provider_text.hpp"

namespace talus::core {

// Receives one line, zero-terminated, without a newline, valid during the call only.
using WarningSink = void (*)(const char* line);

// The longest warning with its zero: a path, two names, 64 foreign letters and a range.
inline constexpr std::size_t option_warning_bytes_max = 512;

struct OptionTarget {
  Options& values;
  OptionOrigins& origins;
};

constexpr const OptionRow& option_row_of(OptionId id) noexcept {
  return option_rows[static_cast<std::size_t>(id)];
}

// Sets the options of a preset from this place, except those that a stronger place has set.
inline void set_preset(OptionTarget target, OptionOrigin origin) noexcept {
  const std::size_t index = static_cast<std::size_t>(target.values.preset);
  origin.preset = static_cast<std::uint8_t>(index + 1);
  for (const PresetRow& row : preset_rows) {
    if (strength(origin) < strength(target.origins[row.option])) continue;
    const OptionRow& option = option_row_of(row.option);
    if (set_option(target.values, option, row.values[index]) != OptionParse::accepted) continue;
    target.origins[row.option] = origin;
  }
}

// Sets an option from this place, unless a stronger place has set it. A mistake counts in any case.
inline OptionParse set_option_from(OptionTarget target, const OptionRow& row, const char* text,
                                   OptionOrigin origin) noexcept {
  if (strength(origin) < strength(target.origins[row.id])) {
    Options scratch;
    return set_option(scratch, row, text);
  }
  const OptionParse parse = set_option(target.values, row, text);
  if (parse != OptionParse::accepted) return parse;
  target.origins[row.id] = origin;
  if (row.id == OptionId::preset) set_preset(target, origin);
  return parse;
}

// The row of a name in any case, with or without TALUS_; null: no such option.
inline const OptionRow* find_option(const char* name, std::size_t length) noexcept {
  constexpr std::size_t prefix_length = 6;
  if (length > prefix_length && option_is_word(name, prefix_length, "TALUS_")) {
    name += prefix_length;
    length -= prefix_length;
  }
  for (const OptionRow& row : option_rows) {
    if (option_is_word(name, length, row.name)) return &row;
  }
  return nullptr;
}

// The number of letters to drop, add, change or swap with their neighbour to turn `text` into
// `name`. Only the first 48 letters are compared: no name is longer.
inline std::size_t option_distance(const char* text, std::size_t length,
                                   const char* name) noexcept {
  constexpr std::size_t letters_max = 48;
  std::size_t rows[3][letters_max + 1];  // of the distance table: [0] this, [1] last, [2] before
  const std::size_t full = option_length(name);
  const std::size_t columns = full < letters_max ? full : letters_max;
  const std::size_t lines = length < letters_max ? length : letters_max;
  for (std::size_t j = 0; j <= columns; ++j) rows[0][j] = j;
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

// The row whose name is nearest to `name` (given without TALUS_).
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

// The message for an unknown name. `add_name` writes the name of the nearest option.
template <typename AddName>
void add_unknown(OptionLine& line, const char* prefix, const char* name, std::size_t length,
                 AddName add_name) noexcept {
  const OptionGuess guess = nearest_option(name, length);
  line.add("unknown option ");
  line.add(prefix);
  line.add_foreign(name, length);
  line.add(guess.close ? "; did you mean " : "; the nearest is ");
  add_name(line, *guess.row);
  line.add(guess.close ? "?" : ", `talus options` lists them all");
}

// Says what is wrong with a value. Follows the name of its option.
inline void add_refusal(OptionLine& line, const OptionRow& row, const char* text,
                        OptionParse parse) noexcept {
  line.add("=");
  line.add_foreign(text, option_length(text));
  const bool is_number = row.kind == OptionKind::number || row.kind == OptionKind::amount;
  const bool is_provider = row.kind == OptionKind::provider;
  const OptionUnit unit = is_provider ? OptionUnit::bytes : row.unit;
  std::uint64_t guess = 0;
  if (parse == OptionParse::out_of_range) {
    line.add(" is out of range; allowed: ");
  } else if ((is_number && guess_option_number(row, text, guess)) ||
             (is_provider && guess_provider_bytes(text, guess))) {
    line.add(" is not understood; did you mean ");
    add_option_number(line, unit, guess);
    line.add("? Allowed: ");
  } else {
    line.add(" is not understood; allowed: ");
  }
  add_option_range(line, row);
}

// Says which value stays in place of a refused one.
inline void add_kept_value(OptionLine& line, const OptionRow& row, const Options& kept) noexcept {
  line.add("; keeping ");
  const std::size_t length_before = line.length();
  add_option_value(line, kept, row);
  if (line.length() == length_before) line.add("(empty)");
}

// The path of a file as people write it; null: not a file, or an option holds its name.
constexpr const char* place_of_file(OptionSource source) noexcept {
  switch (source) {
    case OptionSource::system_file:
      return "/etc/talus.conf";
    case OptionSource::user_file:
      return "~/.config/talus.conf";
    case OptionSource::xdg_file:
      return "$XDG_CONFIG_HOME/talus.conf";
    default:
      return nullptr;
  }
}

// The place in words: "default", "environment", "/etc/talus.conf:12", "preset small, program".
// `values` holds the name of the file that the environment named.
inline void add_option_origin(OptionLine& line, OptionOrigin origin,
                              const Options& values) noexcept {
  if (origin.preset != 0) {
    line.add("preset ");
    add_option_index(line, option_row_of(OptionId::preset), origin.preset - 1u);
    line.add(", ");
  }
  switch (origin.source) {
    case OptionSource::builtin:
      return line.add("default");
    case OptionSource::program:
      return line.add("program");
    case OptionSource::environment:
      return line.add("environment");
    case OptionSource::call:
      return line.add("call");
    case OptionSource::named_file:
      line.add(values.config.bytes);
      break;
    default:
      line.add(place_of_file(origin.source));
  }
  line.add_char(':');
  line.add_number(origin.line);
}

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_OPTION_TARGET_HPP
