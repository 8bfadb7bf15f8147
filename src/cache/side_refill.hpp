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

// Bytes of blocks without sides that modes are told of at a time.
inline constexpr size_t prepaid_bytes_max = 64 * kib;

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
// The same with those that modes were told of in advance; at most `most`.
inline size_t blocks_ahead(SidedContext& context, size_t index, size_t most) noexcept {
  const size_t prepaid = context.prepaid_blocks[index];
  if (prepaid >= most) return most;
  const size_t until = blocks_until_event(context, index);
  return until >= most - prepaid ? most : prepaid + until;
}
inline void tell_blocks(SidedContext& context, size_t index, size_t blocks) noexcept {
  tell_modes<&Mode::note_blocks>(context, ClassId{static_cast<uint8_t>(index)}, blocks);
}
// Modes are told of these blocks, if they were not told of them in advance.
inline void note_blocks(SidedContext& context, size_t index, size_t blocks) noexcept {
  uint32_t& prepaid = context.prepaid_blocks[index];
  const size_t known = prepaid < blocks ? prepaid : blocks;
  prepaid -= static_cast<uint32_t>(known);
  if (known < blocks) tell_blocks(context, index, blocks - known);
}
// The same for one block of a class without sides. False: a mode wants to be told of it.
inline bool may_begin_untold(SidedContext& context, size_t index) noexcept {
  uint32_t& prepaid = context.prepaid_blocks[index];
  if (TALUS_UNLIKELY(prepaid == 0)) {
    const size_t until = blocks_until_event(context, index);
    if (until == 0) return false;
    const size_t most = prepaid_bytes_max / size_class_table.rows[index].block_bytes;
    const size_t noted = most < 1 ? 1 : most;
    prepaid = static_cast<uint32_t>(noted < until ? noted : until);
    tell_blocks(context, index, prepaid);
  }
  prepaid--;
  return true;
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
  void* block = allocate_on(&cache, id, Fit::exact);
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
// Fills an empty allocation side. A side that runs empty gets as many blocks again as there were on
// the free side, so that it grows while the same blocks come and go. Returns how many.
TALUS_APART size_t fill_side(SidedContext& context, ThreadCache& cache, size_t index) noexcept {
  const size_t wanted = blocks_ahead(context, index, side_blocks_of(index));
  if (wanted == 0) return 0;
  size_t moved = move_across(context, cache, index, wanted);
  const size_t room = wanted - moved;
  const size_t more = moved == 0 || room < moved ? room : moved;
  if (more != 0) moved += fetch_blocks(context, cache, index, more);
  if (moved != 0) note_blocks(context, index, moved);
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
  if (!may_begin_untold(context, index_of(id))) return nullptr;
  void* block = allocate_on(&cache, id, fit);
  if (TALUS_UNLIKELY(block == nullptr)) {
    context.prepaid_blocks[index_of(id)]++;
    return nullptr;
  }
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
