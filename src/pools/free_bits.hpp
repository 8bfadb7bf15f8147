// SPDX-License-Identifier: MIT
// pools/free_bits: a set of numbers that gives its lowest ones first.
//
//   level 2 |                   1                   |   one bit for each word of level 1
//   level 1 |   1         0         1         0     |   one bit for each word of level 0
//   level 0 | 0110...   0000...   0001...   0000... |   one bit for each number
//
// Owns: the words, which the caller provides as zeros. It has as many levels as it takes to reach
// one word at the top. Invariant: a bit above level 0 is set exactly while the word below it is not
// zero (is_sound). So each step reads one word of each level, whatever the size of the set. Called
// on: under a pool's lock. Must not know: what is numbered.
#ifndef TALUS_POOLS_FREE_BITS_HPP
#define TALUS_POOLS_FREE_BITS_HPP

#include "base/base.hpp"

namespace talus::core {

class FreeBits {
 public:
  static constexpr unsigned levels_max = 7;

  // The words that a set of the numbers below `count` needs.
  static constexpr size_t words_for(size_t count) noexcept {
    size_t words = 0;
    for (size_t bits = count; bits != 0; bits = bits == 1 ? 0 : bits) {
      bits = divide_up(bits, 64);
      words += bits;
    }
    return words;
  }
  // An empty set of the numbers below `count`, in words_for(count) words that are zero.
  void begin(uint64_t* words, size_t count) noexcept {
    level_count_ = 0;
    for (size_t bits = count; bits != 0; bits = bits == 1 ? 0 : bits) {
      bits = divide_up(bits, 64);
      TALUS_ASSERT(level_count_ < levels_max);
      levels_[level_count_++] = words;
      words += bits;
    }
    TALUS_ASSERT(count == 0 || words_of(level_count_ - 1) == 1);
    TALUS_ASSERT(is_empty());
  }
  // How many numbers are in the set. Reads all words.
  size_t count() const noexcept {
    size_t numbers = 0;
    for (size_t place = 0; place < words_of(0); place++) numbers += count_bits(levels_[0][place]);
    return numbers;
  }
  bool is_sound() const noexcept {
    for (unsigned level = 1; level < level_count_; level++) {
      for (size_t place = 0; place < words_of(level - 1); place++) {
        const bool is_set = (levels_[level][place / 64] >> (place % 64) & 1) != 0;
        if (is_set != (levels_[level - 1][place] != 0)) return false;
      }
    }
    return true;
  }
  bool is_empty() const noexcept { return level_count_ == 0 || *levels_[level_count_ - 1] == 0; }
  bool has(size_t number) const noexcept {
    TALUS_ASSERT(number / 64 < words_of(0));
    return (levels_[0][number / 64] >> (number % 64) & 1) != 0;
  }
  void add(size_t number) noexcept {
    TALUS_ASSERT(!has(number));
    for (unsigned level = 0; level < level_count_; level++) {
      uint64_t& word = levels_[level][number / 64];
      const bool was_empty = word == 0;
      word |= uint64_t{1} << (number % 64);
      if (!was_empty) return;
      number /= 64;
    }
  }
  // Takes out the lowest numbers, at most `wanted`, and calls visit(number) for each. Returns how
  // many.
  template <typename Visit>
  size_t take_lowest(size_t wanted, Visit visit) noexcept {
    size_t taken = 0;
    while (taken < wanted && !is_empty()) {
      const size_t place = lowest_word();
      uint64_t& word = levels_[0][place];
      for (; word != 0 && taken < wanted; word &= word - 1, taken++) {
        visit(place * 64 + lowest_bit(word));
      }
      if (word == 0) forget_word(place);
    }
    TALUS_ASSERT(taken <= wanted);
    return taken;
  }

 private:
  // The words of a level lie before those of the next; the last level is one word.
  size_t words_of(unsigned level) const noexcept {
    if (level + 1 >= level_count_) return level_count_ == 0 ? 0 : 1;
    return static_cast<size_t>(levels_[level + 1] - levels_[level]);
  }
  size_t lowest_word() const noexcept {
    size_t place = 0;
    TALUS_ASSERT(!is_empty());
    for (unsigned level = level_count_ - 1; level > 0; level--) {
      place = place * 64 + lowest_bit(levels_[level][place]);
    }
    return place;
  }
  // A word of level 0 became zero.
  void forget_word(size_t place) noexcept {
    for (unsigned level = 1; level < level_count_; level++) {
      uint64_t& word = levels_[level][place / 64];
      word &= ~(uint64_t{1} << (place % 64));
      if (word != 0) return;
      place /= 64;
    }
  }

  uint64_t* levels_[levels_max] = {};
  unsigned level_count_ = 0;
};

}  // namespace talus::core

#endif  // TALUS_POOLS_FREE_BITS_HPP
