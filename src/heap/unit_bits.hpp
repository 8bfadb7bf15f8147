// SPDX-License-Identifier: MIT
// heap/unit_bits: rows of bits, one for each 16 bytes of a region.
//
// Owns: setting and finding them, a word at a time. Invariant: no bit outside of what was asked for
// is read or written. Called on: whoever holds the lock of the region. Must not know: what a bit
// means.
#ifndef TALUS_HEAP_UNIT_BITS_HPP
#define TALUS_HEAP_UNIT_BITS_HPP

#include "base/base.hpp"

namespace talus {

inline constexpr size_t unit_bytes = block_alignment;
inline constexpr size_t granule_units = granule_bytes / unit_bytes;
inline constexpr size_t small_region_granules = 64;

// A row of bits, one a unit.
class UnitBits {
 public:
  UnitBits() noexcept = default;
  explicit UnitBits(uint64_t* words) noexcept : words_{words} {}
  static constexpr size_t bytes_a_granule = granule_units / 8;

  bool has(size_t index) const noexcept { return (words_[index / 64] >> (index % 64) & 1) != 0; }
  void set(size_t from, size_t to, bool value) noexcept {
    while (from < to) {
      const size_t end = from / 64 * 64 + 64 < to ? from / 64 * 64 + 64 : to;
      const uint64_t bits = low_bits(end - from) << (from % 64);
      uint64_t& word = words_[from / 64];
      word = value ? word | bits : word & ~bits;
      from = end;
    }
  }
  // The first index from here on with this value, or `to`.
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

}  // namespace talus

#endif  // TALUS_HEAP_UNIT_BITS_HPP
