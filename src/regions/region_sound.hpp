// SPDX-License-Identifier: MIT
// regions/region_sound: what must hold of a region's rows of bits and counts.
//
//   slice    taken_units     = bits set in `taken`
//            shortfall       = at most what its longest free run lacks
//   region   live_units      = units taken inside the region - those of blocks that move
//            live_count      = bits set in `starts` - blocks that move
//            spare_slices    = committed slices without a unit taken
//            committed_bytes = bytes of committed slices; peak_bytes is never below
//            lowest_open     = no slice below has a free unit
//
// Owns: the equations. Invariant: reads only.
// Called on: a thread that holds the lock of the instance, at the end of each operation.
// Must not know: the code that changes the counts.
#ifndef TALUS_REGIONS_REGION_SOUND_HPP
#define TALUS_REGIONS_REGION_SOUND_HPP

#include "base/base.hpp"
#include "regions/region_words.hpp"

namespace talus::core {

// The units of a slice that lie inside the region.
inline size_t units_inside(const RegionHeap& region, size_t index) noexcept {
  const uintptr_t from = region.from_of(index), to = region.to_of(index);
  return to > from ? (to - from) / unit_bytes : 0;
}

// Bits of a slice in one of the rows.
inline size_t bits_of_slice(const BitRow& row, size_t index) noexcept {
  const size_t end = (index + 1) * slice_units;
  size_t bits = 0;
  for (size_t at = row.next(index * slice_units, end, true); at < end;) {
    const size_t behind = row.next(at, end, false);
    bits += behind - at;
    at = row.next(behind, end, true);
  }
  return bits;
}
inline size_t longest_free_run(const BitRow& taken, size_t index) noexcept {
  const size_t end = (index + 1) * slice_units;
  size_t longest = 0;
  for (size_t at = taken.next(index * slice_units, end, false); at < end;) {
    const size_t behind = taken.next(at, end, true);
    if (behind - at > longest) longest = behind - at;
    at = taken.next(behind, end, false);
  }
  return longest;
}

struct RegionSums {
  size_t taken_units = 0;  // inside the region
  size_t starts = 0;
  size_t spare_slices = 0;
  size_t committed_bytes = 0;
};
// Adds a slice that was used. False: its own numbers are wrong.
inline bool add_slice(RegionSums& sums, const RegionHeap& region, size_t index) noexcept {
  const RegionSlice& slice = region.slices[index];
  const size_t outside = slice_units - units_inside(region, index);
  if (bits_of_slice(region.taken, index) != slice.taken_units) return false;
  if (longest_free_run(region.taken, index) + slice.shortfall > slice_units) return false;
  if (index < region.lowest_open && slice.taken_units != slice_units) return false;
  if (slice.taken_units > outside && !slice.is_committed) return false;
  sums.taken_units += slice.taken_units - outside;
  sums.starts += bits_of_slice(region.starts, index);
  if (!slice.is_committed) return true;
  if (slice.taken_units == 0) sums.spare_slices++;
  sums.committed_bytes += region.to_of(index) - region.from_of(index);
  return true;
}

inline bool RegionHeap::is_sound() const noexcept {
  RegionSums sums;
  if (used_slices > slice_count || base > end || committed_bytes > peak_bytes) return false;
  for (size_t index = 0; index < used_slices; index++) {
    if (!add_slice(sums, *this, index)) return false;
  }
  if (used_slices < slice_count) {
    const RegionSlice& next = slices[used_slices];
    if (next.is_committed || next.is_named) return false;
  }
  if (sums.spare_slices != spare_slices || sums.committed_bytes != committed_bytes) return false;
  size_t units = live_units, count = live_count;
  TALUS_AUDIT_ONLY(units += moving_units; count += moving_count;)
  return sums.taken_units == units && sums.starts == count;
}

// In audit builds, at the end of each operation on a region.
inline void audit(const RegionHeap& region) noexcept {
  if (is_audit_due(region.used_slices)) TALUS_AUDIT_SOUND(region);
}

}  // namespace talus::core

#endif  // TALUS_REGIONS_REGION_SOUND_HPP
