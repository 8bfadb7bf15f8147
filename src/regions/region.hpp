// SPDX-License-Identifier: MIT
// regions/region: blocks of any size in one range of memory that a provider supplies.
//
//   slices of the region |  0  |  1  |  2  | ...        everything outside counts as taken
//   taken                | a bit for each 16 bytes |    in a block, or outside the region
//   starts               | a bit for each 16 bytes |    the first 16 bytes of a block
//   RegionSlice          | units taken, how short its longest free run is, flags |
//
// A slab takes 64 KiB, which is half of a small buffer. Here a block takes what it needs, rounded
// up to 16 bytes, at a low address where it fits. The search for a small block goes slice by slice
// and skips slices that cannot have room. The search for a larger block crosses slices.
// Owns: the two rows of bits and the counts. Invariants: a free unit is in no block. A slice is
// committed before a block lies in it. Only the region's user writes to the region.
// Called on: a thread that holds the lock of the instance.
// Must not know: where the memory comes from, instances.
#ifndef TALUS_REGIONS_REGION_HPP
#define TALUS_REGIONS_REGION_HPP

#include "base/base.hpp"
#include "regions/region_sound.hpp"
#include "regions/region_words.hpp"

namespace talus::core {

// Units of the block that starts at this address; 0: no block starts there.
inline size_t units_of(const RegionHeap& region, const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (!region.holds(address) || address % unit_bytes != 0) return 0;
  const size_t unit = (address - region.origin) / unit_bytes;
  if (!region.starts.has(unit)) return 0;
  // The block ends where the next begins, or where a unit is free.
  for (size_t at = unit + 1;; at = at / 64 * 64 + 64) {
    const size_t last = region.end_unit();
    const size_t end = at / 64 * 64 + 64 < last ? at / 64 * 64 + 64 : last;
    const size_t free = region.taken.next(at, end, false);
    const size_t start = region.starts.next(at, free, true);
    if (start < end || end == last) return start - unit;
  }
}
inline size_t bytes_of(const RegionHeap& region, const void* pointer) noexcept {
  return units_of(region, pointer) * unit_bytes;
}

// Where a block may lie: it needs `units`, and its first unit at a multiple of `alignment_units`.
struct UnitRequest {
  size_t units = 1;
  size_t alignment_units = 1;
};
inline constexpr size_t no_unit = SIZE_MAX;

inline size_t aligned_unit(const RegionHeap& region, size_t unit, size_t alignment) noexcept {
  const size_t first = region.origin / unit_bytes;
  return round_up(first + unit, alignment) - first;
}

// The lowest place between two units. `longest`: the longest run that was too short.
inline size_t find_between(const RegionHeap& region, size_t from, size_t to, UnitRequest request,
                           size_t& longest) noexcept {
  for (;;) {
    // Skip slices without a free unit.
    while (from < to && from % slice_units == 0 &&
           region.slices[from / slice_units].taken_units == slice_units) {
      from += slice_units;
    }
    if (from >= to) return no_unit;
    const size_t slice_end = round_down(from, slice_units) + slice_units;
    const size_t stop = slice_end < to ? slice_end : to;
    const size_t free = region.taken.next(from, stop, false);
    if (free == stop) {
      from = stop;
      continue;
    }
    const size_t at = aligned_unit(region, free, request.alignment_units);
    if (at > to || request.units > to - at) {
      // No later run is longer than what is left.
      if (request.units > to - free) {
        if (to - free > longest) longest = to - free;
        return no_unit;
      }
      from = region.taken.next(free, to, true);
      continue;
    }
    const size_t taken = region.taken.next(at, at + request.units, true);
    if (taken == at + request.units) return at;
    if (taken - free > longest) longest = taken - free;
    from = taken;
  }
}

// The lowest suitable place; no_unit: there is none.
inline size_t find_units(RegionHeap& region, UnitRequest request) noexcept {
  while (region.lowest_open < region.slice_count &&
         region.slices[region.lowest_open].taken_units == slice_units) {
    region.lowest_open++;
  }
  // In a small region a block in the middle of a slice may leave no room for a larger one.
  const bool is_small = region.slice_count <= small_region_slices;
  if (request.units <= (is_small ? slice_units / 16 : slice_units)) {
    for (size_t i = region.lowest_open; i < region.slice_count; i++) {
      RegionSlice& slice = region.slices[i];
      if (request.units > slice_units - slice.shortfall) continue;
      size_t longest = 0;
      const size_t from = i * slice_units;
      const size_t found = find_between(region, from, from + slice_units, request, longest);
      if (found != no_unit) return found;
      // A run that only the alignment made too short may still be long.
      if (request.alignment_units == 1) {
        slice.shortfall = static_cast<uint16_t>(slice_units - longest);
      }
    }
  }
  size_t longest = 0;
  return find_between(region, region.lowest_open * slice_units, region.unit_count(), request,
                      longest);
}

// The same among committed slices, for when the place of find_units() could get no memory.
inline size_t find_committed_units(const RegionHeap& region, UnitRequest request) noexcept {
  for (size_t i = region.lowest_open; i < region.used_slices; i++) {
    if (!region.slices[i].is_committed) continue;
    size_t end = i + 1;
    while (end < region.used_slices && region.slices[end].is_committed) end++;
    size_t longest = 0;
    const size_t found = find_between(region, i * slice_units, end * slice_units, request, longest);
    if (found != no_unit) return found;
    i = end;
  }
  return no_unit;
}

// Calls visit(slice, from, to) for the slices of a range of units.
template <typename Visit>
void for_each_slice_of(size_t from, size_t to, Visit visit) noexcept {
  while (from < to) {
    const size_t end = round_down(from, slice_units) + slice_units;
    visit(from / slice_units, from, end < to ? end : to);
    from = end;
  }
}

inline void mark_taken(RegionHeap& region, size_t from, size_t to) noexcept {
  TALUS_ASSERT(from <= to && to <= region.unit_count());
  TALUS_ASSERT(region.taken.next(from, to, true) == to);
  region.taken.set(from, to, true);
  for_each_slice_of(from, to, [&](size_t index, size_t first, size_t last) noexcept {
    RegionSlice& slice = region.slices[index];
    if (slice.taken_units == 0 && slice.is_committed) region.spare_slices--;
    slice.taken_units = static_cast<uint16_t>(slice.taken_units + (last - first));
  });
}
inline void mark_free(RegionHeap& region, size_t from, size_t to) noexcept {
  TALUS_ASSERT(from <= to && to <= region.end_unit());
  TALUS_ASSERT(region.taken.next(from, to, false) == to);
  region.taken.set(from, to, false);
  for_each_slice_of(from, to, [&](size_t index, size_t first, size_t last) noexcept {
    RegionSlice& slice = region.slices[index];
    slice.taken_units = static_cast<uint16_t>(slice.taken_units - (last - first));
    slice.shortfall = slice.taken_units;
    if (slice.taken_units == 0 && slice.is_committed) region.spare_slices++;
    if (index < region.lowest_open) region.lowest_open = index;
  });
}

// Commits memory for these slices. False: there is none.
inline bool commit_slices(RegionHeap& region, size_t first, size_t last) noexcept {
  TALUS_ASSERT(first <= last && last < region.slice_count);
  for (size_t i = first; i <= last; i++) {
    RegionSlice& slice = region.slices[i];
    if (!slice.is_committed) {
      const uintptr_t at = region.from_of(i);
      // One call for all following slices without memory.
      size_t next = i + 1;
      while (next <= last && !region.slices[next].is_committed) next++;
      const uintptr_t to = region.to_of(next - 1);
      size_t room_end = next;
      while (room_end < region.slice_count && !region.slices[room_end].is_committed) {
        if (room_end - i >= file_step_bytes_max / slice_bytes) break;
        room_end++;
      }
      const size_t room = region.to_of(room_end - 1) - at;
      const auto commit = region.source->commit;
      if (commit != nullptr && !commit(region, at, to - at, room)) return false;
      for (size_t done = i; done < next; done++) {
        region.slices[done].is_committed = true;
        if (region.slices[done].taken_units == 0) region.spare_slices++;
        region.committed_bytes += region.to_of(done) - region.from_of(done);
      }
      if (region.committed_bytes > region.peak_bytes) region.peak_bytes = region.committed_bytes;
      note_used(region, next);
    }
    if (region.has_page_entries && !slice.is_named) name_slice(region, i);
  }
  return true;
}

// Free units become a block. Null: there is no memory for them.
inline void* take_units(RegionHeap& region, size_t unit, size_t units) noexcept {
  const size_t last = (unit + units - 1) / slice_units;
  if (!commit_slices(region, unit / slice_units, last)) return nullptr;
  mark_taken(region, unit, unit + units);
  region.starts.set(unit, unit + 1, true);
  region.live_units += units;
  region.live_count++;
  audit(region);
  return region.at(unit);
}

inline bool has_room_for(const RegionHeap& region, size_t units) noexcept {
  return region.limit_bytes == 0 || (region.live_units + units) * unit_bytes <= region.limit_bytes;
}

// A block of at least one byte; null: there is no room, or no memory.
inline void* take_from_region(RegionHeap& region, size_t bytes, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment));
  if (bytes > region.end - region.base) return nullptr;
  const size_t units = bytes == 0 ? 1 : divide_up(bytes, unit_bytes);
  if (!has_room_for(region, units)) return nullptr;
  const UnitRequest request = {units, alignment <= unit_bytes ? 1 : alignment / unit_bytes};
  const size_t unit = find_units(region, request);
  if (unit == no_unit) return nullptr;
  void* block = take_units(region, unit, units);
  if (TALUS_LIKELY(block != nullptr)) return block;
  const size_t other = find_committed_units(region, request);
  return other == no_unit ? nullptr : take_units(region, other, units);
}

// The most committed slices without blocks to keep: an eighth of the live bytes, plus 1 MiB.
inline size_t spare_slices_max(const RegionHeap& region) noexcept {
  return (region.live_units * unit_bytes / 8 + mib) / slice_bytes;
}
inline bool purge_slice(RegionHeap& region, size_t index) noexcept {
  RegionSlice& slice = region.slices[index];
  TALUS_ASSERT(slice.is_committed && slice.taken_units == 0);
  const uintptr_t from = region.from_of(index);
  const size_t bytes = region.to_of(index) - from;
  if (!region.source->purge(region, from, bytes)) return false;
  slice.is_committed = false;
  region.spare_slices--;
  region.committed_bytes -= bytes;
  return true;
}
// Purges slices without blocks between two slices until `kept` remain, or until a purge is refused.
inline void purge_spare(RegionHeap& region, size_t from, size_t to, size_t kept) noexcept {
  if (region.source->purge == nullptr) return;
  for (size_t i = to; i-- > from && region.spare_slices > kept;) {
    const RegionSlice& slice = region.slices[i];
    const bool is_spare = slice.taken_units == 0 && slice.is_committed;
    if (is_spare && !purge_slice(region, i)) return;
  }
}

// Units between these became free: purges memory beyond what is kept.
inline void purge_beyond_kept(RegionHeap& region, size_t from, size_t to) noexcept {
  const size_t kept = spare_slices_max(region);
  purge_spare(region, from / slice_units, (to - 1) / slice_units + 1, kept);
  // Rare, because most of what this finds goes.
  if (region.spare_slices > 2 * kept) purge_spare(region, 0, region.used_slices, kept);
}

// Frees a block of this many units.
inline void give_to_region(RegionHeap& region, void* pointer, size_t units) noexcept {
  const size_t unit = (reinterpret_cast<uintptr_t>(pointer) - region.origin) / unit_bytes;
  TALUS_ASSERT(region.starts.has(unit) && units == units_of(region, pointer));
  region.starts.set(unit, unit + 1, false);
  mark_free(region, unit, unit + units);
  region.live_units -= units;
  region.live_count--;
  purge_beyond_kept(region, unit, unit + units);
  audit(region);
}

// Makes a block hold `bytes` in place. False: it cannot, and is untouched.
inline bool resize_in_region(RegionHeap& region, void* pointer, size_t units,
                             size_t bytes) noexcept {
  if (bytes > region.end - region.base) return false;
  const size_t unit = (reinterpret_cast<uintptr_t>(pointer) - region.origin) / unit_bytes;
  const size_t wanted = bytes == 0 ? 1 : divide_up(bytes, unit_bytes);
  if (wanted > units) {
    const size_t end = unit + wanted;
    if (end > region.end_unit() || !has_room_for(region, wanted - units)) return false;
    if (region.taken.next(unit + units, end, true) != end) return false;
    if (!commit_slices(region, (unit + units) / slice_units, (end - 1) / slice_units)) {
      return false;
    }
    mark_taken(region, unit + units, end);
  } else if (wanted < units) {
    mark_free(region, unit + wanted, unit + units);
  }
  region.live_units += wanted - units;
  if (wanted < units) purge_beyond_kept(region, unit + wanted, unit + units);
  audit(region);
  return true;
}

// Calls visit(block, units) for each block from this unit on; false stops.
template <typename Visit>
void for_each_block_of(const RegionHeap& region, size_t from, Visit visit) noexcept {
  const size_t used_end = region.used_slices * slice_units;
  const size_t end = used_end < region.end_unit() ? used_end : region.end_unit();
  for (size_t unit = region.starts.next(from, end, true); unit < end;) {
    void* block = region.at(unit);
    const size_t units = units_of(region, block);
    if (!visit(block, units)) return;
    unit = region.starts.next(unit + units, end, true);
  }
}

// Frees all blocks.
inline void empty_region(RegionHeap& region) noexcept {
  for_each_block_of(region, 0, [&region](void* block, size_t units) noexcept {
    const size_t unit = (reinterpret_cast<uintptr_t>(block) - region.origin) / unit_bytes;
    region.starts.set(unit, unit + 1, false);
    mark_free(region, unit, unit + units);
    return true;
  });
  region.live_units = region.live_count = 0;
  TALUS_AUDIT_ONLY(region.moving_units = region.moving_count = 0;)
  purge_spare(region, 0, region.used_slices, mib / slice_bytes);
  audit(region);
}

}  // namespace talus::core

#endif  // TALUS_REGIONS_REGION_HPP
