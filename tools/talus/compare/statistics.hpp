// SPDX-License-Identifier: MIT
//
// Owns: the arithmetic on samples: median, spread, and an interval for the ratio of two medians.
// The benchmarks use another interval (bench/intervals.py). It combines rows into means, which
// needs a standard error. This one uses the pairs of a round and keeps the command free of Python.
// Invariant: the same samples give the same result on every machine. The resampling has a fixed
// seed and its own conversion of random bits to an index.
// Must not know: what the numbers stand for.

#ifndef TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP
#define TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP

#include <cstdint>
#include <utility>
#include <vector>

namespace talus::tool {

constexpr uint64_t bootstrap_seed = 20261121;
constexpr int bootstrap_resamples = 4000;

// The value below which this share of the values lies, with linear interpolation. `values` must not
// be empty.
double quantile(std::vector<double> values, double share);
double median(const std::vector<double>& values);

// Half the distance between the quartiles.
double half_spread(const std::vector<double>& values);

struct Interval {
  double low;
  double high;
};

// The 95 % interval of median(first) / median(second) over rounds drawn with replacement. A round
// is drawn as a pair, so a disturbance of both runs cancels out. `rounds` must not be empty and no
// second value may be 0.
Interval ratio_interval(const std::vector<std::pair<double, double>>& rounds);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_COMPARE_STATISTICS_HPP
