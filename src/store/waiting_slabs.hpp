// SPDX-License-Identifier: MIT
// store/waiting_slabs: ranges of slabs that wait for the next slab of their class (option
// keep_classes).
//
// A pointer into a slab that ended then never meets a block of another size. The range waits with
// its descriptor, which is of one class for ever, in the list of unused descriptors.
// Owns: nothing. Invariant: a waiting range has no page-map entry, is in no index of free ranges
// and counts as free and clean. Called on: under the space lock. Must not know: heaps.
#ifndef TALUS_STORE_WAITING_SLABS_HPP
#define TALUS_STORE_WAITING_SLABS_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "store/slab_guards.hpp"

namespace talus::core {

// A slab's range waits for the next one of its class: its pages go, its addresses and guard stay.
TALUS_APART void let_wait(Held<SpaceLock>& held, Slab& slab) noexcept TALUS_REQUIRES(space.lock()) {
  purge_pages(reinterpret_cast<void*>(slab.base), slab.bytes());
  slab.has_range = true;
  space.ledger(held).put_aside(slices_of(slab));
}
TALUS_APART Range take_waiting(Held<SpaceLock>& held, Slab& slab) noexcept
    TALUS_REQUIRES(space.lock()) {
  if (!space.ledger(held).take_aside(slices_of(slab))) return {};
  slab.has_range = false;
  return {slab.base, slices_of(slab), Zeroed::no};
}

}  // namespace talus::core

#endif  // TALUS_STORE_WAITING_SLABS_HPP
