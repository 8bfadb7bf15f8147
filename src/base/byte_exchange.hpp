// SPDX-License-Identifier: MIT
// base/byte_exchange: exchanges of a byte, where processors exchange whole words.
//
// Owns: the word around the byte. gcc for riscv64 would call libatomic, which the core does not
// need. Invariant: the other bytes of the word keep what they have, whatever other threads write
// there. The order is acquire and release. Called on: any thread. Must not know: what the bytes
// mean.
#ifndef TALUS_BASE_BYTE_EXCHANGE_HPP
#define TALUS_BASE_BYTE_EXCHANGE_HPP

#include <cstdint>

#include "base/attributes.hpp"

#if defined(__riscv)
#define TALUS_EXCHANGES_WORDS 1
#else
#define TALUS_EXCHANGES_WORDS 0
#endif

namespace talus::core {

// Replaces `expected` by `desired`; false: `expected` now holds the value found.
template <typename T>
TALUS_FAST bool cas_in_word(T* at, T& expected, T desired) noexcept {
  static_assert(sizeof(T) == 1, "a byte lies in one word");
  using Word [[gnu::may_alias]] = uint32_t;
  const auto address = reinterpret_cast<uintptr_t>(at);
  auto* const word = reinterpret_cast<Word*>(address & ~uintptr_t{3});
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  const unsigned shift = 8 * static_cast<unsigned>(address & 3);
#else
  const unsigned shift = 8 * static_cast<unsigned>(3 - (address & 3));
#endif
  const uint32_t mask = uint32_t{0xff} << shift;
  uint32_t found = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  for (;;) {
    const auto byte = static_cast<uint8_t>(found >> shift);
    if (byte != static_cast<uint8_t>(expected)) {
      expected = static_cast<T>(byte);
      return false;
    }
    const uint32_t with = (found & ~mask) | uint32_t{static_cast<uint8_t>(desired)} << shift;
    if (__atomic_compare_exchange_n(word, &found, with, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      return true;
    }
  }
}

// Writes `value`, and returns the value before.
template <typename T>
TALUS_FAST T exchange_in_word(T* at, T value) noexcept {
  T before = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!cas_in_word(at, before, value)) {}
  return before;
}

}  // namespace talus::core

#endif  // TALUS_BASE_BYTE_EXCHANGE_HPP
