// SPDX-License-Identifier: MIT
// modes/mapped_place: where a block lies in its own range of pages.
//
//   guard at the end    | no access | pattern, block, pattern | no access |
//                                                 as short as alignment allows ^
//   guard at the start  | no access | pattern, block, pattern | no access |
//                                   ^ none, but for blocks aligned at an offset
//
// Owns: this arithmetic. Invariants: a slot has at least one page without access before its block's
// pages and one behind. The pattern is shorter than a page on each side. Pure functions. Must not
// know: where slots come from.
#ifndef TALUS_MODES_MAPPED_PLACE_HPP
#define TALUS_MODES_MAPPED_PLACE_HPP

#include "base/base.hpp"
#include "heap/context.hpp"

namespace talus::core::mapped {

enum class Guard : uint8_t { at_end, at_start };

struct Place {
  uintptr_t start = 0;    // of the block
  uintptr_t pages = 0;    // first page with access
  size_t page_bytes = 0;  // with access; 0 for a block of no bytes
};

// Larger requests get an ordinary block, or fail.
inline constexpr size_t bytes_max = size_t{1} << 40;

constexpr bool is_possible(const BlockRequest& request) noexcept {
  return request.bytes <= bytes_max && request.alignment <= bytes_max;
}

// The bytes of a slot in which every placement fits.
constexpr size_t slot_bytes_for(const BlockRequest& request, size_t page) noexcept {
  return round_up(request.bytes + request.alignment + 2 * page, slice_bytes);
}

// The place of a block in a slot of whole pages, at least slot_bytes_for(request) bytes long.
constexpr Place place_in(uintptr_t slot, size_t slot_bytes, const BlockRequest& request,
                         size_t page, Guard guard) noexcept {
  const size_t alignment = request.alignment, offset = request.offset;
  TALUS_ASSERT(is_possible(request) && slot % page == 0 && slot_bytes % page == 0);
  TALUS_ASSERT(slot_bytes >= slot_bytes_for(request, page));
  Place place;
  if (guard == Guard::at_end) {
    const uintptr_t end = slot + slot_bytes - page - request.bytes;
    place.start = round_down(end + offset, alignment) - offset;
  } else {
    place.start = round_up(slot + page + offset, alignment) - offset;
  }
  place.pages = round_down(place.start, page);
  place.page_bytes = round_up(place.start + request.bytes, page) - place.pages;
  TALUS_ASSERT((place.start + offset) % alignment == 0);
  TALUS_ASSERT(place.pages >= slot + page);
  TALUS_ASSERT(place.pages + place.page_bytes <= slot + slot_bytes - page);
  return place;
}

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_PLACE_HPP
