// SPDX-License-Identifier: MIT
// paths/instance_blocks: malloc and free for blocks of an instance.
//
// allocate_small_inside(handle, bytes)  lock, pop a ready block
//   -> refill_ready(instance, class)    a batch from its slabs; a new slab, if the limit allows
// allocate_inside(handle, request)      any block; if there is no memory, find_memory() and again
//   -> take_large_inside(...)           a range of its own
// free_inside(handle, pointer)       lock, the block's bit in its slab; free() gets here, too,
//                                       from store/remote and cache/large_cache
//
// Owns: the ready blocks. Invariants: a freed block goes to its slab at once, so that a second free
// is detected then. A checked instance has no ready blocks, so this holds for each wrong free. A
// thread may outlive an instance, so nothing of an instance enters a thread's lists, messages or
// kept blocks. An instance never adopts slabs of other heaps.
// Called on: any thread.
#ifndef TALUS_PATHS_INSTANCE_BLOCKS_HPP
#define TALUS_PATHS_INSTANCE_BLOCKS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/purge_request.hpp"
#include "heap/sound.hpp"
#include "heap/special.hpp"
#include "regions/region.hpp"
#include "regions/region_words.hpp"
#include "store/instance_large.hpp"
#include "store/instance_room.hpp"
#include "store/large.hpp"
#include "store/slabs.hpp"
#include "paths/alloc_slow.hpp"  // IWYU pragma: keep (find_memory in a template)
#include "paths/instance_region.hpp"

namespace talus::core {

inline size_t ready_wanted(const Instance& heap, ClassId id) noexcept {
  if (TALUS_UNLIKELY(heap.is_checked())) return 1;  // the program gets it at once
  const size_t blocks = ready_bytes_max / size_class_row(id).block_bytes;
  const size_t wanted = blocks < ready_blocks_max ? blocks : ready_blocks_max;
  return wanted != 0 ? wanted : 1;
}

// Makes blocks of a class ready. Afterwards there are none only if there is no memory, or at the
// limit, which is_at_limit says.
inline void refill_ready(Instance& heap, ClassId id, bool& is_at_limit) noexcept {
  TALUS_ASSERT(heap.ready[index_of(id)].count == 0);
  heap.note_used(id);
  if (choose_slab(heap, id) == nullptr) {
    is_at_limit = !make_room(heap, size_class_row(id).slab_slices * slice_bytes);
    Slab* slab = is_at_limit ? nullptr : slab_unused_to_available(heap, id);
    if (slab == nullptr) return;
    if (TALUS_UNLIKELY(heap.is_checked())) slab->be_exact();
    heap.note_peak();
  }
  // One slab has free blocks, so this never asks other heaps for a slab.
  ReadyBlocks& ready = heap.ready[index_of(id)];
  ready.count = take_blocks(heap, id, ready.blocks, ready_wanted(heap, id));
  TALUS_ASSERT(ready.count <= ready_blocks_max);
}

// Makes blocks ready if there are none, and pops one. Null: no memory, or the limit.
TALUS_SLOW void* refill_and_pop(Instance& heap, ClassId id, bool& is_at_limit) noexcept {
  ReadyBlocks& ready = heap.ready[index_of(id)];
  if (ready.count == 0) refill_ready(heap, id, is_at_limit);
  return ready.count != 0 ? ready.blocks[--ready.count] : nullptr;
}
TALUS_SLOW void* refill_and_pop(Instance& heap, ClassId id) noexcept {
  bool is_at_limit = false;
  return refill_and_pop(heap, id, is_at_limit);
}
// Like the first, but at the limit it waits for slabs that are being purged.
inline void* refill_and_pop_at_rest(InstanceSlot& slot, ClassId id, const char* call,
                                    bool& is_at_limit) noexcept {
  void* block = refill_and_pop(*slot.heap, id, is_at_limit);
  if (!is_at_limit || slot.heap->purging_count == 0) return block;
  const AtRest at_rest{slot, call};
  is_at_limit = false;
  return refill_and_pop(*slot.heap, id, is_at_limit);
}

// A request; the alignment is a power of two.
struct Request {
  size_t bytes = 0;
  size_t alignment = block_alignment;
  const char* call = "";

  bool is_small() const noexcept {
    return bytes <= small_bytes_max && alignment <= small_bytes_max;
  }
  ClassId class_id() const noexcept {
    return alignment <= block_alignment ? class_of(bytes) : class_of_aligned(bytes, alignment);
  }
};

inline BlockMade take_large_inside(InstanceSlot& slot, const Request& request,
                                   bool& is_at_limit) noexcept {
  Instance& heap = *slot.heap;
  TALUS_ASSERT(is_power_of_two(request.alignment) && slot.lock.is_own());
  const size_t bytes = request.bytes == 0 ? 1 : request.bytes;
  if (bytes > PTRDIFF_MAX - slice_bytes) return {};
  is_at_limit = !make_room_at_rest(slot, usable_bytes_of_large(bytes), request.call);
  if (is_at_limit) return {};
  const size_t alignment = request.alignment > slice_bytes ? request.alignment : slice_bytes;
  Zeroed zeroed = Zeroed::no;
  LargeBlock* large =
      take_large(bytes, divide_up(bytes, slice_bytes), Placing{alignment}, zeroed, heap.id);
  if (large == nullptr) return {};
  link_large(heap, *large);
  heap.note_peak();
  audit_instance(heap);
  return {start_of(*large), zeroed};
}

// If the block is null: no memory, or the limit.
inline BlockMade allocate_inside_once(uintptr_t handle, const Request& request,
                                      bool& is_at_limit) noexcept {
  const Inside inside{handle, request.call};
  if (RegionHeap* region = inside.slot().region) {
    void* block = take_from_region(*region, request.bytes, request.alignment);
    is_at_limit = block == nullptr;
    if (block != nullptr || !region->falls_back) return {block, Zeroed::no};
    is_at_limit = false;
  }
  if (!request.is_small()) return take_large_inside(inside.slot(), request, is_at_limit);
  return {refill_and_pop_at_rest(inside.slot(), request.class_id(), request.call, is_at_limit),
          Zeroed::no};
}

// Runs attempt(is_at_limit) until it succeeds or find_memory() gives up. An instance at its limit
// does not call find_memory().
template <typename Attempt>
void* allocate_within_limit(size_t bytes, Attempt attempt) noexcept {
  bool is_at_limit = false;
  void* block = attempt(is_at_limit);
  for (unsigned made = 0; TALUS_UNLIKELY(block == nullptr); made++) {
    if (is_at_limit || !find_memory(bytes, made)) return nullptr;
    block = attempt(is_at_limit);
  }
  return block;
}

// A block of the instance; if the block is null: no memory, or its limit. Modes are not told.
TALUS_SLOW BlockMade allocate_inside(uintptr_t handle, Request request) noexcept {
  BlockMade made;
  if (request.bytes > PTRDIFF_MAX - slice_bytes) return made;
  allocate_within_limit(request.bytes, [&](bool& is_at_limit) noexcept {
    made = allocate_inside_once(handle, request, is_at_limit);
    return made.block;
  });
  offer_work();
  return made;
}

// A small block, from ready blocks or slabs. Null: this was not enough; call allocate_inside().
TALUS_FAST void* allocate_small_inside(uintptr_t handle, size_t bytes, const char* call) noexcept {
  void* block = nullptr;
  {
    const Inside inside{handle, call};
    const ClassId id = small_class_of(bytes);
    ReadyBlocks& ready = inside.heap().ready[index_of(id)];
    if (TALUS_LIKELY(ready.count != 0)) return ready.blocks[--ready.count];
    if (inside.slot().region == nullptr) block = refill_and_pop(inside.heap(), id);
  }
  offer_work();
  return block;
}

inline void* reallocate_special_in_region(SpecialBlock& block, void* pointer, size_t bytes,
                                          bool& is_at_limit) noexcept {
  const auto fall_back = [](uintptr_t handle, size_t wanted, bool& at_limit) noexcept {
    return allocate_inside_once(handle, {wanted, block_alignment, "realloc"}, at_limit).block;
  };
  return reallocate_in_region(handle_of_region(block), pointer, bytes, "realloc", fall_back,
                              is_at_limit);
}

// Frees a block of the instance; reports any other. Calls `tell`, for modes, with a block of the
// instance. The caller holds no lock.
template <typename Tell>
TALUS_FAST void free_inside(uintptr_t handle, void* pointer, const char* call, Tell tell) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  const RegionHeap* region = region_of(handle, call);
  if (TALUS_UNLIKELY(region != nullptr) && region->holds(address)) {
    if (current_context().operations != nullptr && region->has_page_entries) {
      prove_inside(handle, pointer, call);
      tell(pointer);
    }
    return free_in_region(handle, pointer, call);
  }
  {
    const Inside inside{handle, call};
    Instance& heap = inside.heap();
    const PageEntry word = page_map.word_anywhere(address);
    if (TALUS_LIKELY(word.owner() == heap.id)) {
      tell(pointer);
      give_block(heap, *static_cast<Slab*>(page_map.descriptor_of_owned(address)), pointer);
    } else if (is_large_of(heap.id, word)) {
      LargeBlock& large = prove_large(pointer, "free");
      tell(pointer);
      give_large_of(heap, large);
    } else if (options.on_foreign_free != ForeignFree::ignore) {
      report::foreign_pointer(pointer, call);
    }
    request_purge_if_much(heap);
  }
  offer_work();
}

}  // namespace talus::core

#endif  // TALUS_PATHS_INSTANCE_BLOCKS_HPP
