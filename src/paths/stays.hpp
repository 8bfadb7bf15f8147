// SPDX-License-Identifier: MIT
// paths/stays: resizes that change nothing, because the block fits as it is.
//
// Owns: the answers for large blocks, and for threads whose calls modes are told of. Invariant:
// each answers no when in doubt; the slow path decides then. Called on: any thread. Must not know:
// what becomes of a block that does not stay.
#ifndef TALUS_PATHS_STAYS_HPP
#define TALUS_PATHS_STAYS_HPP

#include "base/base.hpp"
#include "os/os.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/large_state.hpp"
#include "heap/modes.hpp"
#include "heap/sides.hpp"

namespace talus::core {

// Does the live block that starts there fit `bytes` without any change, so that
// resize_large_in_place() would do nothing? Answers no when in doubt.
TALUS_FAST bool stays_as_it_is(const LargeBlock& large, uintptr_t address, size_t bytes) noexcept {
  if (large.base != address || large.state.load_hint() != LargeState::live) return false;
  const size_t usable = large.usable_bytes;
  // For sizes above `usable` the difference wraps and is large; `usable` is at least a page.
  return usable - bytes < os::page_bytes_if_known() && bytes > small_bytes_max &&
         large.front_bytes == 0;
}

// For a thread in one mode alone.
TALUS_APART bool stays_by_mode(void* pointer, size_t bytes, const ThreadContext& context) noexcept {
  const Mode* mode = mode_alone(context);
  return mode != nullptr && mode->stays_alone(pointer, bytes);
}

// Does a thread have two-sided lists, and modes that know of no block in a slab? Such modes are not
// told of its resizes there.
TALUS_FAST bool resizes_untold(const ThreadContext& context) noexcept {
  return has_sides(context) && context.operations->modes->shared_is_without_slabs.load_acquire();
}

}  // namespace talus::core

#endif  // TALUS_PATHS_STAYS_HPP
