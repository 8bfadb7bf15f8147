// SPDX-License-Identifier: MIT
//
// Owns: heap.*, space.*, calls.*, and the numbers of classes, threads and instances, of another
// process. Each is computed as the library computes it (src/inspect/totals.hpp,
// src/inspect/instance_totals.hpp, src/statistics/statistics.hpp).
// Invariant: every walk is bounded, and what cannot be is Implausible.
// Must not know: where the memory is read from.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_HEAP_NUMBERS_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_HEAP_NUMBERS_HPP

#include <string>
#include <vector>

#include "observe/heap_pieces.hpp"
#include "observe/layout.hpp"
#include "observe/memory.hpp"
#include "observe/numbers.hpp"
#include "observe/page_map_view.hpp"

namespace talus::tool {

// The constants of size classes, in their order.
struct SizeClasses {
  struct Row {
    uint64_t block_bytes, block_count, slab_slices, bitmap_words;
  };
  std::vector<Row> rows;
};
SizeClasses read_classes(Look& look, const Layout& layout);

// Reads the words first that change with every range that changes hands.
void begin_look(Look& look, const Layout& layout);

// Fills in all but process.* and resident.*. Returns the first sign that a thread was at work in
// the heap; empty: none was. With `notes`, blocks that wait are noted as well.
std::string read_heap(Look& look, const Layout& layout, const SizeClasses& classes,
                      PageMapView& page_map, Numbers& numbers, PieceNotes* notes);

// When the process began with Talus, by the monotonic clock.
uint64_t started_ns(Look& look, const Layout& layout);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_HEAP_NUMBERS_HPP
