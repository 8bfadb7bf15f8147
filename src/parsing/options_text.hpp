// SPDX-License-Identifier: MIT
// parsing/options_text: the value of an option as text, both ways.
//
// Owns: text to field (amounts, words, booleans and plain text; numbers, providers and fills have
// their own files), and field to text. Invariant: printed text parses back to the same value; a
// refused text leaves the field unchanged. It allocates nothing and names no function of libc. It
// may run inside the first malloc of the process, before libc is ready, so it uses no locale, errno
// or printf. Callers: options_env.hpp, the verbose line and `talus check`, on any thread. Must not
// know: where the text comes from, and what a value does.

#ifndef TALUS_PARSING_OPTIONS_TEXT_HPP
#define TALUS_PARSING_OPTIONS_TEXT_HPP

#include "settings/options.hpp"
#include "parsing/fill_text.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "parsing/provider_text.hpp"

namespace talus::core {

// Accepts nothing, a number, or digits and a percent sign.
inline OptionParse parse_option_amount(const OptionRow& row, const char* text,
                                       OptionAmount& out) noexcept {
  if (*text == '\0') {
    out = OptionAmount{};
    return OptionParse::accepted;
  }
  const Digits digits = read_digits(text);
  if (digits.end != text && digits.end[0] == '%' && digits.end[1] == '\0') {
    if (digits.overflow || digits.value < 1 || digits.value > 100) return OptionParse::out_of_range;
    out = OptionAmount{digits.value, AmountKind::percent};
    return OptionParse::accepted;
  }
  std::uint64_t bytes = 0;
  const OptionParse parse = parse_option_number(row, text, bytes);
  if (parse == OptionParse::accepted) out = OptionAmount{bytes, AmountKind::bytes};
  return parse;
}

// The index of `text` among the row's words.
inline OptionParse parse_option_word(const OptionRow& row, const char* text,
                                     std::uint64_t& out) noexcept {
  const std::size_t length = option_length(text);
  const char* word = option_words(row.id);
  for (std::uint64_t index = 0;; ++index) {
    std::size_t end = 0;
    while (word[end] != '\0' && word[end] != '|') ++end;
    std::size_t i = 0;
    while (i < end && i < length && option_lower(text[i]) == word[i]) ++i;
    if (i == end && i == length) {
      out = index;
      return OptionParse::accepted;
    }
    if (word[end] == '\0') return OptionParse::malformed;
    word += end + 1;
  }
}

inline OptionParse parse_option_text(const char* text, OptionText& out) noexcept {
  const std::size_t length = option_length(text);
  if (length >= option_text_bytes_max) return OptionParse::out_of_range;
  for (std::size_t i = 0; i <= length; ++i) out.bytes[i] = text[i];
  return OptionParse::accepted;
}

// One overload for each type of field, so no row needs an offset or a cast.
inline OptionParse assign_option(const OptionRow&, ProviderChoice& field,
                                 const char* text) noexcept {
  ProviderChoice parsed;
  const OptionParse parse = parse_provider(text, parsed);
  if (parse == OptionParse::accepted) field = parsed;
  return parse;
}
inline OptionParse assign_option(const OptionRow&, FillChoice& field, const char* text) noexcept {
  FillChoice parsed;
  const OptionParse parse = parse_fill(text, parsed);
  if (parse == OptionParse::accepted) field = parsed;
  return parse;
}
inline OptionParse assign_option(const OptionRow&, OptionText& field, const char* text) noexcept {
  return parse_option_text(text, field);
}
inline OptionParse assign_option(const OptionRow& row, std::uint64_t& field,
                                 const char* text) noexcept {
  return parse_option_number(row, text, field);
}
inline OptionParse assign_option(const OptionRow& row, OptionAmount& field,
                                 const char* text) noexcept {
  return parse_option_amount(row, text, field);
}
inline OptionParse assign_option(const OptionRow& row, bool& field, const char* text) noexcept {
  std::uint64_t value = 0;
  const OptionParse parse = parse_option_word(row, text, value);
  if (parse == OptionParse::accepted) field = value % 2 == 1;  // see OptionTypeOf<bool>
  return parse;
}
template <typename Words>
inline OptionParse assign_option(const OptionRow& row, Words& field, const char* text) noexcept {
  std::uint64_t value = 0;
  const OptionParse parse = parse_option_word(row, text, value);
  if (parse == OptionParse::accepted) field = static_cast<Words>(value);
  return parse;
}

// Sets the row's field from text. Any result but `accepted` leaves the field unchanged.
inline OptionParse set_option(Options& values, const OptionRow& row, const char* text) noexcept {
  switch (row.id) {
#define TALUS_OPTION_SET(name, type, value, min, max, unit, reload, help) \
  case OptionId::name:                                                    \
    return assign_option(row, values.name, text);
    TALUS_OPTION_ROWS(TALUS_OPTION_SET)
#undef TALUS_OPTION_SET
  }
  return OptionParse::malformed;
}

// --- values to text ------------------------------------------------------------------------------

inline void add_option_index(OptionLine& line, const OptionRow& row, std::uint64_t index) noexcept {
  const char* word = option_words(row.id);
  for (; index != 0; ++word) {
    if (*word == '\0') return;
    if (*word == '|') --index;
  }
  for (; *word != '\0' && *word != '|'; ++word) line.add_char(*word);
}

inline void add_option_field(OptionLine& line, const OptionRow&, const OptionText& field) noexcept {
  line.add(field.bytes);
}
inline void add_option_field(OptionLine& line, const OptionRow& row, std::uint64_t field) noexcept {
  add_option_number(line, row.unit, field);
}
inline void add_option_field(OptionLine& line, const OptionRow& row,
                             const OptionAmount& field) noexcept {
  if (field.kind == AmountKind::unset) return;
  if (field.kind == AmountKind::bytes) return add_option_number(line, row.unit, field.value);
  line.add_number(field.value);
  line.add_char('%');
}
inline void add_option_field(OptionLine& line, const OptionRow&,
                             const ProviderChoice& field) noexcept {
  add_provider(line, field);
}
inline void add_option_field(OptionLine& line, const OptionRow&, const FillChoice& field) noexcept {
  add_fill(line, field);
}
inline void add_option_field(OptionLine& line, const OptionRow&, bool field) noexcept {
  line.add_char(field ? '1' : '0');
}
template <typename Words>
inline void add_option_field(OptionLine& line, const OptionRow& row, const Words& field) noexcept {
  add_option_index(line, row, static_cast<std::uint64_t>(field));
}

inline void add_option_value(OptionLine& line, const Options& values,
                             const OptionRow& row) noexcept {
  switch (row.id) {
#define TALUS_OPTION_ADD(name, type, value, min, max, unit, reload, help) \
  case OptionId::name:                                                    \
    add_option_field(line, row, values.name);                             \
    break;
    TALUS_OPTION_ROWS(TALUS_OPTION_ADD)
#undef TALUS_OPTION_ADD
  }
}

// Writes the current value into the caller's buffer, in the form that the environment uses. It is
// cut to fit and always ends with a zero. Returns the letters written.
inline std::size_t format_option_value(const Options& values, const OptionRow& row, char* buffer,
                                       std::size_t bytes) noexcept {
  OptionLine line(buffer, bytes);
  add_option_value(line, values, row);
  return line.length();
}

// The allowed values in words: "0 to 3600s", "abort|ignore".
inline void add_option_range(OptionLine& line, const OptionRow& row) noexcept {
  if (row.kind == OptionKind::text) {
    line.add("text of at most ");
    line.add_number(row.max);
    line.add(" bytes");
  } else if (row.kind == OptionKind::number || row.kind == OptionKind::amount) {
    add_option_number(line, row.unit, row.min);
    line.add(" to ");
    add_option_number(line, row.unit, row.max);
    if (row.kind == OptionKind::amount) line.add(", 1% to 100%, or empty");
  } else {
    line.add(option_words(row.id));
  }
}

}  // namespace talus::core

#endif  // TALUS_PARSING_OPTIONS_TEXT_HPP
