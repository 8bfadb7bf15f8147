// SPDX-License-Identifier: MIT
// parsing/fill_text: the choice of fill bytes as text, both ways.
//
// The forms are none, junk, zero, perturb, and alloc=BYTE, free=BYTE or both, with a comma between
// them. A byte is 0 to 255 or 0x0 to 0xff.
//
// Owns: parsing and printing them, and the text of MALLOC_PERTURB_. Invariants: those of
// options_text.hpp; a printed choice parses back to the same choice. Callers: options_text.hpp and
// the start. Must not know: what a fill does.

#ifndef TALUS_PARSING_FILL_TEXT_HPP
#define TALUS_PARSING_FILL_TEXT_HPP

#include "settings/options.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"

namespace talus::core {

// The bytes of jemalloc and FreeBSD.
inline constexpr FillChoice junk_fill{FillKind::bytes, {true, 0xa5}, {true, 0x5a}};
inline constexpr FillChoice zero_fill{FillKind::bytes, {true, 0}, {true, 0}};

constexpr bool is_same_fill(const FillChoice& one, const FillChoice& other) noexcept {
  const auto is_same = [](FillByte a, FillByte b) {
    return a.is_on == b.is_on && (!a.is_on || a.byte == b.byte);
  };
  return one.kind == other.kind && is_same(one.on_allocate, other.on_allocate) &&
         is_same(one.on_free, other.on_free);
}

// The value of a hexadecimal digit; 16: it is none.
constexpr unsigned hex_digit_of(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
  const char low = option_lower(letter);
  return low >= 'a' && low <= 'f' ? static_cast<unsigned>(low - 'a') + 10 : 16;
}

// Reads a number in decimal or, after 0x, in hexadecimal digits, as far as `length`. False: it is
// none, or has more than 32 bits.
constexpr bool read_fill_number(const char* text, std::size_t length, std::uint64_t& out) noexcept {
  const bool is_hex = length > 2 && text[0] == '0' && option_lower(text[1]) == 'x';
  const unsigned base = is_hex ? 16 : 10;
  std::uint64_t value = 0;
  if (length == 0) return false;
  for (std::size_t i = is_hex ? 2 : 0; i < length; ++i) {
    const unsigned digit = hex_digit_of(text[i]);
    if (digit >= base) return false;
    value = value * base + digit;
    if (value > ~std::uint32_t{0}) return false;
  }
  out = value;
  return true;
}

constexpr OptionParse parse_fill_byte(const OptionPart& part, FillByte& out) noexcept {
  std::uint64_t value = 0;
  if (out.is_on || !read_fill_number(part.value, part.length, value)) return OptionParse::malformed;
  if (value > 0xff) return OptionParse::out_of_range;
  out = FillByte{true, static_cast<std::uint8_t>(value)};
  return OptionParse::accepted;
}

// The caller passes a default-constructed `out`.
constexpr OptionParse parse_fill(const char* text, FillChoice& out) noexcept {
  const std::size_t length = option_length(text);
  if (option_is_word(text, length, "none")) return OptionParse::accepted;
  if (option_is_word(text, length, "junk")) out = junk_fill;
  if (option_is_word(text, length, "zero")) out = zero_fill;
  if (option_is_word(text, length, "perturb")) out.kind = FillKind::perturb;
  if (out.kind != FillKind::none) return OptionParse::accepted;
  out.kind = FillKind::bytes;
  OptionParse parse = OptionParse::malformed;
  do {
    OptionPart part{text, 0};
    if (take_option_part(text, "alloc=", part)) {
      parse = parse_fill_byte(part, out.on_allocate);
    } else if (take_option_part(text, "free=", part)) {
      parse = parse_fill_byte(part, out.on_free);
    } else {
      parse = OptionParse::malformed;
    }
  } while (parse == OptionParse::accepted && (*text != '\0' || text[-1] == ','));
  return parse;
}

// What glibc fills with when MALLOC_PERTURB_ has this value; null: it is not set. Zero, and what is
// no number, asks for no fill.
constexpr FillChoice fill_of_perturb(const char* text) noexcept {
  FillChoice choice;
  choice.kind = FillKind::perturb;
  std::uint64_t value = 0;
  if (text == nullptr || !read_fill_number(text, option_length(text), value) || value == 0) {
    return choice;
  }
  const auto byte = static_cast<std::uint8_t>(value);
  choice.on_free = FillByte{true, byte};
  choice.on_allocate = FillByte{true, static_cast<std::uint8_t>(byte ^ 0xff)};
  return choice;
}

inline void add_fill_byte(OptionLine& line, const char* word, FillByte field) noexcept {
  static constexpr char digits[] = "0123456789abcdef";
  if (!field.is_on) return;
  line.add(word);
  line.add_char(digits[field.byte / 16]);
  line.add_char(digits[field.byte % 16]);
}
inline void add_fill(OptionLine& line, const FillChoice& field) noexcept {
  if (field.kind == FillKind::none) return line.add("none");
  if (field.kind == FillKind::perturb) return line.add("perturb");
  if (is_same_fill(field, junk_fill)) return line.add("junk");
  if (is_same_fill(field, zero_fill)) return line.add("zero");
  add_fill_byte(line, "alloc=0x", field.on_allocate);
  add_fill_byte(line, field.on_allocate.is_on ? ",free=0x" : "free=0x", field.on_free);
}

}  // namespace talus::core

#endif  // TALUS_PARSING_FILL_TEXT_HPP
