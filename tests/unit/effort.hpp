// SPDX-License-Identifier: MIT
// tests/unit/effort: how much work a test does where it runs.
//
// Owns: nothing. Randomised tests get their number of rounds and their seed from here. Sanitizers
// and the emulation of another processor make the code ten to fifty times slower. An audit build
// checks whole invariants at every step. TALUS_TEST_EFFORT (per cent) and TALUS_TEST_SEED override
// both, so that a failure can be repeated and a night can be spent on one test.
#ifndef TALUS_TESTS_UNIT_EFFORT_HPP
#define TALUS_TESTS_UNIT_EFFORT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/base.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALUS_TEST_UNDER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TALUS_TEST_UNDER_ASAN 1
#endif
#ifndef TALUS_TEST_UNDER_ASAN
#define TALUS_TEST_UNDER_ASAN 0
#endif

namespace talus::core::test {

inline constexpr bool under_tsan = TALUS_UNDER_TSAN != 0;
inline constexpr bool under_asan = TALUS_TEST_UNDER_ASAN != 0;
#if defined(__x86_64__)
inline constexpr bool may_be_emulated = false;
#else
inline constexpr bool may_be_emulated = true;
#endif
// Compilers for riscv64 write no tables by default, so a walk ends in the C library. The one of
// ppc64le has none where a thread begins, and qemu's signal frames there are not those of Linux.
#if defined(__riscv) || defined(__powerpc64__)
inline constexpr bool has_libc_tables = false;
#else
inline constexpr bool has_libc_tables = true;
#endif

inline size_t default_effort_percent() {
  if (under_tsan) return 4;
  if (under_asan || TALUS_AUDIT) return 5;
  return may_be_emulated ? 4 : 100;
}

// The number of rounds for a test that does `rounds` in a release build.
inline size_t rounds_of(size_t rounds) {
  size_t percent = default_effort_percent();
  if (const char* text = getenv("TALUS_TEST_EFFORT")) percent = strtoul(text, nullptr, 10);
  const size_t scaled = rounds * percent / 100;
  return scaled == 0 ? 1 : scaled;
}

// A new seed for every run, said on standard output so that it can be given again.
inline uint64_t seed_of(const char* test) {
  uint64_t seed =
      mix_bits(static_cast<uint64_t>(time(nullptr)) << 20 ^ static_cast<uint64_t>(clock()));
  if (const char* text = getenv("TALUS_TEST_SEED")) seed = strtoull(text, nullptr, 0);
  printf("%s: TALUS_TEST_SEED=%llu\n", test, static_cast<unsigned long long>(seed));
  fflush(stdout);
  return seed;
}

// A small generator that is the same on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{seed} {}
  uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  // 0 to limit - 1.
  size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }
  // 0 to 2^bits_max, as many numbers of each length: small ones as likely as large ones.
  size_t of_any_length(unsigned bits_max) {
    const size_t bits = below(bits_max + 1);
    return (size_t{1} << bits) - 1 + below((size_t{1} << bits) + 1);
  }

 private:
  uint64_t state_;
};

}  // namespace talus::core::test

#endif  // TALUS_TESTS_UNIT_EFFORT_HPP
