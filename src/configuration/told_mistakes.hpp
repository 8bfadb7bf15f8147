// SPDX-License-Identifier: MIT
// configuration/told_mistakes: a tree of processes reports a mistake in its options once.
//
// A process that finds a mistake whose hash it inherits is silent. One that reports a new mistake
// adds its hash for its own children.
//
// Owns: the hashes of mistakes that this process or an ancestor reported, and the variable that
// carries them: TALUS_TOLD=1a2b3c4d,5e6f7a8b. Invariants: without a mistake it reads, writes and
// allocates nothing. The list is bounded, and a mistake beyond it is reported again. A process that
// gained privileges neither reads nor changes the variable: its caller could silence it. Called on:
// the thread that starts the process. Must not know: what a mistake is.
#ifndef TALUS_CONFIGURATION_TOLD_MISTAKES_HPP
#define TALUS_CONFIGURATION_TOLD_MISTAKES_HPP

#include "base/base.hpp"
#include "os/text.hpp"

namespace talus::core {

inline constexpr char told_variable[] = "TALUS_TOLD";
inline constexpr size_t told_mistakes_max = 16;
inline constexpr size_t told_hash_letters = 8;

// The longest variable, with its zero.
using ToldText = TextBuffer<sizeof told_variable + 1 + told_mistakes_max*(told_hash_letters + 1)>;

// FNV-1a.
constexpr uint32_t hash_of_mistake(const char* line) noexcept {
  uint32_t hash = 2166136261u;
  for (; *line != '\0'; line++) {
    hash = (hash ^ static_cast<unsigned char>(*line)) * 16777619u;
  }
  return hash;
}

// The value of a hexadecimal digit; 16: not a digit.
constexpr uint32_t value_of_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return static_cast<uint32_t>(letter - '0');
  return letter >= 'a' && letter <= 'f' ? static_cast<uint32_t>(letter - 'a') + 10 : 16;
}

class ToldMistakes {
 public:
  // `value` is the text after TALUS_TOLD=. The list ends at the first text that is no hash.
  TALUS_COLD void inherit(const char* value) noexcept {
    while (value_of_digit(*value) < 16) {
      uint32_t hash = 0;
      for (size_t i = 0; i < told_hash_letters; i++, value++) {
        const uint32_t digit = value_of_digit(*value);
        if (digit == 16) return;
        hash = hash << 4 | digit;
      }
      add(hash);
      if (*value != ',') return;
      value++;
    }
  }

  // True: no process has reported it yet; from now on it counts as reported.
  TALUS_COLD bool is_new(const char* line) noexcept {
    const uint32_t hash = hash_of_mistake(line);
    for (size_t i = 0; i < count_; i++) {
      if (hashes_[i] == hash) return false;
    }
    has_new_ = add(hash) || has_new_;
    return true;
  }

  bool has_new() const noexcept { return has_new_; }

  // NAME=value, for the environment of children.
  TALUS_COLD void put(ToldText& text) const noexcept {
    text.put(told_variable);
    for (size_t i = 0; i < count_; i++) {
      text.put_character(i == 0 ? '=' : ',');
      for (unsigned shift = 32; shift != 0; shift -= 4) {
        text.put_character("0123456789abcdef"[hashes_[i] >> (shift - 4) & 15]);
      }
    }
  }

 private:
  bool add(uint32_t hash) noexcept {
    if (count_ == told_mistakes_max) return false;
    hashes_[count_++] = hash;
    return true;
  }

  uint32_t hashes_[told_mistakes_max] = {};
  size_t count_ = 0;
  bool has_new_ = false;
};

}  // namespace talus::core

#endif  // TALUS_CONFIGURATION_TOLD_MISTAKES_HPP
