// SPDX-License-Identifier: MIT
// parsing/option_number: numbers with units as text, both ways.
//
// Owns: parsing and printing them. Invariants: those of options_text.hpp; a printed number parses
// back to the same number. Callers: options_text.hpp, and code that reads the kernel's numbers, on
// any thread. Must not know: which options there are.

#ifndef TALUS_PARSING_OPTION_NUMBER_HPP
#define TALUS_PARSING_OPTION_NUMBER_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "parsing/option_letters.hpp"

namespace talus::core {

enum class [[nodiscard]] OptionParse : std::uint8_t{accepted, malformed, out_of_range};

struct OptionSuffix {
  OptionUnit unit;
  char word[4];
  std::uint64_t factor;
};

// The order matters for printing: the first unit that divides the number wins, and it is the
// largest.
inline constexpr OptionSuffix option_suffixes[] = {
    {OptionUnit::bytes, "TiB", std::uint64_t{1} << 40},
    {OptionUnit::bytes, "T", std::uint64_t{1} << 40},
    {OptionUnit::bytes, "GiB", std::uint64_t{1} << 30},
    {OptionUnit::bytes, "G", std::uint64_t{1} << 30},
    {OptionUnit::bytes, "MiB", std::uint64_t{1} << 20},
    {OptionUnit::bytes, "M", std::uint64_t{1} << 20},
    {OptionUnit::bytes, "KiB", std::uint64_t{1} << 10},
    {OptionUnit::bytes, "K", std::uint64_t{1} << 10},
    {OptionUnit::ms, "s", 1000},
    {OptionUnit::ms, "ms", 1},
};

struct Digits {
  std::uint64_t value;
  const char* end;  // the first letter that is no digit
  bool overflow;    // the value is not the written number
};

TALUS_START constexpr Digits read_digits(const char* text) noexcept {
  Digits digits{0, text, false};
  for (; *digits.end >= '0' && *digits.end <= '9'; ++digits.end) {
    const std::uint64_t digit = static_cast<std::uint64_t>(*digits.end - '0');
    digits.overflow = digits.overflow || digits.value > (~std::uint64_t{0} - digit) / 10;
    digits.value = digits.value * 10 + digit;
  }
  return digits;
}

// Accepts digits and at most one suffix of the row's unit.
inline OptionParse parse_option_number(const OptionRow& row, const char* text,
                                       std::uint64_t& out) noexcept {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  auto [value, letter, overflow] = read_digits(text);
  if (letter == text) return OptionParse::malformed;
  if (*letter != '\0') {
    std::uint64_t factor = 0;
    for (const OptionSuffix& suffix : option_suffixes) {
      if (suffix.unit == row.unit && option_is_word(letter, option_length(letter), suffix.word)) {
        factor = suffix.factor;
      }
    }
    if (factor == 0) return OptionParse::malformed;
    overflow = overflow || value > most / factor;
    value *= factor;
  }
  if (overflow || value < row.min || value > row.max) return OptionParse::out_of_range;
  out = value;
  return OptionParse::accepted;
}

// The shortest form that parses back to the same value: 64MiB, 1500ms, 3s, 0.
inline void add_option_number(OptionLine& line, OptionUnit unit, std::uint64_t value) noexcept {
  for (const OptionSuffix& suffix : option_suffixes) {
    if (suffix.unit != unit || value == 0 || value % suffix.factor != 0) continue;
    line.add_number(value / suffix.factor);
    line.add(suffix.word);
    return;
  }
  line.add_number(value);
}

}  // namespace talus::core

#endif  // TALUS_PARSING_OPTION_NUMBER_HPP
