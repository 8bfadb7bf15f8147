// SPDX-License-Identifier: MIT
// os/text: a short text on the stack, for messages from code that must not allocate.
//
// Owns: its buffer. Invariant: always NUL-terminated; a text that does not fit is cut. Called on:
// any thread, in any state. Must not know: where the text goes.
#ifndef TALUS_OS_TEXT_HPP
#define TALUS_OS_TEXT_HPP

#include "base/base.hpp"

namespace talus::core {

template <size_t Capacity>
class TextBuffer {
 public:
  const char* data() const noexcept { return bytes_; }
  size_t length() const noexcept { return length_; }
  void clear() noexcept {
    length_ = 0;
    bytes_[0] = '\0';
  }

  TextBuffer& put(const char* words) noexcept {
    for (; *words != '\0'; words++) put_character(*words);
    return *this;
  }
  TextBuffer& put_character(char character) noexcept {
    if (length_ + 1 < Capacity) {
      bytes_[length_++] = character;
      bytes_[length_] = '\0';
    }
    return *this;
  }
  TextBuffer& put_number(uint64_t number, unsigned width = 0) noexcept {
    char digits[24];
    unsigned count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    for (unsigned pad = count; pad < width; pad++) put_character(' ');
    while (count > 0) put_character(digits[--count]);
    return *this;
  }
  // A fraction of `thousandths` with three places.
  TextBuffer& put_thousandths(uint64_t thousandths) noexcept {
    put_number(thousandths / 1000).put_character('.');
    put_character(static_cast<char>('0' + thousandths / 100 % 10));
    put_character(static_cast<char>('0' + thousandths / 10 % 10));
    return put_character(static_cast<char>('0' + thousandths % 10));
  }
  TextBuffer& put_hex(uint64_t number) noexcept {
    put("0x");
    unsigned shift = 60;
    while (shift > 0 && (number >> shift) == 0) shift -= 4;
    for (;; shift -= 4) {
      put_character("0123456789abcdef"[(number >> shift) & 15]);
      if (shift == 0) return *this;
    }
  }

 private:
  size_t length_ = 0;
  char bytes_[Capacity] = {};
};

using Text = TextBuffer<256>;

}  // namespace talus::core

#endif  // TALUS_OS_TEXT_HPP
