// SPDX-License-Identifier: MIT
// inspect/resident: which parts of the heap hold memory, as the kernel knows it.
//
//   look_at_arenas()      runs of arenas, in pieces: a slab, a large block, a free range
//     -> gather_pieces      what a piece is: the page map, under the space lock
//     -> add_piece          how much of it is resident: the kernel, without a lock
//
// A page that was never touched, was purged or is swapped out is not resident. A page that was only
// read is, though it is the kernel's page of zeros. A page with live and free blocks is split by
// their bytes.
// Owns: nothing; asks and adds up. Invariants: no lock is held while the kernel is asked. The parts
// sum to the total. The numbers are exact at a quiet point. In a running process, memory that
// changes hands during the look may count under `rest`.
// Looks at every page of the heap, and at every free block where only some pages of a slab are
// resident: for reports, not for loops.
// Called on: any thread, the background thread included.
#ifndef TALUS_INSPECT_RESIDENT_HPP
#define TALUS_INSPECT_RESIDENT_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/holes.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/large_state.hpp"
#include "heap/registry.hpp"
#include "heap/special.hpp"
#include "inspect/totals.hpp"

namespace talus::core {

// In bytes.
struct ResidentTotals {
  bool is_known = false;   // the kernel tells the truth
  size_t taken_small = 0;  // blocks outside their slabs
  size_t free_in_slabs = 0;
  size_t live_large = 0;
  size_t kept_large = 0;
  size_t retained = 0;
  size_t metadata = 0;
  size_t rest = 0;  // ends of slabs and of large ranges, and what changed hands
  size_t total() const noexcept {
    return taken_small + free_in_slabs + live_large + kept_large + retained + metadata + rest;
  }
};

// The kernel's answer about a few pages.
class PageLook {
 public:
  static constexpr size_t pages_max = 2048;

  // Resident bytes of a range of whole pages.
  size_t bytes_in(uintptr_t at, size_t bytes) noexcept {
    const size_t page = os::page_bytes();
    size_t found = 0;
    while (bytes > 0) {
      const size_t part = bytes < pages_max * page ? bytes : pages_max * page;
      if (look(at, part)) {
        for (size_t i = 0; i < part / page; i++) found += (pages_[i] & 1) * page;
      }
      at += part;
      bytes -= part;
    }
    return found;
  }
  // Asks about at most pages_max pages, for overlap().
  bool look(uintptr_t at, size_t bytes) noexcept {
    base_ = at;
    return os::System::look_for_pages(reinterpret_cast<const void*>(at), bytes, pages_);
  }
  // Resident bytes from one address to another, within the range of the last look.
  size_t overlap(uintptr_t from, uintptr_t to) const noexcept {
    const size_t page = os::page_bytes();
    size_t found = 0;
    while (from < to) {
      const uintptr_t page_end = round_down(from, page) + page;
      const uintptr_t end = page_end < to ? page_end : to;
      if ((pages_[(from - base_) / page] & 1) != 0) found += end - from;
      from = end;
    }
    return found;
  }

 private:
  uintptr_t base_ = 0;
  unsigned char pages_[pages_max];
};
static_assert(slab_bytes_max() <= PageLook::pages_max * page_bytes_min &&
                  fitted_slab_bytes_max <= PageLook::pages_max * page_bytes_min,
              "a slab is looked at at once");

// Some kernels that stand in for Linux say that every page is resident.
inline bool kernel_tells_pages() noexcept {
  static constexpr uint8_t unknown = 0, no = 1, yes = 2;
  static Atomic<uint8_t> shared_answer;
  uint8_t answer = shared_answer.load_init();  // all threads find the same
  if (answer != unknown) return answer == yes;
  const size_t page = os::page_bytes();
  void* untouched = os::map_pages(nullptr, page);
  if (untouched == nullptr) return false;
  unsigned char first = 1;
  const bool is_told = os::System::look_for_pages(untouched, page, &first);
  os::System::unmap(untouched, page);
  answer = is_told && (first & 1) == 0 ? yes : no;
  shared_answer.store_init(answer);
  return answer == yes;
}

enum class PieceKind : uint8_t { slab, live_large, kept_large, of_mode, free_range, other };

struct ArenaPiece {
  uintptr_t base = 0;
  size_t bytes = 0;
  size_t front_bytes = 0;      // before a large block, or the first block of a slab
  size_t end_bytes = 0;        // where it ends
  const Slab* slab = nullptr;  // only for a slab
  PieceKind kind = PieceKind::other;
};

// What begins at this slice; `other`, one slice, if nothing does. The caller holds the space lock,
// but owners change the size of their large blocks without it.
TALUS_NO_RACE_CHECK inline ArenaPiece piece_at(uintptr_t at) noexcept {
  ArenaPiece piece;
  piece.base = at;
  piece.bytes = slice_bytes;
  const void* found = page_map.descriptor_of(at);
  if (found == nullptr) return piece;
  const PageEntry word = page_map.word_of(at);
  if (is_special(word)) {  // of an area with sampled blocks, or of a region in a large block
    piece.kind = PieceKind::of_mode;
    return piece;
  }
  if (word.is_slab()) {
    const auto* slab = static_cast<const Slab*>(found);
    if (slab->range_base() != at) return piece;
    piece.kind = PieceKind::slab;
    piece.front_bytes = slab->base - at;
    piece.slab = slab;
    piece.bytes = slab->bytes();
  } else if (word.is_large()) {
    const auto* large = static_cast<const LargeBlock*>(found);
    if (large->base != at) return piece;
    const bool is_kept = large->state.load_hint() == LargeState::kept;
    piece.kind = is_kept ? PieceKind::kept_large : PieceKind::live_large;
    piece.bytes = large->slices * slice_bytes;
    piece.front_bytes = large->front_bytes;
    piece.end_bytes = piece.front_bytes + large->usable_bytes;
  } else {
    const auto* range = static_cast<const FreeRange*>(found);
    if (range->base != at) return piece;
    piece.kind = PieceKind::free_range;
    piece.bytes = range->slices * slice_bytes;
  }
  return piece;
}

inline constexpr size_t pieces_at_a_time = 16;

// The pieces from `at` to `end`, as many as fit; `at` becomes their end.
inline size_t gather_pieces(uintptr_t& at, uintptr_t end, ArenaPiece* pieces) noexcept {
  Held held{space.lock()};
  size_t count = 0;
  while (at < end) {
    ArenaPiece piece = piece_at(at);
    if (piece.bytes == 0) piece.bytes = slice_bytes;  // a torn look must advance, too
    if (piece.bytes > end - at) piece.bytes = end - at;
    const bool is_slice = piece.kind == PieceKind::other || piece.kind == PieceKind::of_mode;
    const bool is_more = count > 0 && is_slice && pieces[count - 1].kind == piece.kind;
    if (!is_more && count == pieces_at_a_time) break;
    if (is_more) {
      pieces[count - 1].bytes += piece.bytes;
    } else {
      pieces[count++] = piece;
    }
    at += piece.bytes;
  }
  return count;
}

// The slab may change meanwhile; its descriptor still describes a slab of this class.
TALUS_NO_RACE_CHECK inline void add_slab(ResidentTotals& totals, PageLook& look,
                                         const ArenaPiece& piece) noexcept {
  const SizeClass& row = size_class_row(piece.slab->class_id);
  if (!look.look(piece.base, piece.bytes)) return;
  const size_t resident = look.overlap(piece.base, piece.base + piece.bytes);
  const size_t blocks_bytes = size_t{row.block_count} * row.block_bytes;
  const uintptr_t first_block = piece.base + piece.front_bytes;
  const size_t end = look.overlap(piece.base, first_block) +
                     look.overlap(first_block + blocks_bytes, piece.base + piece.bytes);
  size_t free = 0;
  if (resident == piece.bytes) {
    free = size_t{piece.slab->free_count} * row.block_bytes;
  } else if (resident != 0) {
    for (uint32_t word = 0; word < row.bitmap_words; word++) {
      uint64_t bits = word_of_bitmap(*piece.slab, word);
      while (bits != 0) {  // run by run
        const unsigned first = lowest_bit(bits);
        const uint64_t taken = ~(bits >> first);
        const unsigned length = taken == 0 ? 64 : lowest_bit(taken);
        const uintptr_t from = first_block + (word * 64 + first) * size_t{row.block_bytes};
        free += look.overlap(from, from + length * size_t{row.block_bytes});
        bits &= ~(low_bits(length) << first);
      }
    }
  }
  if (free > resident - end) free = resident - end;
  totals.free_in_slabs += free;
  totals.rest += end;
  totals.taken_small += resident - end - free;
}

inline void add_piece(ResidentTotals& totals, PageLook& look, const ArenaPiece& piece) noexcept {
  if (piece.kind == PieceKind::slab) return add_slab(totals, look, piece);
  if (piece.kind == PieceKind::live_large) {
    // A block has all of the page in which it begins. A torn look stays within the piece.
    const size_t page = os::page_bytes();
    const size_t end =
        piece.end_bytes < piece.bytes ? round_down(piece.end_bytes, page) : piece.bytes;
    const size_t from = piece.front_bytes < end ? round_down(piece.front_bytes, page) : 0;
    totals.rest += look.bytes_in(piece.base, from);
    totals.live_large += look.bytes_in(piece.base + from, end - from);
    totals.rest += look.bytes_in(piece.base + end, piece.bytes - end);
    return;
  }
  const size_t resident = look.bytes_in(piece.base, piece.bytes);
  if (piece.kind == PieceKind::kept_large) {
    totals.kept_large += resident;
  } else if (piece.kind == PieceKind::of_mode) {
    totals.live_large += resident;
  } else if (piece.kind == PieceKind::free_range) {
    totals.retained += resident;
  } else {
    totals.rest += resident;
  }
}

// The arena that begins, or (with `is_end`) ends, at this address; null: none.
inline const ListedArena* arena_at(const ListedArena* newest, uintptr_t address,
                                   bool is_end) noexcept {
  for (; newest != nullptr; newest = newest->next) {
    const Arena& arena = newest->arena;
    if (address == (is_end ? arena.base + arena.bytes : arena.base)) return newest;
  }
  return nullptr;
}

// Free ranges may cross from one arena into the next, so neighbours are one walk.
inline void look_at_arenas(ResidentTotals& totals, PageLook& look,
                           const ListedArena* newest) noexcept {
  for (const ListedArena* first = newest; first != nullptr; first = first->next) {
    if (arena_at(newest, first->arena.base, true) != nullptr) continue;
    uintptr_t at = first->arena.base;
    uintptr_t end = at + first->arena.bytes;
    while (const ListedArena* more = arena_at(newest, end, false)) end += more->arena.bytes;
    while (at < end) {
      ArenaPiece pieces[pieces_at_a_time];
      const size_t count = gather_pieces(at, end, pieces);
      for (size_t i = 0; i < count; i++) add_piece(totals, look, pieces[i]);
    }
  }
}

// Resident bytes of the whole pages in an object of the library's own data.
template <typename Object>
size_t resident_of_object(PageLook& look, const Object& object) noexcept {
  const size_t page = os::page_bytes();
  const uintptr_t from = round_up(reinterpret_cast<uintptr_t>(&object), page);
  const uintptr_t to = round_down(reinterpret_cast<uintptr_t>(&object + 1), page);
  return to > from ? look.bytes_in(from, to - from) : 0;
}

// Does an arena listed before `limit` lie in the same leaf of the page map?
inline bool is_leaf_known(const ListedArena* newest, const ListedArena* limit,
                          uintptr_t slot) noexcept {
  for (; newest != limit; newest = newest->next) {
    const Arena& arena = newest->arena;
    if (arena.base >> PageMap::root_shift <= slot &&
        (arena.base + arena.bytes - 1) >> PageMap::root_shift >= slot) {
      return true;
    }
  }
  return false;
}

inline size_t resident_of_piece(PageLook& look, const PageMap::Piece& piece) noexcept {
  if (piece.base == nullptr) return 0;
  return look.bytes_in(reinterpret_cast<uintptr_t>(piece.base), piece.bytes);
}

// Chunks, the page map's window and leaves, and the two large objects among the library's data.
inline void look_at_metadata(ResidentTotals& totals, PageLook& look, const MetadataChunk* chunk,
                             const ListedArena* newest) noexcept {
  for (; chunk != nullptr; chunk = chunk->next) {
    const size_t bytes = look.bytes_in(reinterpret_cast<uintptr_t>(chunk), chunk->bytes);
    totals.metadata += bytes;
    if (chunk->is_in_arena) totals.rest = less_or_none(totals.rest, bytes);
  }
  for (const ListedArena* at = newest; at != nullptr; at = at->next) {
    uintptr_t slot = at->arena.base >> PageMap::root_shift;
    const uintptr_t last = (at->arena.base + at->arena.bytes - 1) >> PageMap::root_shift;
    for (; slot <= last; slot++) {
      if (is_leaf_known(newest, at, slot)) continue;
      totals.metadata += resident_of_piece(look, page_map.leaf_of(slot << PageMap::root_shift));
    }
  }
  totals.metadata += resident_of_piece(look, page_map.window());
  totals.metadata += resident_of_object(look, page_map) + resident_of_object(look, registry);
}

inline ResidentTotals collect_resident() noexcept {
  ResidentTotals totals;
  totals.is_known = kernel_tells_pages();
  if (!totals.is_known) return totals;
  const ListedArena* arenas = nullptr;
  const MetadataChunk* chunks = nullptr;
  {
    Held held{space.lock()};
    arenas = space.newest_arena(held);
    chunks = space.newest_metadata(held);
  }
  PageLook look;
  look_at_arenas(totals, look, arenas);
  look_at_metadata(totals, look, chunks, arenas);
  return totals;
}

}  // namespace talus::core

#endif  // TALUS_INSPECT_RESIDENT_HPP
