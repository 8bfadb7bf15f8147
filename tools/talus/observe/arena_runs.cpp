// SPDX-License-Identifier: MIT
//
// Owns: see arena_runs.hpp.
// Invariant: see arena_runs.hpp.
// Must not know: see arena_runs.hpp.

#include "observe/arena_runs.hpp"

#include <map>

#include "observe/chain.hpp"

namespace talus::tool {

std::vector<ArenaRun> read_arena_runs(Look& look, const Layout& layout) {
  constexpr size_t arenas_max = size_t{1} << 20;
  const uint64_t slice_bytes = layout.constant("slice.bytes");
  const View space(layout, "space", {"arenas"});
  const View arena(layout, "arena", {"base", "bytes", "next"});
  std::map<uint64_t, uint64_t> ends;
  uint64_t at = space.get(space.read(look, layout.root("space")), 0);
  for (Chain chain("a list of arenas", arenas_max); at != 0;) {
    chain.pass(at);
    const char* const copy = arena.read(look, at);
    const uint64_t base = arena.get(copy, 0), bytes = arena.get(copy, 1);
    if (base % slice_bytes != 0 || bytes > arena_bytes_max) throw Implausible("an arena");
    ends[base] = base + bytes;
    at = arena.get(copy, 2);
  }
  std::vector<ArenaRun> runs;
  for (const auto& [base, end] : ends) {
    if (!runs.empty() && runs.back().end == base) {
      runs.back().end = end;
    } else {
      runs.push_back({base, end});
    }
  }
  return runs;
}

}  // namespace talus::tool
