// SPDX-License-Identifier: MIT
// modes/sample_distances: after how many blocks the next one is sampled.
//
// Each byte is as likely as another to begin a sample. So a block of size s is sampled with
// p = 1 - exp(-s / mean distance). The number of blocks of a class up to the next sample is drawn
// anew each time.
//
// Owns: these distances of one thread, for one mode. Invariant: a distance that was drawn counts
// down to 1, which is the sampled block. Called on: the thread itself. Must not know: what becomes
// of a sampled block.
#ifndef TALUS_MODES_SAMPLE_DISTANCES_HPP
#define TALUS_MODES_SAMPLE_DISTANCES_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"

namespace talus::core {

// Zero at first.
struct SampleDistances {
  uint64_t blocks_left[class_count];  // up to the next sample, which is the last; 0: not drawn yet
  uint64_t random;
};

inline constexpr uint64_t mean_bytes_max = ~uint32_t{0};

// -log2(random / 2^64), in units of 2^-24, to 2^-16; `random` is not 0.
inline uint64_t negative_log2(uint64_t random) noexcept {
  constexpr unsigned fraction_bits = 24, found_bits = 16;
  const unsigned high = highest_bit(random);
  uint64_t mantissa = random << (63 - high) >> 32;  // 1 to 2, in units of 2^-31
  uint64_t fraction = 0;
  for (unsigned i = 0; i < found_bits; i++) {
    mantissa = mantissa * mantissa >> 31;
    fraction *= 2;
    if (mantissa >> 32 != 0) {
      fraction++;
      mantissa >>= 1;
    }
  }
  return (uint64_t{64 - high} << fraction_bits) - (fraction << (fraction_bits - found_bits));
}
// The number of bytes up to the next sample: exponentially distributed.
inline uint64_t draw_bytes(uint64_t& state, uint64_t mean_bytes) noexcept {
  state += 0x9e3779b97f4a7c15u;
  const uint64_t random = mix_bits(state);
  constexpr uint64_t log_2 = 11629080;  // ln(2), in units of 2^-24
  const uint64_t logarithm = negative_log2(random != 0 ? random : 1) * log_2 >> 24;
  TALUS_ASSERT(logarithm >> 31 == 0 && mean_bytes <= mean_bytes_max);
  return logarithm * mean_bytes >> 24;
}
// The number of blocks of this size up to the next one that has such a byte: with p = 1 - exp(-size
// / mean), it is geometrically distributed.
inline uint64_t draw_blocks(uint64_t& state, uint64_t mean_bytes, uint64_t block_bytes) noexcept {
  return draw_bytes(state, mean_bytes) / block_bytes + 1;
}

inline void begin_distances(SampleDistances& own) noexcept {
  own.random = mix_bits(reinterpret_cast<uintptr_t>(&own) ^ os::System::now_ns());
}
inline uint64_t& blocks_left(SampleDistances& own, uint64_t mean_bytes, size_t index) noexcept {
  uint64_t& left = own.blocks_left[index];
  if (TALUS_UNLIKELY(left == 0)) {
    left = draw_blocks(own.random, mean_bytes, size_class_rows.rows[index].block_bytes);
  }
  return left;
}

}  // namespace talus::core

#endif  // TALUS_MODES_SAMPLE_DISTANCES_HPP
