// SPDX-License-Identifier: MIT
//
// Owns: the address space of Talus in another process as a row of pieces: slabs, large blocks, free
// ranges and metadata, each with the state of its pages.
// Invariants: pieces do not overlap. The resident parts of a piece sum to its resident bytes.
// Must not know: where pieces are found, and how they are shown.

#ifndef TALUS_TOOLS_TALUS_OBSERVE_HEAP_PIECES_HPP
#define TALUS_TOOLS_TALUS_OBSERVE_HEAP_PIECES_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "observe/page_presence.hpp"

namespace talus::tool {

enum class PieceUse : uint8_t {
  slab,
  live_large,
  kept_large,       // freed, and kept by a thread
  free_range,       // free, may be resident
  untouched_range,  // free; only a huge page makes it resident
  metadata,
  other,       // blocks of modes and providers, guards
  sample_area  // shared by blocks that the heap profile samples
};

// One page: whether it is resident, and how many 64ths of it are live, rounded up.
struct PageState {
  static constexpr uint8_t resident = 0x80;
  static constexpr uint8_t live_most = 64;
};

struct HeapPiece {
  uint64_t base = 0, bytes = 0;
  PieceUse use = PieceUse::other;
  uint64_t heap = 0;         // of a slab: the number of its heap; instances come behind heaps
  uint64_t block_bytes = 0;  // of each block of a slab, or of the large block
  // Blocks of a slab; of an area the live ones alone. Those that wait are free, in lists of threads
  // or on their way home.
  uint64_t block_count = 0, live_count = 0, waiting_count = 0;
  // Resident bytes; the parts: of live blocks, of blocks that wait, of free ones, and the rest.
  uint64_t resident = 0, live = 0, waiting = 0, free = 0, end = 0;
  uint64_t front_bytes = 0;  // of a slab: before its first block
  uint64_t room_bytes = 0;   // of an area: where no block lies, resident or not
  // Resident pages without a byte of a live block; and of `free` what lies there.
  uint64_t free_pages = 0, free_alone = 0;
  std::vector<bool> is_live;   // of each block of a slab
  std::vector<uint8_t> pages;  // a PageState each; empty: none is resident
  // Of a slab: decay passes since a block was last taken from it. Empty: unknown.
  std::optional<uint64_t> age_passes;

  uint64_t limit() const { return base + bytes; }
};

// What a look notes of pieces, beside its numbers.
struct PieceNotes {
  std::vector<HeapPiece> pieces;   // by address, once all are noted
  std::vector<uint64_t> waiting;   // addresses of blocks that wait, by address
  uint64_t list_excess_bytes = 0;  // in lists, beyond what preset=small allows
  bool are_pages_known = false;    // false: all are taken as resident
  uint64_t pass_ms = 0;            // the least time from one decay pass to the next; 0: unknown
};

// The blocks of a slab: where they lie, and those that are free within it.
struct SlabBlocks {
  uint64_t block_bytes, block_count;
  const char* free_bits;
  uint64_t front_bytes = 0;  // before the first block
};

// `pages` has looked at the piece. The piece has its base, its bytes and its use.
void fill_slab(HeapPiece& piece, const SlabBlocks& blocks, std::span<const uint64_t> waiting,
               const PagePresence& pages);
// `blocks` lie in the piece, at offsets; each has whole units.
struct AreaBlock {
  uint64_t offset, bytes;
};
void fill_area(HeapPiece& piece, std::span<const AreaBlock> blocks, uint64_t unit_bytes,
               const PagePresence& pages);
// `front` to `usable_end` is the block, as distances from the base.
void fill_large(HeapPiece& piece, uint64_t front, uint64_t usable_end, const PagePresence& pages);
// All of a piece without blocks.
void fill_plain(HeapPiece& piece, const PagePresence& pages);

// Sorts the pieces. Slices of unknown use within metadata become part of it.
void settle_pieces(PieceNotes& notes);

}  // namespace talus::tool

#endif  // TALUS_TOOLS_TALUS_OBSERVE_HEAP_PIECES_HPP
