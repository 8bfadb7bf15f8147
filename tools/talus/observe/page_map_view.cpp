// SPDX-License-Identifier: MIT
//
// Owns: see page_map_view.hpp.
// Invariant: see page_map_view.hpp.
// Must not know: what descriptors are.

#include "observe/page_map_view.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace talus::tool {

PageMapView::PageMapView(Look& look, const Layout& layout, const PagePresence* presence)
    : look_(look),
      presence_(presence),
      map_(layout.root("page_map")),
      slice_bytes_(layout.constant("slice.bytes")),
      window_slices_(layout.constant("page_map.window_slices")),
      leaf_slices_(layout.constant("page_map.leaf_slices")),
      root_offset_(layout.field("page_map.root").value),
      root_count_(layout.field("page_map.root").count),
      zero_words_(map_ + layout.field("page_map.zero_words").value) {
  const View window(layout, "page_map", {"window_bias", "window_words_end"});
  const char* const copy = window.read(look_, map_);
  window_bias_ = window.get(copy, 0);
  window_words_end_ = window.get(copy, 1);
}

bool PageMapView::is_near(uint64_t address) const {
  const uint64_t index = address / slice_bytes_ + window_bias_;
  return window_words_end_ != 0 && index >= 0 - window_slices_;
}

uint64_t PageMapView::far_leaf_of(uint64_t inside) {
  const uint64_t root = inside >> root_shift;
  if (root >= root_count_) return 0;
  auto found = distances_.find(root);
  if (found == distances_.end()) {
    uint64_t distance = 0;
    const uint64_t address = map_ + root_offset_ + root * sizeof distance;
    std::memcpy(&distance, look_.read(address, sizeof distance), sizeof distance);
    found = distances_.emplace(root, distance).first;
  }
  return found->second == 0 ? 0 : zero_words_ + found->second;
}

PageMapView::Place PageMapView::place_of(uint64_t address) {
  const uint64_t index = address / slice_bytes_ + window_bias_;
  if (is_near(address)) {
    // The index is negative.
    return {window_words_end_ + index * sizeof(uint32_t),
            window_words_end_ + window_slices_ * sizeof(uint64_t) + index * sizeof(uint64_t),
            static_cast<size_t>(0 - index)};
  }
  const uint64_t in_leaf = address / slice_bytes_ % leaf_slices_;
  const uint64_t leaf = far_leaf_of(address);
  if (leaf == 0) return {0, 0, static_cast<size_t>(leaf_slices_ - in_leaf)};
  return {leaf + in_leaf * sizeof(uint32_t),
          leaf + leaf_slices_ * sizeof(uint32_t) + in_leaf * sizeof(uint64_t),
          static_cast<size_t>(leaf_slices_ - in_leaf)};
}

std::vector<Entry> PageMapView::entries_of(const std::vector<uint64_t>& addresses) {
  std::vector<Entry> entries(addresses.size());
  std::vector<std::pair<uint64_t, size_t>> pieces;
  std::vector<size_t> places;
  for (size_t i = 0; i < addresses.size(); i++) {
    const Place place = place_of(addresses[i]);
    if (place.entry == 0) continue;
    pieces.emplace_back(place.entry, sizeof(uint32_t));
    places.push_back(i);
  }
  if (pieces.empty()) return entries;
  const std::vector<const char*> copies = look_.read_all(pieces);
  for (size_t i = 0; i < copies.size(); i++) {
    std::memcpy(&entries[places[i]].bits, copies[i], sizeof(uint32_t));
  }
  return entries;
}

void PageMapView::copy_rows(uint64_t from, size_t bytes, char* to) {
  if (presence_ == nullptr) {
    std::memcpy(to, look_.read(from, bytes), bytes);
    return;
  }
  const uint64_t page = presence_->page_bytes(), end = from + bytes;
  const std::vector<bool> have = presence_->contents(from, end);
  const auto has = [&](uint64_t at) { return have[at / page - from / page]; };
  for (uint64_t at = from; at < end;) {
    uint64_t next = at;
    while (next < end && has(next) == has(at)) next = (next / page + 1) * page;
    next = std::min(next, end);
    char* const place = to + (at - from);
    if (has(at)) {
      std::memcpy(place, look_.read(at, next - at), next - at);
    } else {
      std::memset(place, 0, next - at);
    }
    at = next;
  }
}

PageMapView::Rows PageMapView::rows_of(uint64_t base, size_t slices) {
  Rows rows{std::vector<uint32_t>(slices), std::vector<uint64_t>(slices)};
  for (size_t at = 0; at < slices;) {
    const Place place = place_of(base + at * slice_bytes_);
    const size_t part = std::min(place.slices, slices - at);
    if (place.entry != 0) {
      copy_rows(place.entry, part * sizeof(uint32_t), reinterpret_cast<char*>(&rows.entries[at]));
      copy_rows(place.descriptor, part * sizeof(uint64_t),
                reinterpret_cast<char*>(&rows.descriptors[at]));
    }
    at += part;
  }
  return rows;
}

std::vector<MapPiece> PageMapView::pieces_of(const std::vector<uint64_t>& addresses) {
  constexpr uint64_t row_bytes = sizeof(uint32_t) + sizeof(uint64_t);
  std::vector<MapPiece> pieces;
  if (window_words_end_ != 0) {
    pieces.push_back(
        {window_words_end_ - window_slices_ * sizeof(uint32_t), window_slices_ * row_bytes});
  }
  std::set<uint64_t> seen;
  for (const uint64_t address : addresses) {
    if (is_near(address)) continue;
    const uint64_t leaf = far_leaf_of(address);
    if (leaf == 0 || !seen.insert(leaf).second) continue;
    pieces.push_back({leaf, leaf_slices_ * row_bytes});
  }
  return pieces;
}

}  // namespace talus::tool
