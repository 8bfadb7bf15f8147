// SPDX-License-Identifier: MIT
//
// Owns: the page map of another process (src/space/page_map.hpp): where it keeps the entry and the
// descriptor of an address.
// Invariant: an address beyond the map has no place.
// Must not know: what descriptors are.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_PAGE_MAP_VIEW_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_PAGE_MAP_VIEW_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "observe/layout.hpp"
#include "observe/memory.hpp"
#include "observe/page_presence.hpp"

namespace talus::tool {

// What free() learns of a slice.
struct Entry {
  uint32_t bits = 0;

  uint32_t owner() const { return bits & 0xffff; }
  uint32_t tag() const { return bits >> 16; }
  bool is_slab() const { return owner() != 0; }
};

// Bytes of the map.
struct MapPiece {
  uint64_t base;
  uint64_t bytes;
};

class PageMapView {
 public:
  // With `presence`, pages without contents are not read: a read would map the kernel's page of
  // zeros into the process. Null: all are read.
  PageMapView(Look& look, const Layout& layout, const PagePresence* presence);

  // The entries of addresses in any order.
  std::vector<Entry> entries_of(const std::vector<uint64_t>& addresses);

  struct Rows {
    std::vector<uint32_t> entries;
    std::vector<uint64_t> descriptors;
  };
  // Entries and descriptors of consecutive slices.
  Rows rows_of(uint64_t base, size_t slices);

  // The window, and the leaves of these addresses beyond it.
  std::vector<MapPiece> pieces_of(const std::vector<uint64_t>& addresses);
  size_t slice_bytes() const { return slice_bytes_; }

 private:
  struct Place {
    uint64_t entry;       // 0: there is none
    uint64_t descriptor;  // likewise
    size_t slices;        // from here on that lie in the same piece
  };
  Place place_of(uint64_t address);
  // The leaf of an address beyond the window; 0: there is none.
  uint64_t far_leaf_of(uint64_t address);
  bool is_near(uint64_t address) const;
  // Copies a part of the map; what has no contents reads as zero.
  void copy_rows(uint64_t from, size_t bytes, char* to);

  static constexpr unsigned root_shift = 32;
  Look& look_;
  const PagePresence* presence_;
  uint64_t map_, slice_bytes_, window_slices_, leaf_slices_;
  uint64_t root_offset_, root_count_, zero_words_;
  uint64_t window_bias_ = 0, window_words_end_ = 0;
  std::map<uint64_t, uint64_t> distances_;  // of roots that were read
};

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_PAGE_MAP_VIEW_HPP
