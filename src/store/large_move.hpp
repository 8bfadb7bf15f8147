// SPDX-License-Identifier: MIT
// store/large_move: a large block moves to a larger range.
//
// The kernel moves its pages without a copy or new pages, if it is large enough. The new range gets
// head-room, so a block that keeps growing moves a logarithmic number of times.
// Owns: which blocks move by the kernel, and where to. Invariant: after a failure the block is
// untouched.
// Called on: the thread that resizes the block, without a lock. Must not know: slabs.
#ifndef TALUS_STORE_LARGE_MOVE_HPP
#define TALUS_STORE_LARGE_MOVE_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "store/large.hpp"
#include "store/move_pages.hpp"

namespace talus::core {

// Should the kernel move this block's contents? If so, begins the move.
inline bool begins_move_of_pages(const LargeBlock& large) noexcept {
  const size_t kept = large.usable_bytes;
  if (kept < remap_bytes_min || large.is_guarded || !space.may_purge_pages(large.base))
    return false;
  // Each move may cost the process a mapping: the more moves, the larger a block must be.
  Held held{space.lock()};
  const size_t doublings = large_pool.moved_count / 512;
  if (kept < remap_bytes_min << (doublings < 16 ? doublings : 16)) return false;
  large_pool.moved_count++;
  space.begin_move(held, large.slices * slice_bytes);
  return true;
}

// A range for a block that moves and may grow on; null: no memory. Where whole huge pages move, the
// new range keeps their alignment, and the block may end where a huge page ends.
inline LargeBlock* take_large_to_move(const LargeBlock& from, size_t bytes, bool is_moved,
                                      HeapId owner) noexcept {
  const size_t needed = divide_up(bytes, slice_bytes);
  size_t slices = needed + (needed >> headroom_shift);
  Placing placing;
  if (is_moved) placing.filling = Filling::moved;
  if (is_moved && from.usable_bytes >= 2 * arena_alignment) {
    placing.alignment = arena_alignment;
    placing.phase = from.base % arena_alignment;
    placing.is_request = true;
    const size_t end = round_up(placing.phase + slices * slice_bytes, arena_alignment);
    slices = (end - placing.phase) / slice_bytes;
  }
  Zeroed zeroed = Zeroed::no;
  LargeBlock* fresh = take_large(bytes, slices, placing, zeroed, owner);
  if (fresh != nullptr) return fresh;
  return take_large(bytes, needed, Placing{slice_bytes, placing.filling}, zeroed, owner);
}

// A large block on its way to a larger range. Pages that the kernel moves need no more memory on
// the way, so the block counts once until the old range is returned.
class LargeMove {
 public:
  explicit LargeMove(LargeBlock& from) noexcept
      : from_{from}, counted_bytes_{begins_move_of_pages(from) ? from.slices * slice_bytes : 0} {}
  LargeMove(const LargeMove&) = delete;
  LargeMove& operator=(const LargeMove&) = delete;
  ~LargeMove() {
    if (to_ != nullptr || counted_bytes_ == 0) return;
    Held held{space.lock()};
    space.end_move(held, counted_bytes_);
  }

  // False: there is no memory, and the block is untouched.
  [[nodiscard]] bool take_room(size_t bytes, HeapId owner) noexcept {
    TALUS_ASSERT(to_ == nullptr);
    to_ = take_large_to_move(from_, bytes, is_moved(), owner);
    return to_ != nullptr;
  }
  // The block at its new place, once there is room.
  LargeBlock& to() const noexcept { return *to_; }

  // Moves the contents. give_large() must follow, with the result.
  [[nodiscard]] MovedRange move() const noexcept {
    TALUS_ASSERT(to_ != nullptr && to_->usable_bytes >= from_.usable_bytes);
    const size_t kept = from_.usable_bytes;
    char* source = reinterpret_cast<char*>(from_.base);
    char* target = reinterpret_cast<char*>(to_->base);
    if (!is_moved() || !space.may_purge_pages(to_->base)) {
      copy_bytes(target, source, kept);
      return {0, counted_bytes_};
    }
    bool is_filled = false;
    if (kept >= arena_alignment) {
      Held held{space.lock()};
      is_filled = space.is_filled(held, range_of(from_));
    }
    // The whole range, but no further than there is room: the new head-room may be smaller.
    const size_t slices = from_.slices < to_->slices ? from_.slices : to_->slices;
    const size_t gone = move_pages(source, slices * slice_bytes, target, kept);
    Held held{space.lock()};
    space.note_moved(held, range_of(from_), range_of(*to_), is_filled);
    return {gone, counted_bytes_};
  }

 private:
  bool is_moved() const noexcept { return counted_bytes_ != 0; }  // by the kernel, not copied
  static Range range_of(const LargeBlock& large) noexcept {
    return Range{large.base, large.slices, Zeroed::no};
  }

  LargeBlock& from_;
  LargeBlock* to_ = nullptr;
  size_t counted_bytes_;  // by Space::begin_move
};

// Tells modes which contents of the old range were copied and are still there.
inline void note_moved_from(const LargeBlock& from, const MovedRange& moved) noexcept {
  if (moved.gone_bytes >= from.usable_bytes) return;
  note_cut(reinterpret_cast<char*>(from.base) + moved.gone_bytes,
           from.usable_bytes - moved.gone_bytes);
}

// Moves a large block outside instances to a new range that holds `bytes` with head-room. Null: no
// memory, and the block is untouched.
inline void* move_large(LargeBlock& large, size_t bytes) noexcept {
  LargeChange change{large};
  LargeMove move{large};
  if (!move.take_room(bytes, HeapId::none)) return nullptr;
  const MovedRange moved = move.move();
  note_moved_from(large, moved);
  change.end();
  give_large(large, moved);
  return start_of(move.to());
}

}  // namespace talus::core

#endif  // TALUS_STORE_LARGE_MOVE_HPP
