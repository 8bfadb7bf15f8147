// SPDX-License-Identifier: MIT
//
// Owns: see sites.hpp.
// Invariant: see sites.hpp.
// Must not know: see sites.hpp.

#include "why/sites.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "profile/code_names.hpp"
#include "profile/heap_source.hpp"
#include "profile/pins.hpp"
#include "profile/show_places.hpp"

namespace talus::tool {
namespace {

uint64_t counted(double bytes) { return static_cast<uint64_t>(std::llround(std::max(0.0, bytes))); }

std::vector<SitePicture> sites_of(const Target& target, std::span<const HeapPiece> pieces) {
  std::string why;
  int code = 0;
  const auto source = HeapSource::reach(target, DebugFiles{}, why, code);
  if (source == nullptr) return {};
  Samples samples = source->read();
  if (samples.mean_bytes == 0) return {};
  add_pins(samples, pieces);
  const NamedProfile profile = source->named_of(samples, 0, ProfileView::pins, nullptr);
  std::vector<SitePicture> sites;
  for (const PlaceRow& row : rows_of(profile, NameDetail::functions, live_bytes)) {
    sites.push_back({row.name, counted(row.measures[live_bytes]),
                     counted(row.measures[pinned_bytes]), counted(row.measures[purgeable_bytes])});
  }
  std::stable_sort(sites.begin(), sites.end(), [](const SitePicture& a, const SitePicture& b) {
    return a.live + a.pinned > b.live + b.pinned;
  });
  if (sites.size() > sites_that_matter) sites.resize(sites_that_matter);
  return sites;
}

}  // namespace

std::vector<SitePicture> see_sites(const Target& target, std::span<const HeapPiece> pieces) {
  try {
    return sites_of(target, pieces);
  } catch (const std::runtime_error&) {
    return {};  // it ended meanwhile, or its Talus has no profile
  }
}

}  // namespace talus::tool
