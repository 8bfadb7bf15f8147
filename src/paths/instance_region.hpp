// SPDX-License-Identifier: MIT
// paths/instance_region: instances whose memory a region provides.
//
//   free, realloc ...  -> page-map entry: special -> SpecialOperations -> region in its instance
//   talus_heap_*       -> handle -> slot -> the region
//
// A region may outlive its instance (talus_heap_delete): its blocks live on, and it ends with the
// last of them. Until then it has the instance's slot, which has no handle.
// Owns: the way from a pointer or a handle into a region, and its lock, which is the slot's.
// Invariant: a slot's region is set before its handle is known, and removed after the handle ended.
// Called on: any thread, without locks. Must not know: where a region's memory comes from.
#ifndef TALUS_PATHS_INSTANCE_REGION_HPP
#define TALUS_PATHS_INSTANCE_REGION_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "heap/special.hpp"
#include "regions/region_life.hpp"
#include "regions/region.hpp"
#include "regions/region_words.hpp"

namespace talus::core {

// The region of a living instance; null: it has none. Entering the instance reports a dead handle.
TALUS_FAST RegionHeap* region_of(uintptr_t handle, const char* call) noexcept {
  return slot_of_handle(handle, call).region;
}

// Is this in a region whose addresses the page map could not cover for lack of memory? Only their
// heap knows such blocks, so modes are not told of them.
inline bool is_nameless(uintptr_t handle, const void* pointer, const char* call) noexcept {
  const RegionHeap* region = region_of(handle, call);
  return region != nullptr && !region->has_page_entries &&
         region->holds(reinterpret_cast<uintptr_t>(pointer));
}

// Units of the block; reports any other pointer. The caller holds the instance's lock.
inline size_t prove_in_region(const RegionHeap& region, const void* pointer,
                              const char* call) noexcept {
  const size_t units = units_of(region, pointer);
  if (TALUS_LIKELY(units != 0)) return units;
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  size_t unit = (address - region.origin) / unit_bytes;
  while (unit > 0 && region.taken.has(unit) && !region.starts.has(unit)) unit--;
  const void* block = region.at(unit);
  const size_t bytes = bytes_of(region, block);
  if (bytes != 0 && address - reinterpret_cast<uintptr_t>(block) < bytes) {
    report::interior_pointer(pointer, block, bytes);
  }
  report::foreign_pointer(pointer, call);
}

// Makes the id available to the next instance.
inline void give_instance_slot(HeapId id) noexcept {
  TALUS_ASSERT(handle_of(id) == 0 && instance_slot(id).region == nullptr);
  Held held{registry.lock};
  instance_slot(id).next_unused = instance_table.unused;
  instance_table.unused = static_cast<uint32_t>(index_of(id));
  audit(instance_table);
}

inline void free_in_region(uintptr_t handle, void* pointer, const char* call) noexcept {
  const Inside inside{handle, call};
  RegionHeap& region = *inside.slot().region;
  give_to_region(region, pointer, prove_in_region(region, pointer, call));
}

inline void prove_inside(uintptr_t handle, const void* pointer, const char* call) noexcept {
  const Inside inside{handle, call};
  prove_in_region(*inside.slot().region, pointer, call);
}
// For blocks of a region without a handle, too.
inline size_t usable_in_region(RegionHeap& region, const void* pointer, const char* call) noexcept {
  Held held{instance_slot(id_in_handle(region.handle)).lock};
  return prove_in_region(region, pointer, call) * unit_bytes;
}

// A block that moves within a region counts once. Its old place does not count (-1) from before the
// new place exists until the old one is freed (+1).
inline void count_moving(RegionHeap& region, size_t units, ptrdiff_t sign) noexcept {
  region.live_units += static_cast<size_t>(sign * static_cast<ptrdiff_t>(units));
  region.live_count += static_cast<size_t>(sign);
  TALUS_AUDIT_ONLY(region.moving_units -= static_cast<size_t>(sign * static_cast<ptrdiff_t>(units));
                   region.moving_count -= static_cast<size_t>(sign);)
}

// A block of the instance's slabs, where the region has no room and may fall back; null: none.
using FallBack = void* (*)(uintptr_t handle, size_t bytes, bool& is_at_limit);

// Null: no memory, or no room (is_at_limit); the block is untouched.
inline void* reallocate_in_region(uintptr_t handle, void* pointer, size_t bytes, const char* call,
                                  FallBack fall_back, bool& is_at_limit) noexcept {
  size_t units = 0;
  void* fresh = nullptr;
  bool falls_back = false;
  {
    const Inside inside{handle, call};
    RegionHeap& region = *inside.slot().region;
    units = prove_in_region(region, pointer, call);
    const size_t usable = units * unit_bytes;
    if (bytes < usable) note_cut(static_cast<char*>(pointer) + bytes, usable - bytes);
    if (resize_in_region(region, pointer, units, bytes)) return pointer;
    count_moving(region, units, -1);
    fresh = take_from_region(region, bytes, block_alignment);
    if (fresh == nullptr) count_moving(region, units, +1);
    falls_back = region.falls_back;
  }
  const bool is_counted = fresh == nullptr;
  if (fresh == nullptr && falls_back) fresh = fall_back(handle, bytes, is_at_limit);
  if (fresh == nullptr) {
    is_at_limit = is_at_limit || !falls_back;
    return nullptr;
  }
  const size_t before = units * unit_bytes;
  copy_bytes(fresh, pointer, before < bytes ? before : bytes);
  note_cut(pointer, before);
  const Inside inside{handle, call};
  RegionHeap& region = *inside.slot().region;
  if (!is_counted) count_moving(region, units, +1);
  give_to_region(region, pointer, prove_in_region(region, pointer, call));
  return fresh;
}

// ---- by the page-map entry

inline uintptr_t handle_of_region(SpecialBlock& block) noexcept {
  return static_cast<RegionHeap&>(block).handle;
}
inline void free_special_in_region(SpecialBlock& block, void* pointer) noexcept {
  auto& region = static_cast<RegionHeap&>(block);
  const HeapId id = id_in_handle(region.handle);
  InstanceSlot& slot = instance_slot(id);
  {
    Held held{slot.lock};
    give_to_region(region, pointer, prove_in_region(region, pointer, "free"));
    const bool is_left = slot.shared_handle.load_own() == 0;  // under the lock
    if (TALUS_LIKELY(!is_left || region.live_count != 0)) return;
    slot.region = nullptr;
  }
  end_region(region);
  give_instance_slot(id);
}
inline size_t usable_special_in_region(SpecialBlock& block, void* pointer,
                                       const char* call) noexcept {
  return usable_in_region(static_cast<RegionHeap&>(block), pointer, call);
}
// Defined in paths/instance_blocks.hpp, which knows slabs.
inline void* reallocate_special_in_region(SpecialBlock& block, void* pointer, size_t bytes,
                                          bool& is_at_limit) noexcept;
inline constexpr SpecialOperations region_operations = {
    free_special_in_region, usable_special_in_region, reallocate_special_in_region,
    handle_of_region};
// For a region whose instance was deleted. Its blocks belong to no instance; a resized block moves
// out.
inline constexpr SpecialOperations left_region_operations = {free_special_in_region,
                                                             usable_special_in_region};

// ---- looks

// What the page map says of a block, or said before a region lay in it. A buffer that starts at a
// slice has the region's word there, and the buffer's holder may still ask about it. Blocks of the
// region lie behind its bookkeeping. Descriptors found here are alive: a region leaves the page map
// under the space lock before it ends.
inline NamedBefore named_of_block(const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  PageMap::Found now = page_map.look(address);
  if (now.word.bits() != special_word.bits()) return {now.descriptor, now.word.bits()};
  Held held{space.lock()};
  now = page_map.look(address);
  NamedBefore found{now.descriptor, now.word.bits()};
  while (found.descriptor != nullptr && found.word_bits == special_word.bits()) {
    auto& special = *static_cast<SpecialBlock*>(found.descriptor);
    if (special.operations().instance == nullptr) break;
    auto& region = static_cast<RegionHeap&>(special);
    if (address >= region.base) break;
    const NamedBefore before = region.named_before[(address - region.origin) / slice_bytes];
    if (before.word_bits == 0) break;
    found = before;
  }
  return found;
}

// A block of a region, as of a moment ago.
struct RegionBlock {
  void* block = nullptr;
  size_t bytes = 0;
};
struct RegionBlocks {
  static constexpr size_t count_max = 64;
  RegionBlock blocks[count_max];
  size_t count = 0;
};

// The lowest blocks at or above an address.
inline RegionBlocks lowest_blocks(uintptr_t handle, uintptr_t from, const char* call) noexcept {
  RegionBlocks found;
  const Inside inside{handle, call};
  const RegionHeap& region = *inside.slot().region;
  const size_t unit = from > region.origin ? (from - region.origin) / unit_bytes : 0;
  for_each_block_of(region, unit, [&found](void* block, size_t units) noexcept {
    found.blocks[found.count++] = {block, units * unit_bytes};
    return found.count < RegionBlocks::count_max;
  });
  return found;
}

// Calls visit(block, bytes) for each block, ascending, without a lock; false stops the walk.
// Returns whether it reached the end.
template <typename Visit>
bool walk_region(uintptr_t handle, const char* call, Visit visit) noexcept {
  for (uintptr_t from = 0;;) {
    const RegionBlocks found = lowest_blocks(handle, from, call);
    for (size_t i = 0; i < found.count; i++) {
      if (!visit(found.blocks[i].block, found.blocks[i].bytes)) return false;
    }
    if (found.count < RegionBlocks::count_max) return true;
    from = reinterpret_cast<uintptr_t>(found.blocks[found.count - 1].block) + unit_bytes;
  }
}

}  // namespace talus::core

#endif  // TALUS_PATHS_INSTANCE_REGION_HPP
