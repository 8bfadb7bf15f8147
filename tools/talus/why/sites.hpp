// SPDX-License-Identifier: MIT
//
// Owns: the places in the program that matter most to its memory, where it has a heap profile.
// Invariant: numbers are estimates from samples.
// Must not know: which view shows them.

#ifndef TALUS_TOOLS_TALUS_WHY_SITES_HPP
#define TALUS_TOOLS_TALUS_WHY_SITES_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "observe/heap_pieces.hpp"
#include "observe/target.hpp"

namespace talus::tool {

struct SitePicture {
  std::string name;        // a function, and its callers
  uint64_t live = 0;       // bytes that the program asked for
  uint64_t pinned = 0;     // free bytes on the pages of its blocks
  uint64_t purgeable = 0;  // that a purge would give without its blocks, at least
};

constexpr size_t sites_that_matter = 3;

// Those with most live and pinned bytes first. Empty: the process has no profile.
std::vector<SitePicture> see_sites(const Target& target, std::span<const HeapPiece> pieces);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_WHY_SITES_HPP
