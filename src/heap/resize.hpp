// SPDX-License-Identifier: MIT
// heap/resize: zeroed blocks, how large a block really is, and changing its size.
//
// Owns: the answers about a live block that are not malloc or free. Invariant: contents survive up
// to the smaller of old and new usable size; on failure the block is untouched. Called on: any
// thread.
#ifndef TALUS_HEAP_RESIZE_HPP
#define TALUS_HEAP_RESIZE_HPP

#include "heap/alloc.hpp"
#include "heap/free.hpp"

namespace talus {

// A zeroed large block; null: no memory. `alignment` is at least a granule.
inline void* allocate_zeroed_large(size_t bytes, size_t alignment = granule_bytes) noexcept {
  ThreadCache* cache = cache_behind(current_face());
  const MaybeWorking working{cache};
  const LargeAllocation large = allocate_large(cache, bytes, alignment);
  if (large.block == nullptr) return nullptr;
  note_allocate(large.block, bytes);
  if (large.zeroed == Zeroed::yes) return large.block;
  const bool purged = bytes >= calloc_purge_bytes_min &&
                      os::System::purge(large.block, usable_bytes_of_large(bytes));
  if (!purged) clear_bytes(large.block, bytes);
  return large.block;
}

// A zeroed block; null: no memory. Pages that the kernel just gave are not touched.
inline void* allocate_zeroed(size_t bytes) noexcept {
  if (bytes > small_bytes_max) {
    return allocate_with(bytes, [bytes]() noexcept { return allocate_zeroed_large(bytes); });
  }
  void* block = allocate(bytes);
  if (block != nullptr) clear_bytes(block, bytes);
  return block;
}

// What is known about a live block; `call` is named in the report if it is none.
struct BlockFacts {
  size_t usable_bytes = 0;
  LargeBlock* large = nullptr;  // null: a small one
  HeapId owner = HeapId::nobody;  // of a large one: only if that is an instance
};

inline BlockFacts facts_of(void* pointer, const char* call) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (!PageMap::covers(address)) report::foreign_pointer(pointer, call);
  const PageWord word = page_map.word_of(address);
  if (word.is_slab()) {
    const Slab& slab = *static_cast<Slab*>(page_map.descriptor_of(address));
    slab.prove(pointer);  // a copy from the middle of a block would read behind its end
    return {slab.block_bytes, nullptr, word.owner()};
  }
  if (!word.is_large()) report::foreign_pointer(pointer, call);
  LargeBlock& large = prove_large(pointer, call);
  return {large.usable_bytes - large.front_bytes, &large, owner_of_large(word)};
}

inline size_t usable_size(void* pointer) noexcept {
  return pointer == nullptr ? 0 : facts_of(pointer, "malloc_usable_size").usable_bytes;
}

// Does a block of `usable` bytes serve `bytes` without wasting half of itself?
inline bool fits_without_waste(size_t usable, size_t bytes) noexcept {
  return bytes <= usable && (bytes >= usable / 2 || usable <= 4 * block_alignment);
}

// Resizes where the block is; false: it cannot. The face's mode, if any, is told.
inline bool resize_in_place(const BlockFacts& facts, size_t bytes) noexcept {
  if (facts.large == nullptr || facts.large->front_bytes != 0) {
    return fits_without_waste(facts.usable_bytes, bytes);
  }
  return bytes > small_bytes_max && resize_large(*facts.large, facts.owner, bytes);
}

// A block of the instance that another block belongs to; null: no memory, or its limit.
inline void* allocate_beside(const BlockFacts& facts, const Request& request,
                             bool& is_at_limit) noexcept {
  return allocate_inside_once(handle_of(facts.owner), request, is_at_limit).block;
}

inline void* reallocate_once(void* pointer, size_t bytes, bool& is_at_limit) noexcept {
  const BlockFacts facts = facts_of(pointer, "realloc");
  HeapFace& face = current_face();
  ThreadCache* cache = cache_behind(face);
  const MaybeWorking working{cache};
  note_free(pointer);
  if (resize_in_place(facts, bytes)) {
    note_allocate(pointer, bytes);
    return pointer;
  }
  void* moved = nullptr;
  const bool may_move_pages = facts.large != nullptr && facts.large->front_bytes == 0;
  if (may_move_pages && bytes > small_bytes_max && bytes < PTRDIFF_MAX - granule_bytes) {
    moved = is_instance(facts.owner)
                ? move_large_inside(*facts.large, facts.owner, bytes, is_at_limit)
                : move_large(*facts.large, bytes);
    note_allocate(moved == nullptr ? pointer : moved, bytes);
    return moved;
  }
  if (TALUS_UNLIKELY(is_instance(facts.owner))) {
    moved = allocate_beside(facts, {bytes, block_alignment, "realloc"}, is_at_limit);
  } else {
    moved = bytes <= small_bytes_max ? allocate_small_on(cache, class_of(bytes))
                                     : allocate_large(cache, bytes, granule_bytes).block;
  }
  note_allocate(moved == nullptr ? pointer : moved, bytes);
  if (moved == nullptr) return nullptr;
  copy_bytes(moved, pointer, facts.usable_bytes < bytes ? facts.usable_bytes : bytes);
  release_plain(cache, pointer);
  return moved;
}

// realloc of a live block to at least one byte; null: no memory, the block is untouched. A block of
// an instance stays in it.
TALUS_SLOW void* reallocate(void* pointer, size_t bytes) noexcept {
  return allocate_within_limit(bytes, [=](bool& is_at_limit) noexcept {
    return reallocate_once(pointer, bytes, is_at_limit);
  });
}

}  // namespace talus

#endif  // TALUS_HEAP_RESIZE_HPP
