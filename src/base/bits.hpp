// SPDX-License-Identifier: MIT
// base/bits: small arithmetic on sizes, addresses and words.
//
// Owns: rounding, bit scans and division by a constant that is known only at run time. Invariant:
// all functions are pure; alignments are powers of two. Must not know: what the numbers count.
#ifndef TALUS_BASE_BITS_HPP
#define TALUS_BASE_BITS_HPP

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "base/check.hpp"

namespace talus::core {

constexpr bool is_power_of_two(size_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}
constexpr size_t round_up(size_t value, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment));
  return (value + alignment - 1) & ~(alignment - 1);
}
constexpr size_t round_down(size_t value, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment));
  return value & ~(alignment - 1);
}
constexpr size_t divide_up(size_t value, size_t by) noexcept {
  TALUS_ASSERT(value + by - 1 >= by - 1);  // no overflow
  return (value + by - 1) / by;
}

// Index of the lowest set bit; the word must not be zero.
TALUS_FAST constexpr unsigned lowest_bit(uint64_t word) noexcept {
  TALUS_ASSERT(word != 0);
  return static_cast<unsigned>(__builtin_ctzll(word));
}
// Index of the highest set bit; the word must not be zero.
TALUS_FAST constexpr unsigned highest_bit(uint64_t word) noexcept {
  TALUS_ASSERT(word != 0);
  return 63u - static_cast<unsigned>(__builtin_clzll(word));
}
// Number of set bits, without the instruction that the oldest x86-64 lacks and without libgcc's
// table (Hacker's Delight, 5-1).
constexpr unsigned count_bits(uint64_t word) noexcept {
  word = word - ((word >> 1) & 0x5555555555555555u);
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<unsigned>((word * 0x0101010101010101u) >> 56);
}
// The lowest `count` bits set, for counts of 0 to 64.
constexpr uint64_t low_bits(size_t count) noexcept {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Division of an offset in a slab by a block size as one multiplication by ceil(2^48 / size). The
// quotient is exact while offset * size < 2^48 and the product stays below 2^64 (Granlund and
// Montgomery 1994). That holds for indices below 2^16; slabs stay below both bounds, as
// size_class.hpp asserts.
inline constexpr unsigned reciprocal_shift = 48;
constexpr uint64_t reciprocal_of(size_t divisor) noexcept {
  TALUS_ASSERT(divisor != 0 && divisor < (uint64_t{1} << reciprocal_shift));
  return ((uint64_t{1} << reciprocal_shift) + divisor - 1) / divisor;
}
TALUS_FAST constexpr size_t divide_by_reciprocal(size_t offset, uint64_t reciprocal) noexcept {
  return static_cast<size_t>((offset * reciprocal) >> reciprocal_shift);
}

// Hides the origin of a value, so that the compiler keeps it in one register instead of computing
// it again at each use.
template <typename T>
TALUS_FAST T keep_in_register(T value) noexcept {
  asm("" : "+r"(value));
  return value;
}

// Well mixed bits of an address or a counter (the finaliser of SplitMix64, Steele et al. 2014).
constexpr uint64_t mix_bits(uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

static_assert(count_bits(low_bits(64)) == 64 && count_bits(low_bits(0)) == 0, "both ends");
static_assert(divide_by_reciprocal(3 * 48 + 47, reciprocal_of(48)) == 3, "rounds down");

}  // namespace talus::core

#endif  // TALUS_BASE_BITS_HPP
