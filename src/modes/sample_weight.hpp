// SPDX-License-Identifier: MIT
// modes/sample_weight: how much a sample of the heap profile stands for.
//
// Owns: the one formula, for estimates in the process and for the readers of its profile (tools/).
// Invariants: it needs no mathematics of libc, and no header of the core above the lowest floor.
// Called on: any thread. Must not know: what is sampled, and where the samples are.
#ifndef TALUS_MODES_SAMPLE_WEIGHT_HPP
#define TALUS_MODES_SAMPLE_WEIGHT_HPP

#include "base/base.hpp"

namespace talus::core::profile {

// How many bytes a sampled byte of a block stands for: 1 / (1 - exp(-x)), x = size / mean. 1 where
// nothing was sampled.
TALUS_APART double weight_of(uint64_t block_bytes, uint64_t mean_bytes) noexcept {
  if (block_bytes == 0 || mean_bytes == 0) return 1;
  double x = static_cast<double>(block_bytes) / static_cast<double>(mean_bytes);
  if (x > 40) return 1;
  unsigned halvings = 0;
  while (x > 1.0 / 64) {
    x /= 2;
    halvings++;
  }
  double less = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));  // 1 - exp(-x)
  while (halvings-- > 0) less = less * (2 - less);
  return 1 / less;
}

}  // namespace talus::core::profile

#endif  // TALUS_MODES_SAMPLE_WEIGHT_HPP
