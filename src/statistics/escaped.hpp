// SPDX-License-Identifier: MIT
// statistics/escaped: names given by the program, escaped for each form of output.
//
// Owns: what must be escaped, and how. Invariants: for any bytes of a name the output stays
// well-formed UTF-8, and no part of the name leaves its quotes. Text for people cannot steer a
// terminal. Bytes that are not UTF-8, and characters that XML forbids, become U+FFFD. Called on:
// any thread. Must not know: what the names belong to.
#ifndef TALUS_STATISTICS_ESCAPED_HPP
#define TALUS_STATISTICS_ESCAPED_HPP

#include "os/text.hpp"

namespace talus::core {

// people: a line of text. json: a string. openmetrics: the value of a label. xml: the value of an
// attribute.
enum class NameForm : uint8_t { people, json, openmetrics, xml };

// One character of a UTF-8 text that ends with a zero.
struct Character {
  static constexpr uint32_t replacement = 0xfffd;
  uint32_t code = replacement;
  unsigned length = 1;  // in bytes
  bool is_valid = false;
};

inline Character character_at(const char* at) noexcept {
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // by length
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) return {first, 1, true};
  const unsigned length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first >= 0xf8) return {};
  uint32_t code = first & (0x7fu >> length);
  for (unsigned i = 1; i < length; i++) {
    const auto more = static_cast<unsigned char>(at[i]);
    if ((more & 0xc0) != 0x80) return {};
    code = code << 6 | (more & 0x3fu);
  }
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[length] || code > 0x10ffff || is_surrogate) return {};
  return {code, length, true};
}

// The escape for a character in this form; null: the character itself, or JSON's number of it.
inline const char* word_for(uint32_t code, NameForm form) noexcept {
  constexpr const char* unknown = "\xef\xbf\xbd";
  switch (form) {
    case NameForm::people:
      return code < 0x20 || (code >= 0x7f && code < 0xa0) ? "?" : nullptr;
    case NameForm::json:
      return code == '"' ? "\\\"" : code == '\\' ? "\\\\" : nullptr;
    case NameForm::openmetrics:
      return code == '"' ? "\\\"" : code == '\\' ? "\\\\" : code == '\n' ? "\\n" : nullptr;
    case NameForm::xml:
      break;
  }
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return code < 0x20 || code == 0xfffe || code == 0xffff ? unknown : nullptr;
  }
}

// The most bytes that one byte of a name becomes.
inline constexpr size_t escaped_bytes_max = 6;

template <size_t Capacity>
TextBuffer<Capacity>& put_escaped(TextBuffer<Capacity>& text, const char* name,
                                  NameForm form) noexcept {
  while (*name != '\0') {
    const Character character = character_at(name);
    const char* word = word_for(character.code, form);
    if (!character.is_valid) {
      text.put(form == NameForm::people ? "?" : "\xef\xbf\xbd");
    } else if (word != nullptr) {
      text.put(word);
    } else if (form == NameForm::json && character.code < 0x20) {
      text.put("\\u00")
          .put_character("01"[character.code >> 4])
          .put_character("0123456789abcdef"[character.code & 15]);
    } else {
      for (unsigned i = 0; i < character.length; i++) text.put_character(name[i]);
    }
    name += character.length;
  }
  return text;
}

}  // namespace talus::core

#endif  // TALUS_STATISTICS_ESCAPED_HPP
