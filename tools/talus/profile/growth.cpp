// SPDX-License-Identifier: MIT
//
// Owns: see growth.hpp. The steps from look to look are tested, and not a line through the looks.
// Blocks that come and go by chance make such lines rise half of the time, but steps have no mean.
// Invariant: see growth.hpp.
// Must not know: see growth.hpp.

#include "profile/growth.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace talus::tool {
namespace {

struct Series {
  std::vector<double> bytes;                  // estimates at each look
  double live_first = 0, live_last = 0;       // samples
  double born_in_half = 0, kept_of_half = 0;  // samples of the first half of the time
  double survivors = 0;
  double sample_bytes = 0;  // that one sample stands for, on the mean
};

// By chance alone, as many samples come as go. Their number then varies as that of rare events.
double least_variance(const Series& series, double steps) {
  const double samples = std::max(1.0, std::abs(series.live_last - series.live_first));
  return series.sample_bytes * series.sample_bytes * samples / steps;
}

double mean_step(const Series& series, size_t from, size_t to) {
  return to > from ? (series.bytes[to] - series.bytes[from]) / static_cast<double>(to - from) : 0;
}

// Less than a quarter of the speed is left in the last third.
bool has_stopped(const Series& series) {
  const size_t last = series.bytes.size() - 1, third = last - last / 3;
  return mean_step(series, third, last) < 0.25 * mean_step(series, 0, third);
}

Growth growth_of(const Series& series, double step_s) {
  Growth growth;
  const auto steps = static_cast<double>(series.bytes.size() - 1);
  const double mean = mean_step(series, 0, series.bytes.size() - 1);
  double squares = 0;
  for (size_t i = 1; i < series.bytes.size(); i++) {
    const double off = series.bytes[i] - series.bytes[i - 1] - mean;
    squares += off * off;
  }
  const double variance = std::max(squares / (steps - 1), least_variance(series, steps));
  const double error = std::sqrt(variance / steps);
  growth.live_bytes = series.bytes.back();
  growth.bytes_per_s = mean / step_s;
  growth.error_per_s = error / step_s;
  growth.confidence = error > 0 ? student_below(mean / error, steps - 1) : 0;
  growth.survivors = series.survivors;
  if (series.born_in_half > 0) growth.survival = series.kept_of_half / series.born_in_half;
  const bool is_growth = mean > 0 && growth.confidence >= sure;
  if (mean > 0 && series.live_last > series.live_first + 3 && has_stopped(series)) {
    growth.verdict = GrowthVerdict::stopped;
  } else if (is_growth) {
    growth.verdict = growth.survival > 0.5 ? GrowthVerdict::leaks : GrowthVerdict::replaces;
  }
  return growth;
}

using ByStack = std::map<std::vector<uint64_t>, Series>;

void add_look(const GrowthLook& look, size_t place, size_t count, ByStack& all) {
  for (const SampledSite& site : look.samples.sites) {
    Series& series = all[site.frames];
    series.bytes.resize(count);
    const double weight = weight_of(look.samples, site);
    series.bytes[place] += weight * static_cast<double>(site.live_bytes);
    if (place == 0) series.live_first += static_cast<double>(site.live);
    if (place + 1 == count) series.live_last += static_cast<double>(site.live);
    series.sample_bytes =
        std::max(series.sample_bytes, weight * static_cast<double>(site.block_bytes));
  }
}

// What was allocated in the first half of the time, and what of it is left.
void add_survivors(const std::vector<GrowthLook>& looks, ByStack& all) {
  const GrowthLook &first = looks.front(), &half = looks[looks.size() / 2], &last = looks.back();
  for (size_t i = 0; i < half.samples.sites.size(); i++) {
    const SampledSite& site = half.samples.sites[i];
    const uint64_t before = i < first.samples.sites.size() ? first.samples.sites[i].allocations : 0;
    all[site.frames].born_in_half += static_cast<double>(site.allocations - before);
  }
  for (const LiveSample& sample : last.samples.live) {
    if (sample.made_ns < first.at_ns) continue;
    const SampledSite& site = last.samples.sites[sample.site];
    Series& series = all[site.frames];
    series.survivors += weight_of(last.samples, site);
    if (sample.made_ns < half.at_ns) series.kept_of_half++;
  }
}

}  // namespace

// Abramowitz and Stegun 26.7.8: a normal deviate for the t-distributed one.
double student_below(double t, double freedom) {
  const double normal = t * (1 - 1 / (4 * freedom)) / std::sqrt(1 + t * t / (2 * freedom));
  return std::erfc(-normal / std::sqrt(2.0)) / 2;
}

std::vector<Growth> growth_in(const std::vector<GrowthLook>& looks) {
  std::vector<Growth> rows;
  if (looks.size() < 4) return rows;
  ByStack all;
  for (size_t i = 0; i < looks.size(); i++) add_look(looks[i], i, looks.size(), all);
  add_survivors(looks, all);
  const double span_s = static_cast<double>(looks.back().at_ns - looks.front().at_ns) / 1e9;
  const double step_s = span_s / static_cast<double>(looks.size() - 1);
  for (auto& [frames, series] : all) {
    series.bytes.resize(looks.size());
    Growth growth = growth_of(series, step_s);
    growth.frames = frames;
    rows.push_back(std::move(growth));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Growth& a, const Growth& b) {
    return std::pair(a.verdict, -a.bytes_per_s) < std::pair(b.verdict, -b.bytes_per_s);
  });
  return rows;
}

}  // namespace talus::tool
