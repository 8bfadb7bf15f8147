// SPDX-License-Identifier: MIT
//
// Owns: the arithmetic on samples: median, spread, and how sure one may be of the ratio of two
// medians.
// Invariant: the same samples give the same answer, on every machine: the resampling has a fixed
// seed and its own way from random bits to an index.
// Must not know: what the numbers stand for.

#ifndef TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP

#include <cstdint>
#include <utility>
#include <vector>

namespace talus::tool {

constexpr uint64_t bootstrap_seed = 20261121;
constexpr int bootstrap_resamples = 4000;

// The value below which the share of the values lies, straight lines between neighbours; values
// must not be empty.
double quantile(std::vector<double> values, double share);
double median(const std::vector<double>& values);

// Half of the distance between the quartiles.
double half_spread(const std::vector<double>& values);

struct Interval {
  double low;
  double high;
};

// 95 % of the ratios median(first) / median(second) over rounds drawn anew, with replacement. A
// round is drawn as a pair, so that what disturbed both of a round cancels out. Pairs must not be
// empty and no second value 0.
Interval ratio_interval(const std::vector<std::pair<double, double>>& rounds);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP
