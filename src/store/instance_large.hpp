// SPDX-License-Identifier: MIT
// store/instance_large: large blocks of instances.
//
// Owns: each instance's list of its large blocks, so that all can be freed at once, and their share
// of its limit. Invariants: a block is in the list of the instance that its page-map entries name,
// from before it is handed out until its range is returned. No thread keeps such a block for reuse.
// A block that moves counts only for its growth, even while it exists twice: the kernel moves its
// pages, and copied parts are small.
// Called on: any thread.
#ifndef TALUS_STORE_INSTANCE_LARGE_HPP
#define TALUS_STORE_INSTANCE_LARGE_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/large_state.hpp"
#include "heap/sound.hpp"
#include "store/instance_room.hpp"
#include "store/large.hpp"
#include "store/large_move.hpp"

namespace talus::core {

// The caller holds the lock of the instance.
inline void link_large(Instance& heap, LargeBlock& large) noexcept {
  TALUS_ASSERT(large.state.load_own() == LargeState::live);
  large.previous_inside = nullptr;
  large.next_inside = heap.large_blocks;
  if (large.next_inside != nullptr) large.next_inside->previous_inside = &large;
  heap.large_blocks = &large;
  heap.large_count++;
  heap.large_bytes += large.usable_bytes;
}
inline void unlink_large(Instance& heap, LargeBlock& large) noexcept {
  LargeBlock* before = large.previous_inside;
  LargeBlock* behind = large.next_inside;
  TALUS_ASSERT((before != nullptr ? before->next_inside : heap.large_blocks) == &large);
  TALUS_ASSERT(behind == nullptr || behind->previous_inside == &large);
  (before != nullptr ? before->next_inside : heap.large_blocks) = behind;
  if (behind != nullptr) behind->previous_inside = before;
  heap.large_count--;
  heap.large_bytes -= large.usable_bytes;
}
inline void give_large_of(Instance& heap, LargeBlock& large,
                          const MovedRange& moved = {}) noexcept {
  unlink_large(heap, large);
  give_large(large, moved);
  audit_instance(heap);
}

// A growing block's new range is linked beside the old one until the move ends. Bytes of both count
// once.
inline void link_moving(InstanceSlot& slot, const LargeBlock& from, LargeBlock& to) noexcept
    TALUS_REQUIRES(slot.lock) {
  Instance& heap = *slot.heap;
  link_large(heap, to);
  TALUS_ASSERT(to.usable_bytes >= from.usable_bytes);
  slot.moving_count++;
  heap.large_count--;
  heap.large_bytes -= from.usable_bytes;
}
inline void give_moved(InstanceSlot& slot, LargeBlock& from, const MovedRange& moved) noexcept
    TALUS_REQUIRES(slot.lock) {
  Instance& heap = *slot.heap;
  TALUS_ASSERT(slot.moving_count != 0);
  slot.moving_count--;
  heap.large_count++;
  heap.large_bytes += from.usable_bytes;
  give_large_of(heap, from, moved);
}
// In the child of a fork the moving thread does not exist, so each linked block counts. A single
// thread needs no lock.
inline void forget_moves(InstanceSlot& slot) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  if (TALUS_LIKELY(slot.moving_count == 0)) return;
  Instance& heap = *slot.heap;
  slot.moving_count = 0;
  heap.large_count = heap.large_bytes = 0;
  for (LargeBlock* large = heap.large_blocks; large != nullptr; large = large->next_inside) {
    heap.large_count++;
    heap.large_bytes += large->usable_bytes;
  }
  heap.note_peak();  // both ends of a move count from here on
}

// Does the word name a large block of the instance?
inline bool is_large_of(HeapId owner, PageEntry word) noexcept {
  return word.bits() == large_word(owner).bits();
}

// False: the block no longer belongs to the instance.
inline bool free_large_inside(void* pointer, HeapId owner) noexcept {
  InstanceSlot& slot = instance_slot(owner);
  Held held{slot.lock};
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (!is_large_of(owner, page_map.word_of(address))) return false;
  give_large_of(*slot.heap, prove_large(pointer, "free"));
  return true;
}

// Makes a large block hold `bytes` (more than small_bytes_max) in place, in or outside instances.
// False: it cannot.
inline bool resize_large(LargeBlock& large, HeapId owner, size_t bytes) noexcept {
  if (!is_instance(owner)) return resize_large_in_place(large, bytes);
  if (bytes > PTRDIFF_MAX - slice_bytes) return false;
  InstanceSlot& slot = instance_slot(owner);
  Held held{slot.lock};
  Instance& heap = *slot.heap;
  const size_t before = large.usable_bytes;
  const size_t after = usable_bytes_of_large(bytes);
  if (after > before && !make_room_at_rest(slot, after - before, "realloc")) return false;
  if (!resize_large_in_place(large, bytes)) return false;
  heap.large_bytes += large.usable_bytes - before;
  heap.note_peak();
  audit_instance(heap);
  return true;
}

// Like move_large(), within an instance.
inline void* move_large_inside(LargeBlock& large, HeapId owner, size_t bytes,
                               bool& is_at_limit) noexcept {
  InstanceSlot& slot = instance_slot(owner);
  LargeChange change{large};
  LargeMove move{large};
  {
    Held held{slot.lock};
    const size_t after = usable_bytes_of_large(bytes);
    const size_t before = large.usable_bytes;
    is_at_limit = after > before && !make_room_at_rest(slot, after - before, "realloc");
    if (is_at_limit || !move.take_room(bytes, owner)) return nullptr;
    link_moving(slot, large, move.to());
    slot.heap->note_peak();
    audit_instance(*slot.heap);
  }
  const MovedRange moved = move.move();
  note_moved_from(large, moved);
  Held held{slot.lock};
  change.end();
  give_moved(slot, large, moved);
  return start_of(move.to());
}

}  // namespace talus::core

#endif  // TALUS_STORE_INSTANCE_LARGE_HPP
