// SPDX-License-Identifier: MIT
//
// Owns: see pins.hpp.
// Invariant: see pins.hpp.
// Must not know: see pins.hpp.

#include "profile/pins.hpp"

#include <algorithm>
#include <cstdint>

namespace talus::tool {
namespace {

const HeapPiece* slab_at(std::span<const HeapPiece> pieces, uint64_t address) {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), address,
                       [](uint64_t at, const HeapPiece& piece) { return at < piece.base; });
  if (after == pieces.begin()) return nullptr;
  const HeapPiece& piece = *std::prev(after);
  return piece.use == PieceUse::slab && address < piece.limit() ? &piece : nullptr;
}

// How many live blocks touch a page, without the one at `place`.
uint64_t others_on(const HeapPiece& slab, uint64_t page, uint64_t place) {
  const uint64_t first = slab.base + slab.front_bytes, from = std::max(page, first);
  uint64_t index = (from - first) / slab.block_bytes, others = 0;
  for (; index < slab.is_live.size(); index++) {
    const uint64_t at = first + index * slab.block_bytes;
    if (at >= page + sampled_page_bytes) break;
    others += slab.is_live[index] && at != place ? 1 : 0;
  }
  return others;
}

}  // namespace

void add_pins(Samples& samples, std::span<const HeapPiece> pieces) {
  for (const LiveSample& sample : samples.live) {
    if (sample.place == 0) continue;
    SampledSite& site = samples.sites[sample.site];
    const HeapPiece* slab = slab_at(pieces, sample.place);
    // A slab that went, or has other blocks now, would have stayed for this block alone.
    if (slab != nullptr && slab->block_bytes != site.block_bytes) slab = nullptr;
    double held = 0, alone = 0;
    uint64_t page = sample.place / sampled_page_bytes * sampled_page_bytes;
    for (; page < sample.place + site.block_bytes; page += sampled_page_bytes) {
      const uint64_t others = slab == nullptr ? 0 : others_on(*slab, page, sample.place);
      held += static_cast<double>(sampled_page_bytes) / static_cast<double>(others + 1);
      alone += others == 0 ? sampled_page_bytes : 0;
    }
    site.pinned_bytes += held - static_cast<double>(site.block_bytes);
    site.purgeable_bytes += alone;
  }
  samples.has_pins = true;
}

}  // namespace talus::tool
