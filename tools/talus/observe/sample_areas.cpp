// SPDX-License-Identifier: MIT
//
// Owns: see sample_areas.hpp.
// Invariant: see sample_areas.hpp.
// Must not know: see sample_areas.hpp.

#include "observe/sample_areas.hpp"

#include <cstring>
#include <utility>

namespace talus::tool {

SampleAreas::SampleAreas(Look& look, const Layout& layout, const SizeClasses& classes)
    : look_(look), layout_(layout), classes_(classes) {
  if (!layout.has("profile.area_operations")) return;
  const View profile(layout, "profile", {"area_operations"});
  operations_ = profile.get(profile.read(look, layout.root("profile")), 0);
  unit_bytes_ = layout.constant("area.unit_bytes");
}

// Descriptors of special blocks begin with the address of their operations.
std::vector<uint64_t> SampleAreas::descriptors_among(const PageMapView::Rows& rows) {
  const View special(layout_, "special", {"operations"});
  std::vector<std::pair<uint64_t, size_t>> pieces;
  std::vector<uint64_t> found;
  uint64_t last = 0;
  for (size_t i = 0; i < rows.entries.size(); i++) {
    const uint64_t descriptor = rows.descriptors[i];
    const bool is_special = rows.entries[i] == layout_.constant("entry.special");
    if (!is_special || descriptor == 0 || descriptor == last) continue;
    last = descriptor;
    pieces.emplace_back(descriptor + special.first_byte(), special.bytes());
    found.push_back(descriptor);
  }
  if (pieces.empty()) return {};
  const std::vector<const char*> copies = look_.read_scattered(pieces);
  std::vector<uint64_t> areas;
  for (size_t i = 0; i < copies.size(); i++) {
    if (special.get(copies[i], 0) == operations_) areas.push_back(found[i]);
  }
  return areas;
}

void SampleAreas::read(const PageMapView::Rows& rows) {
  known_.clear();
  if (operations_ == 0) return;
  const std::vector<uint64_t> areas = descriptors_among(rows);
  const View view(layout_, "area", {"base", "slices", "marks"});
  std::vector<std::pair<uint64_t, size_t>> pieces;
  for (const uint64_t area : areas) pieces.emplace_back(area + view.first_byte(), view.bytes());
  if (pieces.empty()) return;
  const std::vector<const char*> copies = look_.read_scattered(pieces);
  for (size_t i = 0; i < areas.size(); i++) known_[areas[i]] = area_of(view, copies[i]);
}

SampleArea SampleAreas::area_of(const View& view, const char* copy) const {
  SampleArea area{view.get(copy, 0), view.get(copy, 1), {}};
  const uint64_t freed = layout_.constant("area.freed_mark");
  const uint64_t units = area.slices * (layout_.constant("slice.bytes") / unit_bytes_);
  for (uint64_t unit = 0; unit < units && unit < view[2].count; unit++) {
    const uint64_t mark = view.get(copy, 2, unit);
    if (mark == 0 || mark >= freed) continue;
    if (mark > classes_.rows.size()) throw Implausible("a sampled block without a class");
    area.blocks.push_back({unit * unit_bytes_, classes_.rows[mark - 1].block_bytes});
  }
  return area;
}

const SampleArea* SampleAreas::at(uint64_t base, uint64_t descriptor) const {
  const auto found = known_.find(descriptor);
  return found != known_.end() && found->second.base == base ? &found->second : nullptr;
}

}  // namespace talus::tool
