// SPDX-License-Identifier: MIT
// reclaim/ranges: free ranges as a source of memory, and the huge pages that hold memory back.
//
// Owns: nothing; address space does (space/range_purger.hpp, space/huge_pages.hpp).
// Called on: the background thread, or a thread that purges at once; without locks.
#ifndef TALUS_RECLAIM_RANGES_HPP
#define TALUS_RECLAIM_RANGES_HPP

#include "base/base.hpp"
#include "retention/futile.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "reclaim/pass.hpp"

namespace talus::core {

TALUS_CONSTINIT inline FutileReclaim futile_reclaim;

TALUS_USUAL void ranges_in_background(uint64_t turns, DecayTally& tally) noexcept {
  Held held{space.lock()};
  tally.purged += space.purge_surplus(held, turns);
}

// Free touched bytes beyond the bound, after ranges went as far as they may not stay. Above the
// soft limit: all of them.
inline size_t excess_behind_ranges(Reclaimer reclaimer, size_t bytes_most) noexcept {
  Held held{space.lock()};
  if (space.excess_bytes(held, reclaimer) >= surplus_bytes_min) {
    space.reclaim_ranges(held, reclaimer, bytes_most);
  }
  return space.is_above_soft_limit(held) ? SIZE_MAX : space.excess_bytes(held, reclaimer);
}

inline void ranges_to_goal(GoalPass& pass) noexcept {
  pass.excess = excess_behind_ranges(pass.reclaimer, pass.bytes_most);
}

inline void purge_ranges_beyond(size_t keep_bytes) noexcept {
  Held held{space.lock()};
  space.purge_beyond(held, keep_bytes);
}
inline void purge_all_ranges() noexcept { purge_ranges_beyond(0); }
// Huge pages keep what is resident behind their users.
inline void purge_dirty_ranges() noexcept {
  Held held{space.lock()};
  space.purge_dirty(held);
}

// Gives all huge pages up if that is worth it.
TALUS_USUAL void huge_pages_in_background(uint64_t, DecayTally& tally) noexcept {
  Held held{space.lock()};
  if (!space.may_split_huge(held)) return;
  if (HugePagePolicy::is_sparse(tally.surplus, tally.slabs, space.surplus_bytes(held),
                                space.counters().given_bytes)) {
    space.split_huge(held);
  }
}

// Where slabs had less than half of what was wanted, much of it may lie in huge pages. A program
// that keeps unused memory beyond the bound does not fill them. The next reclaim finds their holes.
inline void huge_pages_to_goal(GoalPass& pass) noexcept {
  if (pass.purged >= pass.wanted / 2) return;
  Held held{space.lock()};
  if (space.may_split_huge(held)) {
    space.split_huge(held);
    space.ask_to_reclaim();
    return;
  }
  futile_reclaim.note(pass.excess, pass.begun_ms);
  space.purge_beyond(held,
                     SIZE_MAX);  // where huge pages stay: their parts that were never handed out
}

inline void split_huge_pages(size_t) noexcept {
  Held held{space.lock()};
  space.split_huge(held);
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_RANGES_HPP
