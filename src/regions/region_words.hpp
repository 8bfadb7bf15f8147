// SPDX-License-Identifier: MIT
// regions/region_words: what a region is, and what the page map says of its slices.
//
//   the page map   | slab 7 | region | region | slab 7 |   a buffer in a block of slab 7
//   named_before            | slab 7 | slab 7 |            restored when the region ends
//
// Owns: the region's descriptor, and its words. Invariant: where a region lies in a block, only the
// region writes words of slices that lie wholly in it. A change of the block's owner then changes
// what the region will restore.
// Called on: any thread. Words are written under the space lock, a region's counts under the lock
// of its instance. Must not know: where the memory comes from, which of it is free.
#ifndef TALUS_REGIONS_REGION_WORDS_HPP
#define TALUS_REGIONS_REGION_WORDS_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/instance.hpp"
#include "heap/special.hpp"

namespace talus::core {

inline constexpr size_t unit_bytes = block_alignment;
inline constexpr size_t slice_units = slice_bytes / unit_bytes;
inline constexpr size_t row_bytes_a_slice = slice_units / 8;
inline constexpr size_t small_region_slices = 64;

// Zero means free and never used. No free run in it is longer than slice_units - shortfall.
struct RegionSlice {
  uint16_t taken_units = 0;
  uint16_t shortfall = 0;
  bool is_committed = false;
  bool is_named = false;  // the page map has the region's word for it
};

// The former page-map entry, where a region lies in memory that is already a block.
struct NamedBefore {
  void* descriptor = nullptr;
  uint32_t word_bits = 0;
};

struct RegionHeap;
// Where the memory comes from. A null member: nothing need be done.
struct RegionSource {
  // The same contract as PageProvider's (space/provider.hpp).
  bool (*commit)(RegionHeap& region, uintptr_t at, size_t bytes, size_t room_bytes) noexcept;
  bool (*purge)(RegionHeap& region, uintptr_t at, size_t bytes) noexcept;
  // The region ends, and its bookkeeping with it.
  void (*end)(RegionHeap& region) noexcept;
  // Blocks may outlive the heap; the region then ends with the last of them.
  bool may_outlive_heap;
};

struct RegionHeap : SpecialBlock {
  // constant
  uintptr_t handle = 0;  // of the instance, which may be dead
  const RegionSource* source = nullptr;
  uintptr_t base = 0;  // of the usable range
  uintptr_t end = 0;
  uintptr_t origin = 0;  // base, rounded down to a slice
  size_t slice_count = 0;
  size_t limit_bytes = 0;   // of live bytes; 0: none
  bool falls_back = false;  // requests that do not fit get memory of the kernel
  bool has_page_entries = false;
  BitRow taken, starts;
  RegionSlice* slices = nullptr;
  NamedBefore* named_before = nullptr;  // of each slice
  // under the lock
  size_t lowest_open = 0;  // slices below have no free unit
  size_t used_slices = 0;  // slices from here on never had memory, a block or a word
  size_t live_units = 0;
  size_t live_count = 0;
  size_t committed_bytes = 0;
  size_t peak_bytes = 0;    // of committed_bytes
  size_t spare_slices = 0;  // committed, and without blocks
  // Blocks that exist twice while they move; live_units and live_count count them once.
  TALUS_AUDIT_ONLY(size_t moving_units = 0; size_t moving_count = 0;)

  bool is_sound() const noexcept;  // regions/region_sound.hpp; the lock is held
  size_t unit_count() const noexcept { return slice_count * slice_units; }
  size_t end_unit() const noexcept { return (end - origin) / unit_bytes; }
  bool holds(uintptr_t address) const noexcept { return address >= base && address < end; }
  void* at(size_t unit) const noexcept {
    return reinterpret_cast<void*>(origin + unit * unit_bytes);
  }
  // The region's part of a slice; with to_of() of a later slice, of several.
  uintptr_t from_of(size_t slice) const noexcept {
    const uintptr_t from = origin + slice * slice_bytes;
    return from > base ? from : base;
  }
  uintptr_t to_of(size_t slice) const noexcept {
    const uintptr_t to = origin + (slice + 1) * slice_bytes;
    return to < end ? to : end;
  }
};

inline void note_used(RegionHeap& region, size_t slices) noexcept {
  if (slices > region.used_slices) region.used_slices = slices;
}

// The slice's page-map entry becomes the region's. The former entry is saved for unname_slices().
inline void name_slice(RegionHeap& region, size_t index) noexcept {
  TALUS_ASSERT(region.has_page_entries && index < region.slice_count);
  TALUS_ASSERT(!region.slices[index].is_named);
  const uintptr_t at = region.origin + index * slice_bytes;
  Held held{space.lock()};
  region.named_before[index] = {page_map.descriptor_of(at), page_map.word_of(at).bits()};
  page_map.set(at, special_word, &region);
  region.slices[index].is_named = true;
  note_used(region, index + 1);
}

inline void unname_slices(RegionHeap& region) noexcept {
  Held held{space.lock()};
  for (size_t i = 0; i < region.used_slices; i++) {
    if (!region.slices[i].is_named) continue;
    const NamedBefore& before = region.named_before[i];
    page_map.set(region.origin + i * slice_bytes, PageEntry::from_bits(before.word_bits),
                 before.descriptor);
  }
}

// A slice of a live block gets another owner. If regions lie in the block, the first of them will
// restore the new owner. The caller holds the space lock.
inline void rename_slice(Held<SpaceLock>&, uintptr_t at, PageEntry word, void* descriptor) noexcept
    TALUS_REQUIRES(space.lock()) {
  TALUS_ASSERT(at % slice_bytes == 0 && !is_special(word) && descriptor != nullptr);
  NamedBefore found{page_map.descriptor_of(at), page_map.word_of(at).bits()};
  NamedBefore* before = nullptr;
  while (found.word_bits == special_word.bits()) {
    auto& region = *static_cast<RegionHeap*>(static_cast<SpecialBlock*>(found.descriptor));
    before = &region.named_before[(at - region.origin) / slice_bytes];
    found = *before;
  }
  if (before == nullptr) return page_map.set(at, word, descriptor);
  *before = {descriptor, word.bits()};
}

}  // namespace talus::core

#endif  // TALUS_REGIONS_REGION_WORDS_HPP
