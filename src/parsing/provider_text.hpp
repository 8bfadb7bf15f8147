// SPDX-License-Identifier: MIT
// parsing/provider_text: the choice of a provider as text, both ways.
//
// The forms are os, prealloc:SIZE[,fallback=0|1], and file:DIRECTORY[,size=SIZE][,grow=0|1].
//
// Owns: parsing and printing them. Invariants: those of options_text.hpp; a printed choice parses
// back to the same choice. Callers: options_text.hpp. Must not know: what a provider does.

#ifndef TALUS_PARSING_PROVIDER_TEXT_HPP
#define TALUS_PARSING_PROVIDER_TEXT_HPP

#include "settings/options.hpp"
#include "parsing/option_letters.hpp"
#include "parsing/option_number.hpp"
#include "parsing/option_spelling.hpp"

namespace talus::core {

// The range of a provider's size.
inline constexpr OptionRow provider_bytes_row = {OptionId::provider,
                                                 {},
                                                 OptionKind::number,
                                                 0,
                                                 std::uint64_t{1} << 20,
                                                 std::uint64_t{1} << 47,
                                                 OptionUnit::bytes,
                                                 OptionReload::at_start,
                                                 {}};

inline OptionParse parse_provider_bytes(const OptionPart& word, std::uint64_t& out) noexcept {
  char digits[32] = {};
  if (word.length >= sizeof digits) return OptionParse::malformed;
  for (std::size_t i = 0; i < word.length; ++i) digits[i] = word.value[i];
  return parse_option_number(provider_bytes_row, digits, out);
}
constexpr bool parse_provider_switch(const OptionPart& word, bool& out) noexcept {
  if (word.length != 1 || (*word.value != '0' && *word.value != '1')) return false;
  out = *word.value == '1';
  return true;
}

// The size that a refused choice probably means in another spelling. False: no good guess.
inline bool guess_provider_bytes(const char* text, std::uint64_t& out) noexcept {
  OptionPart word{text, 0};
  const bool is_file = take_option_part(text, "file:", word);
  if (!is_file && !take_option_part(text, "prealloc:", word)) return false;
  while (is_file && *text != '\0') {
    if (take_option_part(text, "size=", word)) break;
    if (!take_option_part(text, "", word)) return false;
  }
  char digits[32] = {};
  for (std::size_t i = 0; i < word.length && i + 1 < sizeof digits; ++i) digits[i] = word.value[i];
  std::uint64_t known = 0;
  return parse_option_number(provider_bytes_row, digits, known) == OptionParse::malformed &&
         guess_option_number(provider_bytes_row, digits, out);
}

// The caller passes a default-constructed `out`.
inline OptionParse parse_provider(const char* text, ProviderChoice& out) noexcept {
  OptionPart word{text, 0};
  if (option_is_word(text, option_length(text), "os")) return OptionParse::accepted;
  const bool is_file = take_option_part(text, "file:", word);
  if (!is_file && !take_option_part(text, "prealloc:", word)) return OptionParse::malformed;
  out.kind = is_file ? ProviderKind::file : ProviderKind::prealloc;
  OptionParse parse = OptionParse::accepted;
  if (is_file) {
    if (word.length == 0 || word.length >= sizeof out.directory) return OptionParse::malformed;
    for (std::size_t i = 0; i < word.length; ++i) out.directory[i] = word.value[i];
  } else {
    parse = parse_provider_bytes(word, out.bytes);
  }
  while (parse == OptionParse::accepted && (*text != '\0' || text[-1] == ',')) {
    if (is_file && take_option_part(text, "size=", word)) {
      parse = parse_provider_bytes(word, out.bytes);
    } else if (!take_option_part(text, is_file ? "grow=" : "fallback=", word) ||
               !parse_provider_switch(word, is_file ? out.grows : out.falls_back)) {
      parse = OptionParse::malformed;
    }
  }
  const bool has_size = out.bytes != 0 || out.grows;
  return has_size ? parse : OptionParse::malformed;
}

inline void add_provider(OptionLine& line, const ProviderChoice& field) noexcept {
  if (field.kind == ProviderKind::os) return line.add("os");
  const bool is_file = field.kind == ProviderKind::file;
  line.add(is_file ? "file:" : "prealloc:");
  line.add(field.directory);
  if (is_file && field.bytes != 0) line.add(",size=");
  if (field.bytes != 0) add_option_number(line, OptionUnit::bytes, field.bytes);
  if (is_file ? !field.grows : field.falls_back) line.add(is_file ? ",grow=0" : ",fallback=1");
}

}  // namespace talus::core

#endif  // TALUS_PARSING_PROVIDER_TEXT_HPP
