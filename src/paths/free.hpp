// SPDX-License-Identifier: MIT
// paths/free: the way of a block back into the heap.
//
// free_block(pointer)                     here        page-map entry, compare owner, push
//   -> free_far(pointer, context)   here        null is nothing; beyond the window the same
//   -> free_other(..., word)        free_slow   a block of another heap: add it to a message
//   -> free_full(..., index)        free_slow   the list is full, or a slow list; or no block
//                                                  starts here, or it was just freed
//        -> push_slow(...)                         a slow list: a push that calls nothing
//        -> flush_some(cache, class)               half of it back to its slabs, or more
//   -> free_slow(pointer, context)  free_slow   null, large, a context that is no cache
//        -> free_remote(...)                    a block of another heap: batch, deliver
//        -> free_large(...)         large       keep for reuse, or back to address space
#ifndef TALUS_PATHS_FREE_HPP
#define TALUS_PATHS_FREE_HPP

#include "base/base.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap_tool.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "paths/free_slow.hpp"

namespace talus::core {

// Does a heap tool free the block? If it does not, modes compare the block with what the call says
// of it.
TALUS_APART bool ends_elsewhere(void* pointer, FreeCall call) noexcept {
  if (pointer == nullptr) return false;
  if (is_freed_by_tool(pointer, call)) return true;
  check_call(pointer, call);
  return false;
}

// The same as free_other(), after modes have compared the block with what the call says of it.
TALUS_SLOW void free_other_of(void* pointer, ThreadContext& context, PageEntry word,
                              FreeCall call) noexcept {
  if (TALUS_UNLIKELY(context.operations != nullptr) && ends_elsewhere(pointer, call)) return;
  free_other(pointer, context, word);
}

// Frees a block with this page-map entry. `Said` is nothing, or a FreeCall.
template <typename... Said>
TALUS_FAST void free_as(PageEntry word, void* pointer, ThreadContext& context,
                        Said... said) noexcept {
  // leaves: null, remote, large, no owner, uninitialised, ended, a mode
  if (TALUS_UNLIKELY(word.owner() != context.id)) {
    if constexpr (sizeof...(Said) != 0) return free_other_of(pointer, context, word, said...);
    return free_other(pointer, context, word);
  }
  const size_t index = word.tag();
  Atomic<void**>& slot = context.tops[index];  // as in alloc.hpp
  void** top = slot.load_own();
  // leaves: full, a slow list
  if (TALUS_UNLIKELY(top == context.limits[index])) return free_full(pointer, context, index);
  // leaves: no block starts here
  if (TALUS_UNLIKELY(!is_start_by(
          context.start_factors[index],
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer) % slice_bytes)))) {
    return free_full(pointer, context, index);
  }
  // leaves: freed twice
  if (TALUS_UNLIKELY(is_uppermost(top, pointer))) return free_full(pointer, context, index);
  // POINT OF NO RETURN: the block first, then the store that makes it part of the list.
  *top = pointer;
  TALUS_TELL_RELEASE(&slot);
  slot.store_own(top + 1);
}

// A pointer that needs more than the page map's usual look-up.
TALUS_NEXT void free_far(void* pointer, ThreadContext& context) noexcept {
  if (pointer == nullptr) return;
  free_as(page_map.word_anywhere(reinterpret_cast<uintptr_t>(pointer)), pointer, context);
}
TALUS_SLOW void free_far_of(void* pointer, ThreadContext& context, FreeCall call) noexcept {
  if (TALUS_UNLIKELY(context.operations != nullptr) && ends_elsewhere(pointer, call)) return;
  free_far(pointer, context);
}

// Frees a block; null is nothing. Reports anything else that is no live block. A mode compares what
// the call says of the block.
template <typename... Said>
TALUS_FAST void free_block(void* pointer, Said... said) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  ThreadContext& context = current_context();
  PageMap::Place place;
  // leaves: null, beyond the page map's window, no address of ours
  if (TALUS_UNLIKELY(!page_map.find_near(address, place))) {
    if constexpr (sizeof...(Said) != 0) return free_far_of(pointer, context, said...);
    return free_far(pointer, context);
  }
  free_as(place.word(), pointer, context, said...);
}

}  // namespace talus::core

#endif  // TALUS_PATHS_FREE_HPP
