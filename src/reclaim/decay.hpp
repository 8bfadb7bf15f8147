// SPDX-License-Identifier: MIT
// reclaim/decay: the decay pass, in which the background thread purges what was not needed lately.
//
// Owns: when a pass is due, and when nothing is left to do. What a pass does is one walk over the
// sources (reclaim/sources.hpp); how much it purges is in retention/goal.hpp. Invariant: no lock is
// held while the kernel works, except registry.decaying, for which only forks and other releases
// wait.
// Called on: the background thread, one pass at a time.
#ifndef TALUS_RECLAIM_DECAY_HPP
#define TALUS_RECLAIM_DECAY_HPP

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "retention/decay_clock.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/purge_request.hpp"
#include "reclaim/pass.hpp"
#include "reclaim/sources.hpp"

namespace talus::core {

// What the background thread remembers of its last pass. Only this thread uses it.
struct Decay {
  uint64_t reversed_ms = 0;  // when the last turn of the low marks ended
  size_t quiet_passes = 0;   // in a row in which nothing was purged
  size_t left = 0;           // bytes that might have been, then
};
TALUS_CONSTINIT inline Decay decay_state;

// The program may change it.
inline uint64_t decay_ms() noexcept {
  Held held{space.lock()};
  return options.decay_ms;
}

// The length of a turn of the low marks.
inline uint64_t turn_ms() noexcept {
  const uint64_t requested = decay_ms() / LowMark::turns_kept;
  return requested < decay_ms_min ? decay_ms_min : requested;
}

// Turns that ended since the last pass.
inline uint64_t turns_due(uint64_t now_ms) noexcept {
  const uint64_t length_ms = turn_ms();
  const uint64_t turns = (now_ms - decay_state.reversed_ms) / length_ms;
  decay_state.reversed_ms += turns * length_ms;
  return turns <= LowMark::turns_kept ? turns : LowMark::turns_kept + 1;
}

// Purges free touched memory beyond the bound at once, from slabs still in change, too.
inline void reclaim_if_much() noexcept {
  {
    Held held{space.lock()};
    const size_t excess = space.excess_bytes(held, Reclaimer::background);
    if (excess < surplus_bytes_min && !space.is_asked_to_reclaim()) return;
  }
  reclaim_to_goal(Reclaimer::background, SIZE_MAX);
}

TALUS_USUAL void decay_once(uint64_t turns, DecayTally& tally) noexcept {
  purge_in_background(turns, tally);
  reclaim_if_much();
  tally.left += tally.free_in_slabs;
  Held held{space.lock()};
  tally.left += space.dirty_bytes();
}

// How much other processes need the memory.
enum class Pressure : uint8_t { none, high };

// One pass. Returns the milliseconds until the next is due; 0: there is nothing left to do.
TALUS_USUAL uint32_t decay_pass(Pressure pressure = Pressure::none) noexcept {
  const uint64_t now = os::System::now_ms();
  if (!purge_request.is_served.load_own()) {  // first pass; only this thread writes it
    purge_request.is_served.store_own(true);
    purge_request.is_much.store_hint(false);
    decay_state = Decay{now, 0, 0};
    return static_cast<uint32_t>(turn_ms());
  }
  decay_clock.store_own(static_cast<uint16_t>(decay_clock.load_own() + 1));
  DecayTally tally;
  decay_once(turns_due(now), tally);
  if (pressure == Pressure::high) purge_under_pressure();
  const bool has_grown = tally.left > decay_state.left + purge_request_bytes_min / 4;
  decay_state.left = tally.left;
  const bool is_quiet = tally.purged == 0 && !has_grown;
  decay_state.quiet_passes = is_quiet ? decay_state.quiet_passes + 1 : 0;
  if (tally.left < purge_request_bytes_min / 4 && decay_state.quiet_passes >= passes_before_end) {
    // From here on other threads start a background thread; one last look finds what they freed
    // before.
    purge_request.is_served.store_release(false);
    DecayTally last;
    decay_once(0, last);
    if (last.left < purge_request_bytes_min) return 0;
    purge_request.is_served.store_own(true);
  }
  // Memory in steady use is looked at less often.
  const bool is_calm = decay_state.quiet_passes > passes_before_calm;
  return static_cast<uint32_t>(is_calm ? 2 * turn_ms() : turn_ms());
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_DECAY_HPP
