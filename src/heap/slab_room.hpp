// SPDX-License-Identifier: MIT
// heap/slab_room: how many blocks a new slab of a class gets, where the first lies, and how large
// its range is.
//
// Owns: the room that option guard_pages takes from slabs. Invariant: the same for all slabs that
// begin after the option was set. Called on: any thread. Must not know: slabs.
#ifndef TALUS_HEAP_SLAB_ROOM_HPP
#define TALUS_HEAP_SLAB_ROOM_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "heap/heap.hpp"

namespace talus::core {

// What a new slab of a class gets.
struct SlabRoom {
  uint32_t block_count;
  size_t slices;
};
TALUS_APART SlabRoom guarded_room(ClassId id) noexcept {
  const SizeClass& row = size_class_row(id);
  const size_t slab_bytes = row.slab_slices * slice_bytes;
  const size_t blocks = (slab_bytes - os::page_bytes()) / row.block_bytes;
  if (blocks >= row.block_count) return {row.block_count, row.slab_slices};
  if (is_medium(id)) return {row.block_count, row.slab_slices + size_t{1}};
  return {static_cast<uint32_t>(blocks), row.slab_slices};
}
inline SlabRoom room_of_slab(ClassId id) noexcept {
  if (TALUS_UNLIKELY(options.guard_pages)) return guarded_room(id);
  const SizeClass& row = size_class_row(id);
  return {row.block_count, row.slab_slices};
}

// The bytes before the first block of the heap's next slab of a class. Blocks begin in the sets of
// a cache as if all slabs were one.
inline size_t front_of_slab(const Heap& heap, ClassId id) noexcept {
  if (TALUS_LIKELY(!is_fitted(id) || !is_medium(id))) return 0;
  const SizeClass& row = size_class_row(id);
  const size_t blocks = heap.class_slabs[index_of(id)] * size_t{row.block_count};
  return blocks * row.block_bytes % fitted_front_room;
}

}  // namespace talus::core

#endif  // TALUS_HEAP_SLAB_ROOM_HPP
