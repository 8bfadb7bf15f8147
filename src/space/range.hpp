// SPDX-License-Identifier: MIT
// space/range: what address space gives out, and what it counts.
//
// Owns: nothing. Must not know: how ranges are found.
#ifndef TALUS_SPACE_RANGE_HPP
#define TALUS_SPACE_RANGE_HPP

#include "base/base.hpp"

namespace talus::core {

// A range that was given out. `base` 0 means there was no memory.
struct Range {
  uintptr_t base = 0;
  size_t slices = 0;
  Zeroed zeroed = Zeroed::no;  // yes: all its bytes read as zero
};

// Background purging leaves parts of huge pages alone; forced purging takes all it finds.
enum class PurgeMode : uint8_t { background, forced };

// Counters for statistics; all in bytes except the two counts. Written under the space lock.
struct SpaceCounters {
  size_t reserved_bytes = 0;  // address space in arenas
  size_t reserved_peak_bytes = 0;
  size_t given_bytes = 0;  // with users
  size_t given_peak_bytes = 0;
  size_t purged_bytes = 0;  // purged so far
  size_t purge_count = 0;
  size_t arena_count = 0;
  size_t change_count = 0;  // grows whenever a range has another user; for readers from outside
};

}  // namespace talus::core

#endif  // TALUS_SPACE_RANGE_HPP
