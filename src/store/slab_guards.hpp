// SPDX-License-Identifier: MIT
// store/slab_guards: the guard behind the last block of a slab, and the room for it.
//
// A guard takes the whole pages behind the last block. A slab of small blocks that fill its range
// has a few blocks less. One of medium blocks has a slice more, because it holds few. Before the
// first block lies the guard of the range below, or free memory.
// Owns: how much of a range a slab's blocks get. Invariant: a slab keeps its guard until its range
// goes back. Called on: the thread that holds the lock of the slab's heap. Must not know: how
// guards are set.
#ifndef TALUS_STORE_SLAB_GUARDS_HPP
#define TALUS_STORE_SLAB_GUARDS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/guards.hpp"
#include "os/os.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"

namespace talus::core {

// All slices of a slab's range.
inline size_t slices_of(const Slab& slab) noexcept {
  return size_class_row(slab.class_id).slab_slices + size_t{slab.guard_slices};
}

struct GuardPlace {
  void* at;
  size_t bytes;
};
// Behind the last block, to the end of the range.
inline GuardPlace guard_of(const Slab& slab) noexcept {
  const uintptr_t end = slab.base + slices_of(slab) * slice_bytes;
  const size_t used = size_t{slab.block_count} * slab.block_bytes;
  const uintptr_t at = slab.base + round_up(used, os::page_bytes());
  return {reinterpret_cast<void*>(at), end - at};
}
// A slab just began, with room for a guard.
TALUS_APART void set_guard(Slab& slab) noexcept {
  if (!space.may_purge_pages(slab.base)) return guards.note_missing();
  const GuardPlace place = guard_of(slab);
  slab.has_guard = place.bytes != 0 && guards.set(place.at, place.bytes);
}
// The range is about to go back. False: it must stay.
TALUS_APART bool lift_guard(Slab& slab) noexcept {
  const GuardPlace place = guard_of(slab);
  slab.has_guard = !guards.lift(place.at, place.bytes);
  return !slab.has_guard;
}

}  // namespace talus::core

#endif  // TALUS_STORE_SLAB_GUARDS_HPP
