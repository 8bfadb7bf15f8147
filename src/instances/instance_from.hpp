// SPDX-License-Identifier: MIT
// instances/instance_from: the calls that take the handle of an instance, or 0 for the common heap.
//
// Owns: the choice between the two. Also tells the mode of the calling thread, even if the thread
// has used only instances so far.
// Called on: any thread.
#ifndef TALUS_INSTANCES_INSTANCE_FROM_HPP
#define TALUS_INSTANCES_INSTANCE_FROM_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "slab/block_states.hpp"
#include "slab/contents.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/special.hpp"
#include "regions/region_words.hpp"
#include "store/large.hpp"
#include "cache/idle_caches.hpp"
#include "paths/resize.hpp"
#include "paths/alloc.hpp"
#include "paths/free.hpp"
#include "paths/instance_blocks.hpp"
#include "paths/instance_region.hpp"

namespace talus::core {

// The handle of the instance that owns a block; 0: none, or this is no block.
inline uintptr_t instance_of(const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  PageEntry word = page_map.word_anywhere(address);
  if (TALUS_UNLIKELY(is_special(word))) {
    const NamedBefore found = named_of_block(pointer);
    word = PageEntry::from_bits(found.word_bits);
    if (is_special(word)) {
      auto* block = static_cast<SpecialBlock*>(found.descriptor);
      const bool has_one = block != nullptr && block->operations().instance != nullptr;
      return has_one ? block->operations().instance(*block) : 0;
    }
  }
  const HeapId owner = word.is_large() ? owner_of_large(word) : word.owner();
  return is_instance(owner) ? handle_of(owner) : 0;
}

// The cache of a thread whose modes are to be told of an instance's blocks. In a process with modes
// a new thread gets a cache, and so its modes, before the first such call. Null: it has none. The
// caller holds no lock.
inline ThreadCache* cache_to_tell() noexcept {
  ThreadContext& context = current_context();
  if (is_of_new_thread(context) && process_modes.is_empty()) return nullptr;
  return cache_behind(context);
}

// Tells the mode of a block that was made, if there is one.
TALUS_SLOW void note_made(uintptr_t handle, const BlockMade& made,
                          const Request& request) noexcept {
  if (is_nameless(handle, made.block, request.call)) return;
  const MaybeWorking working{cache_to_tell()};
  if (made.zeroed == Zeroed::yes) return note_zeroed(made.block, request.bytes);
  note_allocate(made.block, request.bytes);
}

// A block; null: no memory, or the limit of the instance.
TALUS_SLOW void* allocate_from(uintptr_t handle, Request request) noexcept {
  if (TALUS_UNLIKELY(handle == 0)) {
    return request.alignment <= block_alignment
               ? allocate(request.bytes)
               : allocate_aligned(request.alignment, request.bytes);
  }
  Request inside = request;
  if (TALUS_UNLIKELY(keeps_trailers())) inside.bytes = with_trailer(request.bytes);
  void* block = allocate_inside(handle, inside).block;
  if (current_context().operations != nullptr) note_made(handle, {block, Zeroed::no}, request);
  return block;
}

// The same for a block at a multiple of 16. If the fast attempt fails, the general function runs.
TALUS_FAST void* allocate_from(uintptr_t handle, size_t bytes, const char* call) noexcept {
  if (TALUS_LIKELY(handle != 0 && bytes <= shared_inside_fast_bytes.load_init())) {
    if (void* block = allocate_small_inside(handle, bytes, call)) {
      if (TALUS_UNLIKELY(current_context().operations != nullptr)) {
        note_made(handle, {block, Zeroed::no}, {bytes, block_alignment, call});
      }
      return block;
    }
  }
  return allocate_from(handle, Request{bytes, block_alignment, call});
}

// A block that is zero up to its usable size; null: no memory, or the limit of the instance.
inline void* allocate_zeroed_from(uintptr_t handle, Request request) noexcept {
  if (request.bytes > PTRDIFF_MAX - slice_bytes) return nullptr;
  RegionHeap* region = region_of(handle, request.call);
  if (!request.is_small() && region == nullptr) {
    request.bytes = usable_bytes_of_large(request.bytes == 0 ? 1 : request.bytes);
  }
  Request inside = request;
  if (TALUS_UNLIKELY(keeps_trailers()) && request.is_small()) inside.bytes += trailer_bytes;
  const BlockMade made = allocate_inside(handle, inside);
  if (current_context().operations != nullptr) note_made(handle, made, request);
  if (made.block == nullptr || made.zeroed == Zeroed::yes) return made.block;
  const bool is_in_region =
      region != nullptr && region->holds(reinterpret_cast<uintptr_t>(made.block));
  const size_t usable =
      is_in_region ? usable_in_region(*region, made.block, request.call) : usable_size(made.block);
  // Only its provider knows what a region's pages hold after a purge.
  const bool purged =
      !is_in_region && usable >= calloc_purge_bytes_min && purge_pages(made.block, usable);
  if (!purged) clear_bytes(made.block, usable);
  return made.block;
}

// The block goes home whatever a mode answers. So a mode may still change its contents, no more.
TALUS_APART void tell_free_inside(void* pointer) noexcept {
  note_free(pointer);
  ModeContext* context = current_modes();
  if (context == nullptr || !has_diverters(*context)) return;
  is_diverted(*context, pointer, BlockHome::instance);
}
TALUS_SLOW void free_and_tell(uintptr_t handle, void* pointer, const char* call) noexcept {
  const MaybeWorking working{cache_to_tell()};
  free_inside(handle, pointer, call, tell_free_inside);
}

// Frees a block of the instance; reports any other pointer.
TALUS_FAST void free_from(uintptr_t handle, void* pointer, const char* call) noexcept {
  if (TALUS_UNLIKELY(handle == 0)) return free_block(pointer);
  if (TALUS_UNLIKELY(current_context().operations != nullptr)) {
    return free_and_tell(handle, pointer, call);
  }
  free_inside(handle, pointer, call, [](void*) noexcept {});
}

}  // namespace talus::core

#endif  // TALUS_INSTANCES_INSTANCE_FROM_HPP
