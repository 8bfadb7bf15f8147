// SPDX-License-Identifier: MIT
// space/purge_piece: which piece of a dirty range to purge next.
//
// Owns: the sizes of the pieces. Background purging takes a huge page or less, so that the kernel
// is never busy for long, and tears no huge page. Forced purging tears one only where the oldest
// ranges have no whole ones (RangePurger::next_source), and takes more in one call. It doubles the
// size as long as the kernel finds little to do: where few pages were ever touched, the calls are
// the cost. The kernel refuses pages that the program locked in memory, and freed. Then the next
// piece is half as large, down to a slice, so that all the rest is purged. A refused slice is
// passed over. Around it pieces of huge pages are purged, too: the lock has torn these already.
// Called on: under the space lock. Must not know: why memory is purged.
#ifndef TALUS_SPACE_PURGE_PIECE_HPP
#define TALUS_SPACE_PURGE_PIECE_HPP

#include "base/base.hpp"
#include "space/range.hpp"
#include "space/range_index.hpp"

namespace talus::core {

struct PurgePiece {
  uintptr_t base = 0;  // 0: the range is better left alone
  size_t slices = 0;
};

// The addresses of a dirty range that may be purged.
struct PurgePart {
  uintptr_t base, end;

  bool is_empty() const noexcept { return base >= end; }
  static PurgePart all_of(const FreeRange& range) noexcept { return {range.base, range.end()}; }
};

// How much one call may take.
class PurgePace {
 public:
  PurgePace(PurgeMode mode, uint64_t now_ns) noexcept : mode_{mode}, last_ns_{now_ns} {}

  PurgeMode mode() const noexcept { return mode_; }
  size_t piece_bytes(size_t bytes_wanted) const noexcept {
    if (mode_ == PurgeMode::background) return most_ < arena_alignment ? most_ : arena_alignment;
    const size_t bytes = round_up(bytes_wanted, arena_alignment);
    return bytes < most_ ? bytes : most_;
  }
  // A call for `bytes` is over.
  void note_call(size_t bytes, uint64_t now_ns) noexcept {
    if (now_ns - last_ns_ >= light_purge_ns) {
      if (most_ > urgent_piece_bytes) most_ = urgent_piece_bytes;
    } else if (bytes >= most_ && most_ < light_piece_bytes_max) {
      most_ *= 2;
    }
    last_ns_ = now_ns;
  }
  void note_refusal(const PurgePiece& piece) noexcept {
    refused_ = piece.base;
    if (piece.slices == 1) passed_over_ = piece.base;
    most_ = piece.slices > 1 ? piece.slices / 2 * slice_bytes : slice_bytes;
  }
  // Where pieces of this part end.
  uintptr_t end_in(const PurgePart& part) const noexcept {
    return part.base <= passed_over_ && passed_over_ < part.end ? passed_over_ : part.end;
  }
  // The kernel refused all that is left of the part.
  bool has_passed_over(const PurgePart& part) const noexcept { return end_in(part) == part.base; }
  bool met_refusal() const noexcept { return refused_ != 0; }
  // Was a piece refused in the place of the huge page in which a range ends here?
  bool was_refused_in_place(uintptr_t end) const noexcept {
    return round_down(end - 1, arena_alignment) == round_down(refused_, arena_alignment);
  }

 private:
  PurgeMode mode_;
  uint64_t last_ns_;
  size_t most_ = urgent_piece_bytes;
  uintptr_t refused_ = 0;      // where the last refused piece began; 0: none was
  uintptr_t passed_over_ = 0;  // the last refused slice
};

// Chooses from the end of the part. `is_huge`: huge pages were asked for where the part begins.
inline PurgePiece choose_piece(const PurgePart& part, size_t bytes_wanted, const PurgePace& pace,
                               bool is_huge) noexcept {
  uintptr_t end = pace.end_in(part);
  if (end == part.base) return {};
  const PurgeMode mode = pace.mode();
  const size_t most = pace.piece_bytes(bytes_wanted);
  uintptr_t base = most < arena_alignment
                       ? end - most
                       : round_down(end - 1, arena_alignment) - (most - arena_alignment);
  if (mode == PurgeMode::background && is_huge && !pace.was_refused_in_place(end)) {
    end = round_down(end, arena_alignment);
    base = end - arena_alignment;
    if (end <= part.base || base < part.base) return {};
  } else {
    if (base < part.base || base > end) base = part.base;
    // Background purging takes no more than wanted; forced purging saves calls.
    const bool is_exact = mode == PurgeMode::background && end - base > bytes_wanted;
    if (is_exact) base = end - round_up(bytes_wanted, slice_bytes);
  }
  return PurgePiece{base, (end - base) / slice_bytes};
}

}  // namespace talus::core

#endif  // TALUS_SPACE_PURGE_PIECE_HPP
