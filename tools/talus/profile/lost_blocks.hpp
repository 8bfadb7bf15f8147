// SPDX-License-Identifier: MIT
//
// Owns: which sampled blocks of a stopped process no word of its memory points to any more.
// Invariant: a block to which a word may point is not lost. What is left out: the profile's own
// records, the allocator's notes, and the part of the stack that is no longer in use.
// Must not know: what is done with lost blocks.

#ifndef TALUS_TOOLS_TALUS_PROFILE_LOST_BLOCKS_HPP
#define TALUS_TOOLS_TALUS_PROFILE_LOST_BLOCKS_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "profile/exit_watch.hpp"
#include "profile/heap_source.hpp"
#include "profile/samples.hpp"

namespace talus::tool {

// Only the lost blocks of `samples` stay, as live ones.
Samples only_lost(const HeapSource& source, const Samples& samples, const ExitMoment& moment);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_LOST_BLOCKS_HPP
