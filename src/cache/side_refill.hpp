// SPDX-License-Identifier: MIT
// cache/side_refill: what malloc does when an allocation side is empty.
//
// An allocation side gets as many blocks as may begin before the next event of a mode, and no more.
// So the block at which a mode has an event finds the side empty. It takes the usual way, where
// modes are told of it and may replace it.
//
// Owns: how blocks come to an allocation side, how many, and the bytes that modes are told of
// first. Invariant: as in heap/sides.hpp.
// Called on: the owner of the cache, in a slow path.
#ifndef TALUS_CACHE_SIDE_REFILL_HPP
#define TALUS_CACHE_SIDE_REFILL_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "cache/medium_lists.hpp"
#include "cache/refill.hpp"

namespace talus::core {

// Bytes of blocks of a class that modes are told of at a time.
inline constexpr size_t prepaid_bytes_max = 128 * kib;
static_assert(prepaid_bytes_max >= side_bytes_max, "an allocation side is filled at once");

// How many blocks of a class may begin before one that a mode wants to be told of.
inline size_t blocks_until_event(ModeContext& context, size_t index) noexcept {
  size_t blocks = SIZE_MAX;
  const ClassId id{static_cast<uint8_t>(index)};
  ask_modes<&Mode::blocks_until_event>(context, [&](const Mode& mode, ModeThread thread) noexcept {
    const size_t wanted = mode.blocks_until_event(thread, id);
    if (wanted < blocks) blocks = wanted;
    return false;
  });
  return blocks;
}
inline void tell_blocks(SidedContext& context, size_t index, size_t blocks) noexcept {
  tell_modes<&Mode::note_blocks>(context, ClassId{static_cast<uint8_t>(index)}, blocks);
}
// Modes are told of this number of blocks at a time, or of as many as they allow.
inline size_t prepaid_blocks_of(size_t index) noexcept {
  const size_t blocks = prepaid_bytes_max / size_class_rows.rows[index].block_bytes;
  return blocks < list_blocks_min ? list_blocks_min : blocks;
}
// Other modes are on, and were not told of blocks in advance.
TALUS_APART void forget_prepaid(SidedContext& context, uint32_t on) noexcept {
  context.told_modes = on;
  for (uint32_t& prepaid : context.prepaid_blocks) prepaid = 0;
}
// How many blocks, up to `most`, may begin before one that a mode wants to be told of. The modes
// know of that number already, or learn of it here.
inline size_t blocks_ahead(SidedContext& context, size_t index, size_t most) noexcept {
  uint32_t& prepaid = context.prepaid_blocks[index];
  const uint32_t on = context.operations->modes->shared_on.load_acquire();
  if (TALUS_UNLIKELY(on != context.told_modes)) forget_prepaid(context, on);
  if (TALUS_LIKELY(prepaid >= most)) return most;
  TALUS_ASSERT(most <= prepaid_blocks_of(index));
  const size_t until = blocks_until_event(context, index);
  const size_t room = prepaid_blocks_of(index) - prepaid;
  const size_t told = until < room ? until : room;
  if (told != 0) tell_blocks(context, index, told);
  prepaid += static_cast<uint32_t>(told);
  return prepaid < most ? prepaid : most;
}
// These blocks begin.
TALUS_FAST void spend_blocks(SidedContext& context, size_t index, size_t blocks) noexcept {
  TALUS_ASSERT(context.prepaid_blocks[index] >= blocks);
  context.prepaid_blocks[index] -= static_cast<uint32_t>(blocks);
}

// Fills an empty allocation side with up to `wanted` blocks, those that were freed last first.
// Returns how many. Blocks move in the heap's lock, so that a fork finds each in one place.
inline size_t move_across(SidedContext& context, ThreadCache& cache, size_t index,
                          size_t wanted) noexcept {
  const Side from = free_side(context, index), to = allocation_side(context, index);
  const size_t length = from.length();
  const size_t moved = length < wanted ? length : wanted;
  TALUS_ASSERT(to.length() == 0 && wanted <= side_blocks_of(index));
  if (moved == 0) return 0;
  Held held{lock_of(cache)};
  void** top = from.bottom + (length - moved);
  copy_bytes(to.bottom, top, moved * sizeof(void*));
  from.note_gone(moved);
  from.top.store_own(top);
  context.moved[index].own_add(moved);
  to.top.store_own(to.bottom + moved);
  return moved;
}
// The same with blocks of the cache's list or from slabs, above those that are there.
inline size_t fetch_blocks(SidedContext& context, ThreadCache& cache, size_t index,
                           size_t wanted) noexcept {
  const ClassId id{static_cast<uint8_t>(index)};
  void* block = allocate_on(&cache, id, Fit::exact).block;
  if (block == nullptr) return 0;
  const Side to = allocation_side(context, index);
  const ThreadList list = list_of(cache, id);
  TALUS_ASSERT(to.length() + wanted <= side_blocks_of(index));
  Held held{lock_of(cache)};
  void** top = to.top.load_own();
  size_t fetched = 0;
  while (block != nullptr) {
    top[fetched++] = block;
    block = fetched < wanted ? pop_from_list(list) : nullptr;
  }
  context.moved[index].own_add(fetched);
  to.top.store_own(top + fetched);
  return fetched;
}
// Fills an empty allocation side. A side that gets few blocks from the free side gets as many again
// from elsewhere, so that it grows while the same blocks come and go. Where it got most of what it
// wanted, it needs no more: the number of freed blocks varies a little. Returns how many.
TALUS_APART size_t fill_side(SidedContext& context, ThreadCache& cache, size_t index) noexcept {
  const size_t wanted = blocks_ahead(context, index, side_blocks_of(index));
  if (wanted == 0) return 0;
  size_t moved = move_across(context, cache, index, wanted);
  const size_t room = wanted - moved;
  const size_t more = moved == 0 || room < moved ? room : moved;
  if (room > wanted / 4) moved += fetch_blocks(context, cache, index, more);
  spend_blocks(context, index, moved);
  return moved;
}

// A block from the allocation side of its class. Null: a mode wants to be told of this block, so it
// takes the usual way; or there is no memory.
TALUS_APART void* pop_from_side(SidedContext& context, ThreadCache& cache, ClassId id) noexcept {
  const Side side = allocation_side(context, index_of(id));
  if (side.length() == 0 && fill_side(context, cache, index_of(id)) == 0) return nullptr;
  void** top = side.top.load_own();
  side.top.store_own(top - 1);
  return top[-1];
}

// A block of a class without sides; the next class may serve. Null as above.
TALUS_APART void* allocate_untold(SidedContext& context, ThreadCache& cache, ClassId id,
                                  Fit fit) noexcept {
  if (blocks_ahead(context, index_of(id), 1) == 0) return nullptr;
  void* block = allocate_on(&cache, id, fit).block;
  if (TALUS_UNLIKELY(block == nullptr)) return nullptr;
  spend_blocks(context, index_of(id), 1);
  if (is_medium(id)) {
    id = class_of_tag(page_map.word_of(reinterpret_cast<uintptr_t>(block)).tag());
  }
  context.begun[index_of(id)].own_add(1);
  return block;
}

// A block by way of two sides, of which no mode is told. Null: large, or as above.
TALUS_APART void* allocate_by_sides(SidedContext& context, size_t bytes, size_t alignment,
                                    Fit fit) noexcept {
  if (bytes > medium_bytes_max || !has_class(bytes, alignment)) return nullptr;
  const ClassId id = class_of_aligned(bytes, alignment);
  if (index_of(id) < fast_class_count) return pop_from_side(context, *context.cache, id);
  return allocate_untold(context, *context.cache, id, fit);
}

}  // namespace talus::core

#endif  // TALUS_CACHE_SIDE_REFILL_HPP
