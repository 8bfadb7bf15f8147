// SPDX-License-Identifier: MIT
// base/bit_row: a row of bits in words that the caller owns.
//
// Owns: nothing. A run of bits is set and searched a word at a time. A copy is the same row. Called
// on: under the lock that guards the words. Must not know: what the bits stand for.
#ifndef TALUS_BASE_BIT_ROW_HPP
#define TALUS_BASE_BIT_ROW_HPP

#include "base/attributes.hpp"
#include "base/bits.hpp"
#include "base/check.hpp"

namespace talus::core {

class BitRow {
 public:
  constexpr BitRow() noexcept = default;
  explicit constexpr BitRow(uint64_t* words) noexcept : words_{words} {}
  static constexpr size_t bytes_for(size_t count) noexcept {
    return divide_up(count, 64) * sizeof(uint64_t);
  }

  bool has(size_t index) const noexcept { return (words_[index / 64] >> (index % 64) & 1) != 0; }
  TALUS_USUAL void set(size_t from, size_t to, bool value) noexcept {
    TALUS_ASSERT(from <= to && words_ != nullptr);
    while (from < to) {
      const size_t end = from / 64 * 64 + 64 < to ? from / 64 * 64 + 64 : to;
      const uint64_t bits = low_bits(end - from) << (from % 64);
      uint64_t& word = words_[from / 64];
      word = value ? word | bits : word & ~bits;
      from = end;
    }
  }
  // The first index in [from, to) with this value, or `to`.
  size_t next(size_t from, size_t to, bool value) const noexcept {
    while (from < to) {
      const uint64_t word = words_[from / 64];
      const uint64_t found = (value ? word : ~word) >> (from % 64);
      if (found != 0) {
        const size_t at = from + lowest_bit(found);
        return at < to ? at : to;
      }
      from = from / 64 * 64 + 64;
    }
    return to;
  }

 private:
  uint64_t* words_ = nullptr;
};

}  // namespace talus::core

#endif  // TALUS_BASE_BIT_ROW_HPP
