// SPDX-License-Identifier: MIT
//
// Owns: the list of calls and options that make processes smaller.
// Invariant: see advice.hpp.
// Must not know: how advice is shown.

#include "why/advice.hpp"

#include <algorithm>

namespace talus::tool {
namespace {

// Less is not worth a change.
constexpr uint64_t bytes_min = uint64_t{256} << 10;
constexpr uint64_t share_min = 100;  // a hundredth of all

// What preset=small keeps of free memory (docs/options.md, retain_bytes).
constexpr uint64_t small_retain_bytes = uint64_t{8} << 20;

uint64_t beyond(uint64_t bytes, uint64_t bound) { return bytes > bound ? bytes - bound : 0; }

}  // namespace

std::vector<Advice> advise(const Picture& picture) {
  if (!picture.is_resident) return {};
  const uint64_t lists = std::min(picture.list_excess_bytes, picture.part("lists"));
  const uint64_t retained =
      beyond(picture.part("ranges") + picture.part("kept"), small_retain_bytes);
  std::vector<Advice> all = {
      {"trim", "talus ctl PID trim, or malloc_trim(0) in the program",
       "purges, once, all free memory", picture.purgeable_bytes},
      {"preset_small", "TALUS_PRESET=small at its start",
       "keeps less free memory, and no huge pages", retained + lists + picture.huge_unused_bytes},
      {"retain_bytes", "TALUS_RETAIN_BYTES=8MiB at its start", "keeps less free memory", retained},
      {"list_bytes", "TALUS_LIST_BYTES=4KiB at its start", "threads hold fewer free blocks", lists},
      {"thp", "TALUS_THP=never at its start", "leaves untouched pages without memory",
       picture.huge_unused_bytes}};
  const uint64_t least = std::max(bytes_min, picture.total / share_min);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [least](const Advice& advice) { return advice.bytes < least; }),
            all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Advice& a, const Advice& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace talus::tool
