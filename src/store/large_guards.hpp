// SPDX-License-Identifier: MIT
// store/large_guards: guards before and behind large blocks.
//
// A guarded block has a slice of its range before its base, whose last page is a guard. The pages
// behind its end are guards as well, a slice at most, and there is one at least. Nothing of it is
// kept for reuse when the program frees it, and the kernel does not move its pages.
// Owns: the room for guards. Invariant: a guarded block has its front slice; either guard may be
// missing. Called on: under the space lock. Must not know: how guards are set.
#ifndef TALUS_STORE_LARGE_GUARDS_HPP
#define TALUS_STORE_LARGE_GUARDS_HPP

#include "base/base.hpp"
#include "os/guards.hpp"
#include "os/os.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"

namespace talus::core {

struct LargeRoom {
  size_t slices;  // from the base on
  size_t front_slices = 0;
  Placing placing;  // of the range

  size_t all_slices() const noexcept { return slices + front_slices; }
};
TALUS_APART void add_guards(LargeRoom& room, size_t usable_bytes) noexcept {
  if (room.slices * slice_bytes - usable_bytes < os::page_bytes()) room.slices++;
  room.front_slices = 1;
  Placing& placing = room.placing;
  placing.phase = (placing.phase - slice_bytes) & (placing.alignment - 1);
}

// Behind the block's end.
inline size_t tail_guard_bytes(const LargeBlock& large) noexcept {
  const size_t used = large.front_bytes + large.usable_bytes;
  const size_t rest = large.slices * slice_bytes - used;
  return rest < slice_bytes ? rest : slice_bytes;
}
TALUS_APART void set_tail_guard(LargeBlock& large) noexcept {
  if (!space.may_purge_pages(large.base)) return guards.note_missing();
  const uintptr_t end = large.base + large.front_bytes + large.usable_bytes;
  const size_t bytes = tail_guard_bytes(large);
  large.has_tail_guard = bytes != 0 && guards.set(reinterpret_cast<void*>(end), bytes);
}
// False: the pages stay without access.
TALUS_APART bool lift_tail_guard(LargeBlock& large) noexcept {
  if (!large.has_tail_guard) return true;
  const uintptr_t end = large.base + large.front_bytes + large.usable_bytes;
  const bool is_lifted = guards.lift(reinterpret_cast<void*>(end), tail_guard_bytes(large));
  large.has_tail_guard = !is_lifted;
  return is_lifted;
}
inline void* front_guard_of(const LargeBlock& large) noexcept {
  return reinterpret_cast<void*>(large.base - os::page_bytes());
}
// A block just began, with a slice before it.
TALUS_APART void begin_guarded(LargeBlock& large) noexcept {
  large.is_guarded = true;
  set_tail_guard(large);
  if (!space.may_purge_pages(large.base)) return guards.note_missing();
  large.has_front_guard = guards.set(front_guard_of(large), os::page_bytes());
}
// The range is about to go back. False: it must stay.
TALUS_APART bool end_guarded(LargeBlock& large) noexcept {
  if (!lift_tail_guard(large)) return false;
  return !large.has_front_guard || guards.lift(front_guard_of(large), os::page_bytes());
}

}  // namespace talus::core

#endif  // TALUS_STORE_LARGE_GUARDS_HPP
