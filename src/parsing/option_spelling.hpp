// SPDX-License-Identifier: MIT
// parsing/option_spelling: which number a refused text probably means.
//
// For example 1GB means 1GiB, and so do "1 GB" and 1.0gb.
//
// Owns: this guess. Invariants: a guess is a number that the option accepts; those of
// options_text.hpp. Callers: option_target.hpp, for its messages. Must not know: the messages.

#ifndef TALUS_PARSING_OPTION_SPELLING_HPP
#define TALUS_PARSING_OPTION_SPELLING_HPP

#include "settings/options.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"

namespace talus::core {

// Units that people write after a number.
struct OptionSpelling {
  OptionUnit unit;
  char word[8];
  std::uint64_t factor;
};

inline constexpr OptionSpelling option_spellings[] = {
    {OptionUnit::none, "", 1},          {OptionUnit::ms, "", 1},
    {OptionUnit::ms, "msec", 1},        {OptionUnit::ms, "msecs", 1},
    {OptionUnit::ms, "sec", 1000},      {OptionUnit::ms, "secs", 1000},
    {OptionUnit::ms, "second", 1000},   {OptionUnit::ms, "seconds", 1000},
    {OptionUnit::ms, "m", 60 * 1000},   {OptionUnit::ms, "min", 60 * 1000},
    {OptionUnit::ms, "h", 3600 * 1000},
};

// The factor of a unit of size: an optional letter of kmgt, an optional i, then b, byte, bytes or
// nothing.
inline std::uint64_t meant_size_factor(const char* word) noexcept {
  static constexpr char powers[] = "kmgt";
  static constexpr char ends[][6] = {"", "b", "byte", "bytes"};
  unsigned shift = 0;
  for (unsigned i = 0; powers[i] != '\0'; ++i) {
    if (option_lower(*word) == powers[i]) shift = 10 * (i + 1);
  }
  if (shift != 0) ++word;
  if (shift != 0 && option_lower(*word) == 'i') ++word;
  for (const char* end : ends) {
    if (option_is_word(word, option_length(word), end)) return std::uint64_t{1} << shift;
  }
  return 0;
}

// 0: the word is no unit of this kind.
inline std::uint64_t meant_factor(OptionUnit unit, const char* word) noexcept {
  if (unit == OptionUnit::bytes) return meant_size_factor(word);
  const std::size_t length = option_length(word);
  for (const OptionSuffix& suffix : option_suffixes) {
    if (suffix.unit == unit && option_is_word(word, length, suffix.word)) return suffix.factor;
  }
  for (const OptionSpelling& spelling : option_spellings) {
    if (spelling.unit == unit && option_is_word(word, length, spelling.word)) {
      return spelling.factor;
    }
  }
  return 0;
}

inline const char* behind_blanks(const char* text) noexcept {
  while (*text == ' ' || *text == '\t') ++text;
  return text;
}

// The number that the text probably means, in the row's unit. False: no good guess.
inline bool guess_option_number(const OptionRow& row, const char* text,
                                std::uint64_t& out) noexcept {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const Digits whole = read_digits(behind_blanks(text));
  if (whole.end == behind_blanks(text)) return false;
  Digits part{0, whole.end, false};
  std::uint64_t parts = 1;  // the denominator: `part` is this many parts of one
  if (*whole.end == '.') {
    part = read_digits(whole.end + 1);
    if (part.end - whole.end > 7) return false;
    for (const char* digit = whole.end + 1; digit != part.end; ++digit) parts *= 10;
  }
  char word[16];
  std::size_t length = 0;
  for (const char* letter = behind_blanks(part.end); *letter != '\0'; ++letter) {
    if (length + 1 == sizeof word) return false;
    word[length++] = *letter;
  }
  while (length != 0 && (word[length - 1] == ' ' || word[length - 1] == '\t')) --length;
  word[length] = '\0';
  const std::uint64_t factor = meant_factor(row.unit, word);
  if (factor == 0 || whole.overflow || whole.value > most / factor) return false;
  if (part.value > most / factor || part.value * factor % parts != 0) return false;
  const std::uint64_t value = whole.value * factor;
  const std::uint64_t rest = part.value * factor / parts;
  if (rest > most - value || value + rest < row.min || value + rest > row.max) return false;
  out = value + rest;
  return true;
}

}  // namespace talus::core

#endif  // TALUS_PARSING_OPTION_SPELLING_HPP
