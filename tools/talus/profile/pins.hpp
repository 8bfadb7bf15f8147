// SPDX-License-Identifier: MIT
//
// Owns: which free memory the live blocks of each place in the program hold back.
// Invariant: estimates from samples, without a bias. The pinned bytes of all places sum to the free
// bytes on pages with live blocks.
// Must not know: forms of output.

#ifndef TALUS_TOOLS_TALUS_PROFILE_PINS_HPP
#define TALUS_TOOLS_TALUS_PROFILE_PINS_HPP

#include <span>

#include "observe/heap_pieces.hpp"
#include "profile/samples.hpp"

namespace talus::tool {

// A sampled block lies elsewhere. So each counts at the place where it would lie without a sample:
// an equal part of each page there, together with the live blocks that lie there now. `pieces` are
// those of the process, by address.
void add_pins(Samples& samples, std::span<const HeapPiece> pieces);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_PINS_HPP
