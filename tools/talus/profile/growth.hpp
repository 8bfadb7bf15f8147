// SPDX-License-Identifier: MIT
//
// Owns: which places of a program grow, as several looks at its profile show it, and how sure that
// is.
// Invariant: an estimate stands beside its error. A place that grew and stopped is no leak.
// Must not know: processes, names, forms of output.

#ifndef TALUS_TOOLS_TALUS_PROFILE_GROWTH_HPP
#define TALUS_TOOLS_TALUS_PROFILE_GROWTH_HPP

#include <cstdint>
#include <vector>

#include "profile/samples.hpp"

namespace talus::tool {

struct GrowthLook {
  uint64_t at_ns = 0;  // by the monotonic clock
  Samples samples;
};

enum class GrowthVerdict {
  leaks,     // grows steadily, and what it allocates stays
  replaces,  // grows, and frees half or more of what it allocates
  stopped,   // grew, and does no longer
  steady     // no growth that is sure
};

// Of all sizes at one stack.
struct Growth {
  std::vector<uint64_t> frames;
  double live_bytes = 0;   // at the last look
  double bytes_per_s = 0;  // of growth, on the mean
  double error_per_s = 0;  // its standard error
  double confidence = 0;   // that it is growth and no chance; 0 to 1
  double survival = 0;     // the share of the first half's allocations that lives at the end
  double survivors = 0;    // blocks from the time of the looks that live at the end
  GrowthVerdict verdict = GrowthVerdict::steady;
};

constexpr double sure = 0.95;

// The fastest growth first. At least four looks, in equal steps of time.
std::vector<Growth> growth_in(const std::vector<GrowthLook>& looks);

// The chance that a t-distributed number is below `t`.
double student_below(double t, double freedom);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_GROWTH_HPP
