// SPDX-License-Identifier: MIT
// parsing/option_letters: letters and words of options, and a line of text built in place.
//
// Owns: comparing words in any case, taking parts off a list, and building such a line. Invariant:
// it allocates nothing and names no function of libc, as options_text.hpp explains. Callers: all
// code that reads or prints options, on any thread. Must not know: which options there are.

#ifndef TALUS_PARSING_OPTION_LETTERS_HPP
#define TALUS_PARSING_OPTION_LETTERS_HPP

#include <cstddef>
#include <cstdint>

namespace talus::core {

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
    for (; *text != '\0'; ++text) add_char(*text);
  }
  // Adds text from outside: at most 64 letters. A byte that could steer a terminal becomes '?'.
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
    while (count != 0) add_char(digits[--count]);
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
  while (text[length] != '\0') ++length;
  return length;
}

// True if `text` of `length` letters is `word` in any case.
constexpr bool option_is_word(const char* text, std::size_t length, const char* word) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    if (word[i] == '\0' || option_lower(text[i]) != option_lower(word[i])) return false;
  }
  return word[length] == '\0';
}

// Takes `word`VALUE off `text`, up to a comma or the end, and moves `text` behind it.
struct OptionPart {
  const char* value;
  std::size_t length;
};
constexpr bool take_option_part(const char*& text, const char* word, OptionPart& out) noexcept {
  const std::size_t length = option_length(word);
  for (std::size_t i = 0; i < length; ++i) {
    if (option_lower(text[i]) != word[i]) return false;
  }
  const char* end = text + length;
  while (*end != '\0' && *end != ',') ++end;
  out = OptionPart{text + length, static_cast<std::size_t>(end - text) - length};
  text = *end == ',' ? end + 1 : end;
  return true;
}

}  // namespace talus::core

#endif  // TALUS_PARSING_OPTION_LETTERS_HPP
