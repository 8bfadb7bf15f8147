// SPDX-License-Identifier: MIT
//
// Owns: the areas of another process in which blocks lie that its heap profile samples.
// Invariant: what an older library does not tell is no area. Blocks of an area are by address.
// Must not know: pages, and how areas are shown.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_SAMPLE_AREAS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_SAMPLE_AREAS_HPP

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "observe/heap_numbers.hpp"
#include "observe/heap_pieces.hpp"
#include "observe/page_map_view.hpp"

namespace talus::tool {

struct SampleArea {
  uint64_t base = 0, slices = 0;
  std::vector<AreaBlock> blocks;
};

class SampleAreas {
 public:
  SampleAreas(Look& look, const Layout& layout, const SizeClasses& classes);

  // Reads the areas among these slices.
  void read(const PageMapView::Rows& rows);
  // The area of this descriptor, if it begins here; null: it does not, or is no area.
  const SampleArea* at(uint64_t base, uint64_t descriptor) const;
  uint64_t unit_bytes() const { return unit_bytes_; }

 private:
  std::vector<uint64_t> descriptors_among(const PageMapView::Rows& rows);
  SampleArea area_of(const View& view, const char* copy) const;

  Look& look_;
  const Layout& layout_;
  const SizeClasses& classes_;
  uint64_t operations_ = 0;  // of each area in the process; 0: it has none
  uint64_t unit_bytes_ = 0;
  std::unordered_map<uint64_t, SampleArea> known_;  // by descriptor
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_SAMPLE_AREAS_HPP
