// SPDX-License-Identifier: MIT
//
// Owns: the arenas of another process, as runs of addresses.
// Invariant: runs are by address and do not touch.
// Must not know: what lies in arenas.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_ARENA_RUNS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_ARENA_RUNS_HPP

#include <cstdint>
#include <vector>

#include "observe/layout.hpp"

namespace talus::tool {

struct ArenaRun {
  uint64_t base, end;
};

// More is no arena, and no chunk of metadata.
constexpr uint64_t arena_bytes_max = uint64_t{1} << 46;

// Free ranges may cross from one arena into the next, so neighbours are one run.
std::vector<ArenaRun> read_arena_runs(Look& look, const Layout& layout);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_ARENA_RUNS_HPP
