// SPDX-License-Identifier: MIT
//
// Owns: see sizes.hpp.
// Invariant: see sizes.hpp.
// Must not know: see sizes.hpp.

#include "profile/sizes.hpp"

#include <fmt/format.h>

#include "classes/size_class.hpp"

namespace talus::tool {
namespace {

struct SizeEstimate {
  double allocated = 0, live = 0;
};

std::string size_row(const std::string& name, const SizeCounts& counts,
                     const SizeEstimate& estimate) {
  return fmt::format("{:>10} {:>14} {:>14.0f} {:>12} {:>12.0f}\n", name, counts.allocated,
                     estimate.allocated, counts.live, estimate.live);
}

}  // namespace

CountsBySize counts_by_size(const Numbers& numbers, const Samples& samples) {
  CountsBySize counts;
  for (const auto& [block_bytes, blocks] : numbers.begun_blocks) {
    counts[block_bytes].allocated = blocks;
  }
  for (const ClassNumbers& row : numbers.classes) counts[row.block_bytes].live = row.values[0];
  for (const SampledSite& site : samples.sites) {
    if (site.block_bytes > core::medium_bytes_max) continue;
    counts[site.block_bytes].allocated += site.allocations;
    counts[site.block_bytes].live += site.live;
  }
  return counts;
}

std::string show_sizes(const CountsBySize& counts, const Samples& samples) {
  std::map<uint64_t, SizeEstimate> estimates;
  for (const SampledSite& site : samples.sites) {
    const double weight = weight_of(samples, site);
    SizeEstimate& estimate = estimates[site.block_bytes];
    estimate.allocated += weight * static_cast<double>(site.allocations);
    estimate.live += weight * static_cast<double>(site.live);
  }
  std::string text = fmt::format("\n{:>10} {:>14} {:>14} {:>12} {:>12}\n", "block", "allocated",
                                 "(estimate)", "live", "(estimate)");
  SizeCounts all;
  SizeEstimate all_estimates;
  for (const auto& [block_bytes, row] : counts) {
    const SizeEstimate& estimate = estimates[block_bytes];
    all.allocated += row.allocated;
    all.live += row.live;
    all_estimates.allocated += estimate.allocated;
    all_estimates.live += estimate.live;
    if (row.allocated + row.live == 0) continue;
    text += size_row(fmt::format("{} B", block_bytes), row, estimate);
  }
  return text + size_row("all", all, all_estimates);
}

}  // namespace talus::tool
