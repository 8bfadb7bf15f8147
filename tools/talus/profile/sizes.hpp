// SPDX-License-Identifier: MIT
//
// Owns: blocks by size class: what lists of threads counted, beside what samples estimate.
// Invariant: counts are exact while no thread allocates. Blocks of batches, of heaps that the
// program made and of header-only programs are not counted, and have estimates only.
// Must not know: how samples are read.

#ifndef TALUS_TOOLS_TALUS_PROFILE_SIZES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_SIZES_HPP

#include <cstdint>
#include <map>
#include <string>

#include "observe/numbers.hpp"
#include "profile/samples.hpp"

namespace talus::tool {

struct SizeCounts {
  uint64_t allocated = 0, live = 0;
};
using CountsBySize = std::map<uint64_t, SizeCounts>;  // by the bytes of a block, of small classes

// Of lists and slabs, with the blocks that were sampled and so lie elsewhere.
CountsBySize counts_by_size(const Numbers& numbers, const Samples& samples);

// A row for each class, and one for all.
std::string show_sizes(const CountsBySize& counts, const Samples& samples);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_SIZES_HPP
