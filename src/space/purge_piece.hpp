// SPDX-License-Identifier: MIT
// space/purge_piece: what of a dirty range to give to the kernel next.
//
// Owns: the sizes of the pieces. Patient purging takes a huge page or less, so that the kernel is
// never busy for long, and tears none; urgent purging takes more in one call, as far as that
// takes no longer than a millisecond or two.
// Called on: under the space lock. Must not know: why memory goes.
#ifndef TALUS_SPACE_PURGE_PIECE_HPP
#define TALUS_SPACE_PURGE_PIECE_HPP

#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus {

struct PurgePiece {
  uintptr_t base = 0;  // 0: the range is better left alone
  size_t granules = 0;
};

constexpr size_t urgent_piece_bytes(size_t bytes_wanted) noexcept {
  const size_t bytes = round_up(bytes_wanted, arena_alignment);
  return bytes < urgent_piece_bytes_max ? bytes : urgent_piece_bytes_max;
}

// From the end of the range. `is_huge`: huge pages were asked for where it begins.
inline PurgePiece choose_piece(const FreeRange& range, size_t bytes_wanted, Haste haste,
                               bool is_huge) noexcept {
  uintptr_t end = range.end();
  const size_t most = haste == Haste::urgent ? urgent_piece_bytes(bytes_wanted) : arena_alignment;
  uintptr_t base = round_down(end - 1, arena_alignment) - (most - arena_alignment);
  if (haste == Haste::patient && is_huge) {
    end = round_down(end, arena_alignment);
    base = end - arena_alignment;
    if (end <= range.base || base < range.base) return {};
  } else {
    if (base < range.base || base > end) base = range.base;
    // Patient purging leaves what is in use; urgent purging saves calls.
    const bool is_exact = haste == Haste::patient && end - base > bytes_wanted;
    if (is_exact) base = end - round_up(bytes_wanted, granule_bytes);
  }
  return PurgePiece{base, (end - base) / granule_bytes};
}

}  // namespace talus

#endif  // TALUS_SPACE_PURGE_PIECE_HPP
