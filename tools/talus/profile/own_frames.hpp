// SPDX-License-Identifier: MIT
//
// Owns: which frames of a stack are the allocator's own, and are of no use to its reader.
// Invariant: a stack keeps at least one frame.
// Must not know: forms of output.

#ifndef TALUS_TOOLS_TALUS_PROFILE_OWN_FRAMES_HPP
#define TALUS_TOOLS_TALUS_PROFILE_OWN_FRAMES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "profile/code_names.hpp"
#include "profile/debug_lines.hpp"
#include "profile/samples.hpp"

namespace talus::tool {

// Drops the frames of the allocator, which are the innermost. `object` carries Talus.
void drop_own_frames(std::vector<Place>& places, const std::string& object, CodeNames& names);

// The lines of the call that returns to `frame`, innermost first, without functions of the
// allocator that were inlined there. Never empty: an unknown one is named after its file.
std::vector<CodeLine> lines_of_frame(uint64_t frame, CodeNames& names);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_PROFILE_OWN_FRAMES_HPP
