// SPDX-License-Identifier: MIT
// retention/goal: how much free memory may stay. All code that gives memory back works to this.
//
// Owns: the formula. All values are bytes; x - y is 0 where y is larger.
//
//   D  free ranges that were touched ("dirty"); address space counts them
//   S  free blocks in slabs, with pages; heaps report them (heap/purge_request.hpp)
//   G  given: ranges with users, which are slabs and large blocks
//   M  given twice, while the kernel moves contents from one range to another
//   R  the option retain_bytes
//
// What the program needs besides what it has now:
//
//   U    = G - (S + M)                  in use now
//   F    = U + min(S, U/8)              footprint: any heap may keep an eighth between its blocks
//   P    = the most of F in this turn and the last four (base/high_mark.hpp), or in a burst that
//          is expected again (retention/bursts.hpp)
//   L    = P - U                        was in use lately, together with what is in use now
//   B    = refault feedback (retention/refault.hpp): 3/2 of what was kept, for a second after the
//          program took back half of what was purged; otherwise 0
//
// The goal. Thread lists, caches of large blocks and rests of huge pages are resident, but in no
// sum. Where slabs keep much, a part of the bound is theirs:
//
//   c(x) = x/8 + x/16 if S > x/8, else 0
//   S + D <= max(T - c(T), L, B)        with T = max(R, G/8); the rest is the excess E
//   D     <= max(max(R - c(R), L, B) - S, (R - c(R))/16)
//
// With retain_bytes=0 or decay_ms=0 nothing is kept: B = 0, and D <= 0.
// Above a soft limit Z, G + D <= Z holds in place of these, and E is all there is.
//
// Two modes work to the goal:
//
//   background  The background thread purges the surplus each turn: the least of D, and of S of
//               each heap, during the last four turns. That much was free even at the worst moment.
//               What a burst is expected to need is no surplus: S + D - (P - U) is the most. Then
//               it purges E, if this is 64 KiB or more. P is the peak of its turns.
//   forced      The thread that frees or allocates purges at once. Ranges go down to the bound of
//               D, slabs by half a MiB of E at a time. P is also the peak before the last turn. So
//               what is too much only because time passed is the background thread's for one turn.
//
// What starts them:
//
//   purge request           D, or S of all heaps, is 2 MiB: the background thread starts. E is
//                           64 KiB: the next slow path reclaims (heap/purge_request.hpp).
//   futile-reclaim backoff  A reclaim of slabs that purged less than half of what it should is not
//                           repeated for 20 ms, unless E grew by half a MiB (retention/futile.hpp).
//
// The sources of free memory, and the order in which they are walked: reclaim/sources.hpp.
// Called on: any thread. Must not know: where the memory lies, and what time it is.
#ifndef TALUS_RETENTION_GOAL_HPP
#define TALUS_RETENTION_GOAL_HPP

#include "base/base.hpp"

namespace talus::core {

struct ReclaimGoal {
  size_t given = 0;            // G
  size_t free_in_slabs = 0;    // S
  size_t moving = 0;           // M
  size_t retain = 0;           // R
  size_t footprint_most = 0;   // P
  size_t refaulted = 0;        // B; 0 where nothing is kept
  bool keeps_nothing = false;  // retain_bytes=0 or decay_ms=0

  // U
  constexpr size_t in_use() const noexcept { return less(given, free_in_slabs + moving); }
  // F
  constexpr size_t footprint() const noexcept {
    const size_t used = in_use();
    return used + (free_in_slabs < used / 8 ? free_in_slabs : used / 8);
  }
  // The bound of D.
  constexpr size_t ranges_max() const noexcept {
    if (keeps_nothing) return 0;
    const size_t most = retain - uncounted(retain);
    const size_t bound = Greater::of(most, needed_again());
    return Greater::of(less(bound, free_in_slabs), most / 16);
  }
  // The bound of S + D.
  constexpr size_t total_max() const noexcept {
    const size_t bound = Greater::of(retain, given / 8);
    return Greater::of(bound - uncounted(bound), needed_again());
  }
  // E, where ranges have `dirty` bytes.
  constexpr size_t excess(size_t dirty) const noexcept {
    return less(free_in_slabs + dirty, total_max());
  }

 private:
  static constexpr size_t less(size_t value, size_t bytes) noexcept {
    return value > bytes ? value - bytes : 0;
  }
  // max(L, B)
  constexpr size_t needed_again() const noexcept {
    return Greater::of(less(footprint_most, in_use()), refaulted);
  }
  // c(bound)
  constexpr size_t uncounted(size_t bound) const noexcept {
    return free_in_slabs > bound / 8 ? bound / 8 + bound / 16 : 0;
  }
};

}  // namespace talus::core

#endif  // TALUS_RETENTION_GOAL_HPP
