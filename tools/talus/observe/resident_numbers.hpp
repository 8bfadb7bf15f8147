// SPDX-License-Identifier: MIT
//
// Owns: resident.* of another process, computed as the library does (src/inspect/resident.hpp).
// Invariant: the parts sum to the total.
// Must not know: how numbers are printed.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_RESIDENT_NUMBERS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_RESIDENT_NUMBERS_HPP

#include "observe/heap_numbers.hpp"
#include "observe/heap_pieces.hpp"
#include "observe/page_presence.hpp"

namespace talus::tool {

// Needs heap.* and process.resident_bytes. Fills in nothing where the kernel does not tell. With
// `notes`, the pieces are noted as well; where no kernel can tell, all their pages are resident.
void read_resident(Look& look, const Layout& layout, const SizeClasses& classes,
                   PageMapView& page_map, PagePresence& presence, Numbers& numbers,
                   PieceNotes* notes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_RESIDENT_NUMBERS_HPP
