// SPDX-License-Identifier: MIT
// space/random_start: where in its first huge page's place a process begins to take addresses.
//
// Arenas are aligned to huge pages, so the kernel's randomness ends above the place of a huge page.
// The first range that fits into its place therefore begins at a random slice there. What follows
// lies behind it, as without this file. The gap before it is taken when the place ends, before the
// next place begins. So the process touches no more places, and no more page tables.
// Owns: the choice, and the gap. Invariants: it is made once. A range that may hold a whole huge
// page keeps its alignment. A process that asks for huge pages left its first place before.
// Called on: under the space lock. Must not know: which ranges are free.
#ifndef TALUS_SPACE_RANDOM_START_HPP
#define TALUS_SPACE_RANDOM_START_HPP

#include "base/base.hpp"

namespace talus::core {

class RandomStart {
 public:
  static constexpr size_t place_bytes = arena_alignment;

  // The next range that fits into its place begins at random. `random`: 64 random bits.
  void begin(uint64_t random) noexcept { random_ = random | 1; }

  // Nothing is left to choose.
  bool is_over() const noexcept { return (random_ | gap_end_) == 0; }
  // Where to take `bytes` of untouched memory instead of at `first`, where a free range begins that
  // ends at `end`. The result lies in that range, or where another free range begins.
  // `free_at(address)`: the untouched bytes of the range that begins there, 0 if none does.
  uintptr_t choose(uintptr_t first, uintptr_t end, size_t bytes,
                   size_t (*free_at)(uintptr_t)) noexcept {
    if (is_over()) return first;
    return random_ != 0 ? choose_start(first, end, bytes) : choose_gap(first, bytes, free_at);
  }

 private:
  uintptr_t choose_start(uintptr_t first, uintptr_t end, size_t bytes) noexcept {
    const uintptr_t place_end = round_down(first, place_bytes) + place_bytes;
    const uintptr_t last = place_end < end ? place_end : end;
    if (bytes >= place_bytes || bytes > last - first) return first;
    const size_t starts = (last - first - bytes) / slice_bytes + 1;
    const uintptr_t start = first + (random_ >> 1) % starts * slice_bytes;
    random_ = 0;
    gap_ = first;
    gap_end_ = start != first ? start : 0;
    return start;
  }
  uintptr_t choose_gap(uintptr_t first, size_t bytes, size_t (*free_at)(uintptr_t)) noexcept {
    const uintptr_t last = round_up(gap_end_, place_bytes);
    const bool is_inside = first - (last - place_bytes) < place_bytes && first + bytes <= last;
    if (first != gap_ && (is_inside || free_at(gap_) < bytes)) return first;
    const uintptr_t taken = gap_;
    gap_ += bytes;
    if (gap_ >= gap_end_) gap_end_ = 0;
    return taken;
  }

  uint64_t random_ = 0;    // not 0: the choice is still to come
  uintptr_t gap_ = 0;      // what was not taken before the first range begins here
  uintptr_t gap_end_ = 0;  // and ends here; 0: there is no gap
};

}  // namespace talus::core

#endif  // TALUS_SPACE_RANDOM_START_HPP
