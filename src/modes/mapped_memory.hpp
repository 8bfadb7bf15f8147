// SPDX-License-Identifier: MIT
// modes/mapped_memory: the pages of mapped blocks count against the limits on memory.
//
// They lie beside all ranges of address space, so only its ledger knows them.
// Owns: nothing; the count is the ledger's. Invariant: pages are counted before they have access,
// until they have none. Called on: any thread, under the space lock. Must not know: the blocks.
#ifndef TALUS_MODES_MAPPED_MEMORY_HPP
#define TALUS_MODES_MAPPED_MEMORY_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"

namespace talus::core::mapped {

// Does the hard limit allow this memory?
inline bool may_take_beside(Held<SpaceLock>& held, size_t bytes) noexcept
    TALUS_REQUIRES(space.lock()) {
  return space.ledger(held).is_within_limit(bytes);
}
// Counts it, and purges free memory above the soft limit, as Space::take() does. False: the hard
// limit does not allow it. May unlock for a while.
[[nodiscard]] TALUS_APART bool take_beside(Held<SpaceLock>& held, size_t bytes) noexcept
    TALUS_REQUIRES(space.lock()) {
  if (!may_take_beside(held, bytes)) return false;
  space.ledger(held).note_beside(bytes);  // first: others see it while the lock is not held
  space.keep_limit(held);
  return true;
}
inline void give_beside(Held<SpaceLock>& held, size_t bytes) noexcept TALUS_REQUIRES(space.lock()) {
  space.ledger(held).note_beside_returned(bytes);
}

}  // namespace talus::core::mapped

#endif  // TALUS_MODES_MAPPED_MEMORY_HPP
