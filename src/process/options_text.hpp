// SPDX-License-Identifier: MIT
//
// Owns: an option's value as text, both ways: text to field (numbers with units, amounts, words,
// booleans, plain text) and field to text. What is written here parses back to the same value.
// Invariant: a refused text leaves the field as it was; nothing is allocated and no libc function
// is named, because this may run inside the first malloc of the process, before libc is ready:
// no locale, no errno, no printf.
// Callers: options_env.hpp, the verbose line and `talus check`, on any thread.
// Must not know: where the text comes from, and what a value does.

#ifndef TALUS_PROCESS_OPTIONS_TEXT_HPP
#define TALUS_PROCESS_OPTIONS_TEXT_HPP

#include <cstddef>
#include <cstdint>

#include "settings/options.hpp"

namespace talus {

enum class [[nodiscard]] OptionParse : std::uint8_t{accepted, malformed, out_of_range};

// A line of text built in place. Text beyond the buffer is dropped; the end is always zero.
class OptionLine {
 public:
  OptionLine(char* buffer, std::size_t bytes) noexcept : buffer_(buffer), bytes_(bytes) {
    if (bytes_ != 0) buffer_[0] = '\0';
  }
  void add_char(char letter) noexcept {
    if (used_ + 1 >= bytes_) return;
    buffer_[used_++] = letter;
    buffer_[used_] = '\0';
  }
  void add(const char* text) noexcept {
    for (; *text != '\0'; ++text)
      add_char(*text);
  }
  // Text from outside: cut at 64 letters, and what could steer a terminal is shown as '?'.
  void add_foreign(const char* text, std::size_t length) noexcept {
    for (std::size_t i = 0; i < length && i < 64; ++i) {
      const char letter = text[i];
      add_char(letter >= ' ' && letter <= '~' ? letter : '?');
    }
    if (length > 64) add("...");
  }
  void add_number(std::uint64_t value) noexcept {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0)
      add_char(digits[--count]);
  }
  std::size_t length() const noexcept { return used_; }

 private:
  char* buffer_;         // constant, the caller's
  std::size_t bytes_;    // constant
  std::size_t used_{0};  // letters, without the zero
};

constexpr char option_lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr char option_upper(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}
constexpr std::size_t option_length(const char* text) noexcept {
  std::size_t length = 0;
  while (text[length] != '\0')
    ++length;
  return length;
}

// True if `text` of `length` letters is `word`, whatever the case.
constexpr bool option_is_word(const char* text, std::size_t length, const char* word) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    if (word[i] == '\0' || option_lower(text[i]) != option_lower(word[i])) return false;
  }
  return word[length] == '\0';
}

struct OptionSuffix {
  OptionUnit unit;
  const char* word;
  std::uint64_t factor;
};

// Upper rows win when a number is printed: the largest unit that divides it.
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
  bool overflow;    // the value is not what was written
};

TALUS_USUAL constexpr Digits read_digits(const char* text) noexcept {
  Digits digits{0, text, false};
  for (; *digits.end >= '0' && *digits.end <= '9'; ++digits.end) {
    const std::uint64_t digit = static_cast<std::uint64_t>(*digits.end - '0');
    digits.overflow = digits.overflow || digits.value > (~std::uint64_t{0} - digit) / 10;
    digits.value = digits.value * 10 + digit;
  }
  return digits;
}

// Digits and at most one suffix of the row's unit, nothing else.
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

// Nothing, a number as above, or digits and a percent sign.
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
  const char* word = row.words;
  for (std::uint64_t index = 0;; ++index) {
    std::size_t end = 0;
    while (word[end] != '\0' && word[end] != '|')
      ++end;
    std::size_t i = 0;
    while (i < end && i < length && option_lower(text[i]) == word[i])
      ++i;
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
  for (std::size_t i = 0; i <= length; ++i)
    out.bytes[i] = text[i];
  return OptionParse::accepted;
}

// What a provider may have.
inline constexpr OptionRow provider_bytes_row = {
    OptionId::provider,          "size", OptionKind::number, "", 0, "", std::uint64_t{1} << 20,
    std::uint64_t{1} << 47, OptionUnit::bytes, OptionReload::at_start, ""};

// `word`=VALUE of a provider, up to a comma or the end, which `text` is moved behind.
struct ProviderWord {
  const char* value;
  std::size_t length;
};
constexpr bool take_provider_word(const char*& text, const char* word, ProviderWord& out) noexcept {
  const std::size_t length = option_length(word);
  for (std::size_t i = 0; i < length; ++i) {
    if (option_lower(text[i]) != word[i]) return false;
  }
  const char* end = text + length;
  while (*end != '\0' && *end != ',')
    ++end;
  out = ProviderWord{text + length, static_cast<std::size_t>(end - text) - length};
  text = *end == ',' ? end + 1 : end;
  return true;
}
inline OptionParse parse_provider_bytes(const ProviderWord& word, std::uint64_t& out) noexcept {
  char digits[32] = {};
  if (word.length >= sizeof digits) return OptionParse::malformed;
  for (std::size_t i = 0; i < word.length; ++i)
    digits[i] = word.value[i];
  return parse_option_number(provider_bytes_row, digits, out);
}
constexpr bool parse_provider_switch(const ProviderWord& word, bool& out) noexcept {
  if (word.length != 1 || (*word.value != '0' && *word.value != '1')) return false;
  out = *word.value == '1';
  return true;
}

// os, prealloc:SIZE[,fallback=0|1] or file:DIRECTORY[,size=SIZE][,grow=0|1].
inline OptionParse parse_provider(const char* text, ProviderChoice& out) noexcept {
  ProviderWord word{text, 0};
  if (option_is_word(text, option_length(text), "os")) return OptionParse::accepted;
  const bool is_file = take_provider_word(text, "file:", word);
  if (!is_file && !take_provider_word(text, "prealloc:", word)) return OptionParse::malformed;
  out.kind = is_file ? ProviderKind::file : ProviderKind::prealloc;
  OptionParse parse = OptionParse::accepted;
  if (is_file) {
    if (word.length == 0 || word.length >= sizeof out.directory) return OptionParse::malformed;
    for (std::size_t i = 0; i < word.length; ++i)
      out.directory[i] = word.value[i];
  } else {
    parse = parse_provider_bytes(word, out.bytes);
  }
  while (parse == OptionParse::accepted && (*text != '\0' || text[-1] == ',')) {
    if (is_file && take_provider_word(text, "size=", word)) {
      parse = parse_provider_bytes(word, out.bytes);
    } else if (!take_provider_word(text, is_file ? "grow=" : "fallback=", word) ||
               !parse_provider_switch(word, is_file ? out.grows : out.falls_back)) {
      parse = OptionParse::malformed;
    }
  }
  const bool has_size = out.bytes != 0 || out.grows;
  return has_size ? parse : OptionParse::malformed;
}
inline OptionParse assign_option(const OptionRow&, ProviderChoice& field,
                                 const char* text) noexcept {
  ProviderChoice parsed;
  const OptionParse parse = parse_provider(text, parsed);
  if (parse == OptionParse::accepted) field = parsed;
  return parse;
}
// Field by field, so that no row needs an offset or a cast: the type of the field picks.
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

// Sets the row's field from text. Anything but `accepted` leaves it as it was.
inline OptionParse set_option(Options& options, const OptionRow& row, const char* text) noexcept {
  switch (row.id) {
#define TALUS_OPTION_SET(name, type, value, min, max, unit, reload, help) \
  case OptionId::name:                                                    \
    return assign_option(row, options.name, text);
    TALUS_OPTION_ROWS(TALUS_OPTION_SET)
#undef TALUS_OPTION_SET
  }
  return OptionParse::malformed;
}

// --- values to text ------------------------------------------------------------------------------

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

inline void add_option_index(OptionLine& line, const OptionRow& row, std::uint64_t index) noexcept {
  const char* word = row.words;
  for (; index != 0; ++word) {
    if (*word == '\0') return;
    if (*word == '|') --index;
  }
  for (; *word != '\0' && *word != '|'; ++word)
    line.add_char(*word);
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
inline void add_option_field(OptionLine& line, const OptionRow&, bool field) noexcept {
  line.add_char(field ? '1' : '0');
}
template <typename Words>
inline void add_option_field(OptionLine& line, const OptionRow& row, const Words& field) noexcept {
  add_option_index(line, row, static_cast<std::uint64_t>(field));
}

inline void add_option_field(OptionLine& line, const OptionRow&,
                             const ProviderChoice& field) noexcept {
  if (field.kind == ProviderKind::os) return line.add("os");
  const bool is_file = field.kind == ProviderKind::file;
  line.add(is_file ? "file:" : "prealloc:");
  line.add(field.directory);
  if (is_file && field.bytes != 0) line.add(",size=");
  if (field.bytes != 0) add_option_number(line, OptionUnit::bytes, field.bytes);
  if (is_file ? !field.grows : field.falls_back) line.add(is_file ? ",grow=0" : ",fallback=1");
}

inline void add_option_value(OptionLine& line, const Options& options,
                             const OptionRow& row) noexcept {
  switch (row.id) {
#define TALUS_OPTION_ADD(name, type, value, min, max, unit, reload, help) \
  case OptionId::name:                                                    \
    add_option_field(line, row, options.name);                            \
    break;
    TALUS_OPTION_ROWS(TALUS_OPTION_ADD)
#undef TALUS_OPTION_ADD
  }
}

// Writes the value in effect, as it would be written in the environment, into the caller's buffer;
// cut to fit, always zero-terminated. Returns the letters written.
inline std::size_t format_option_value(const Options& options, const OptionRow& row, char* buffer,
                                       std::size_t bytes) noexcept {
  OptionLine line(buffer, bytes);
  add_option_value(line, options, row);
  return line.length();
}

// What a value may be, in words: "0 to 3600s", "abort|ignore".
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
    line.add(row.words);
  }
}

}  // namespace talus

#endif  // TALUS_PROCESS_OPTIONS_TEXT_HPP
