// SPDX-License-Identifier: MIT
//
// Owns: the arithmetic on samples, see statistics.hpp. The interval is the plain percentile
// bootstrap. With the usual five to twenty rounds, other bootstraps promise more than the samples
// contain.
// Invariant: see statistics.hpp.
// Must not know: what the numbers stand for.

#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace talus::tool {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double half_spread(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

Interval ratio_interval(const std::vector<std::pair<double, double>>& rounds) {
  std::mt19937_64 random(bootstrap_seed);
  std::vector<double> ratios;
  std::vector<double> first(rounds.size()), second(rounds.size());
  for (int i = 0; i < bootstrap_resamples; i++) {
    for (size_t k = 0; k < rounds.size(); k++) {
      // The remainder favours small indexes by less than one part in 2^50. The standard
      // distributions would give other numbers with another library.
      const auto& [one, other] = rounds[random() % rounds.size()];
      first[k] = one;
      second[k] = other;
    }
    ratios.push_back(median(first) / median(second));
  }
  return {quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace talus::tool
