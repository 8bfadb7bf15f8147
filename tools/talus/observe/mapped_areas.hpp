// SPDX-License-Identifier: MIT
//
// Owns: the mappings of a process with their resident memory, as /proc/PID/smaps tells it, and what
// each is for.
// Invariant: the resident bytes of all areas sum to the process's Rss.
// Must not know: Talus.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_MAPPED_AREAS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_MAPPED_AREAS_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace talus::tool {

enum class AreaUse : uint8_t { code, file, shared, stack, brk, anonymous, kernel };
constexpr size_t area_use_count = 7;

struct MappedArea {
  uint64_t begin = 0, end = 0;
  std::string permissions, path;
  AreaUse use = AreaUse::anonymous;
  uint64_t resident_bytes = 0, huge_bytes = 0, swapped_bytes = 0;
};

// By address. Empty: the kernel does not tell.
std::vector<MappedArea> read_areas(int pid);

// Bytes of tables by which the kernel finds the process's pages; beside Rss.
uint64_t page_table_bytes(int pid);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_MAPPED_AREAS_HPP
