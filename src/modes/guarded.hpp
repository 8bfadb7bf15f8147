// SPDX-License-Identifier: MIT
// modes/guarded: about once in a number of bytes, a block lies between pages without access.
//
// Such a block of up to a page begins or ends at a page without access, at random. An access beyond
// that side faults, and so does any use of a freed block. A write beyond the other side changes a
// pattern, which free() finds. Stacks of the allocation and of the free are kept, so that `talus
// explain` can tell what happened. Blocks are chosen as the heap profile chooses its samples.
//
// Owns: the mode and its begin. Invariants: no handler of faults is needed. A block that cannot be
// guarded is an ordinary one. Called on: any thread, from slow paths. Must not know: signals
// (process/faults.hpp).
#ifndef TALUS_MODES_GUARDED_HPP
#define TALUS_MODES_GUARDED_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwinder.hpp"
#include "heap/context.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "modes/chain.hpp"
#include "modes/guarded_pool.hpp"
#include "modes/guarded_report.hpp"
#include "modes/mapped.hpp"
#include "modes/profile.hpp"
#include "modes/sample_distances.hpp"

namespace talus::core::guarded {

struct ThreadState {
  SampleDistances distances;
  uint32_t class_tried;  // one more than the class of a block that was to be guarded; 0: none
  unwind::StackBounds bounds;
};
inline ThreadState& state_of(ModeThread thread) noexcept {
  return *static_cast<ThreadState*>(thread.state);
}
inline void begin_state(ModeThread thread) noexcept { begin_distances(state_of(thread).distances); }
inline uint64_t& blocks_left(ThreadState& own, size_t index) noexcept {
  return core::blocks_left(own.distances, guarded.mean_bytes, index);
}

// Do requests of up to a page get blocks of this class?
inline bool may_guard(size_t index) noexcept {
  return index == 0 || size_class_table.rows[index - 1].block_bytes < guarded.pool->page_bytes;
}
inline size_t blocks_until_guarded(ModeThread thread, ClassId id) noexcept {
  const size_t index = index_of(id);
  if (!may_guard(index)) return SIZE_MAX;
  return static_cast<size_t>(blocks_left(state_of(thread), index) - 1);
}
inline void note_blocks(ModeThread thread, ClassId id, size_t blocks) noexcept {
  const size_t index = index_of(id);
  if (!may_guard(index)) return;
  uint64_t& left = blocks_left(state_of(thread), index);
  TALUS_ASSERT(left > blocks);  // no more than blocks_until_guarded() said
  left -= blocks;
}

// A guarded block of this size; null: there is no room.
TALUS_APART void* make_block(ThreadState& own, const BlockRequest& request) noexcept {
  Pool& pool = *guarded.pool;
  const bool has_room = pool.shared_live.load_hint() < pool.live_max();
  Slot* const slot = has_room ? open_slot(pool) : nullptr;
  if (slot == nullptr) {
    pool.shared_missed.stat_add(1);
    return nullptr;
  }
  const uintptr_t page = pool.page_of(static_cast<size_t>(slot - pool.slots));
  const uintptr_t page_end = page + pool.page_bytes;
  own.distances.random += 1;
  const bool is_at_end = mix_bits(own.distances.random) % 2 != 0;
  const uintptr_t start =
      is_at_end ? round_down(page_end - request.bytes, request.alignment) : page;
  mapped::fill(page, start);
  mapped::fill(start + request.bytes, page_end);
  Trace trace;
  take_trace(trace, own.bounds);
  begin_block(*slot, start, request.bytes, trace);
  return reinterpret_cast<void*>(start);
}
// The block at which the distance of its class ends.
inline void* allocate(ModeThread thread, const BlockRequest& request) noexcept {
  const size_t page = guarded.pool->page_bytes;
  const bool may_be_guarded = thread.cache != nullptr && request.bytes - 1 < page &&
                              request.alignment <= page && request.offset == 0 &&
                              has_class(request.bytes, request.alignment);
  if (!may_be_guarded) return nullptr;
  ThreadState& own = state_of(thread);
  const size_t index = index_of(class_of_aligned(request.bytes, request.alignment));
  if (!may_guard(index) || blocks_left(own, index) != 1) return nullptr;
  own.class_tried = static_cast<uint32_t>(index + 1);
  return make_block(own, request);
}
// A block that was to be guarded begins a new distance, also where there was no room.
inline void note_allocate(ModeThread thread, void*, size_t bytes) noexcept {
  if (thread.cache == nullptr) return;  // threads that lost their cache share a state
  ThreadState& own = state_of(thread);
  if (own.class_tried != 0) {
    own.distances.blocks_left[own.class_tried - 1] = 0;
    own.class_tried = 0;
    return;
  }
  if (bytes > guarded.pool->page_bytes) return;
  const size_t index = index_of(class_of(bytes));
  if (!may_guard(index)) return;
  uint64_t& left = blocks_left(own, index);
  if (left > 1) left--;
}
inline void end_resize(ModeThread thread, void* before, size_t, void* block,
                       size_t bytes) noexcept {
  if (block != nullptr && block != before) note_allocate(thread, block, bytes);
}

// --- the operations of a guarded block

// The first changed byte behind a block, or the last one before it; 0: the pattern is intact.
inline uintptr_t find_damage(const Pool& pool, const Slot& slot) noexcept {
  const uintptr_t page = pool.page_of(static_cast<size_t>(&slot - pool.slots));
  const uintptr_t end = slot.start + slot.bytes;
  const uintptr_t behind = mapped::first_changed(end, page + pool.page_bytes);
  return behind != 0 ? behind : mapped::last_changed(page, slot.start);
}
TALUS_APART void free_guarded(SpecialBlock& special, void* pointer) noexcept {
  auto& pool = static_cast<Pool&>(special);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  Slot* const slot = slot_at(pool, address);
  if (slot == nullptr) refuse(pointer, "free");
  unwind::StackBounds bounds{};
  Trace trace;
  take_trace(trace, bounds);
  if (!end_block(*slot, address, trace)) refuse(pointer, "free");
  if (const uintptr_t changed = find_damage(pool, *slot)) refuse_damage(*slot, changed);
  close_slot(pool, *slot);
}
TALUS_APART size_t usable_bytes_of_guarded(SpecialBlock& special, void* pointer,
                                           const char* call) noexcept {
  auto& pool = static_cast<Pool&>(special);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Slot* const slot = slot_at(pool, address);
  const bool is_live = slot != nullptr && slot->state == State::live && slot->start == address;
  if (!is_live) refuse(pointer, call);
  return slot->bytes;
}
// Filled here, so that the loader writes no addresses where no block is guarded.
TALUS_APART void fill_mode(Mode& mode) noexcept {
  mode.name = "guarded";
  mode.state_bytes = sizeof(ThreadState);
  mode.state_made = begin_state;
  mode.note_allocate = note_allocate;
  mode.end_resize = end_resize;
  mode.blocks_until_event = blocks_until_guarded;
  mode.note_blocks = note_blocks;
  mode.allocate = allocate;
  mode.is_without_slabs = true;
}

// Prepares the mode, once; begin_mode() or switch_on() switches it on. It walks by the rules of the
// profile, if that was prepared before. Not within a call of Talus. False: there is no memory.
TALUS_APART bool prepare(uint64_t mean_bytes, const unwind::LibcOfModules& libc) noexcept {
  TALUS_ASSERT(mean_bytes != 0 && mean_bytes <= mean_bytes_max);
  if (guarded.pool != nullptr) return true;
  guarded.mean_bytes = mean_bytes;
  guarded.unwinder = &guarded.own_unwinder;
  if (profile::profile.sites != nullptr) {
    guarded.unwinder = &profile::profile.unwinder;
  } else if (!guarded.own_unwinder.begin(libc, rules_max)) {
    return false;
  }
  fill_mode(guarded.mode);
  guarded.operations.free = free_guarded;
  guarded.operations.usable_bytes = usable_bytes_of_guarded;
  return make_pool();
}

// The calling thread has guarded blocks from here on; others from their first call. For the start
// of a process. Usable sizes of guarded blocks are exact, so good sizes must be.
TALUS_APART void begin(uint64_t mean_bytes) noexcept {
  if (!prepare(mean_bytes, profile::libc_at_start()) || !begin_mode(guarded.mode)) return;
  shared_exact_sizes.store_init(true);
}

}  // namespace talus::core::guarded

#endif  // TALUS_MODES_GUARDED_HPP
