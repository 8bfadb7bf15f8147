// SPDX-License-Identifier: MIT
// instances/reshape: changes a block's size with another promise than realloc's.
//
// Owns: growing strictly in place, resizing without the contents, resizing with an alignment, and
// zeroed blocks that stay zero. Invariants: as in paths/resize. A mode is told of successes only.
// Called on: any thread.
#ifndef TALUS_INSTANCES_RESHAPE_HPP
#define TALUS_INSTANCES_RESHAPE_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/bytes.hpp"
#include "os/os.hpp"
#include "space/space.hpp"
#include "heap/special.hpp"
#include "store/large.hpp"
#include "paths/alloc.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/facts.hpp"
#include "paths/free.hpp"
#include "paths/resize.hpp"
#include "instances/instance_from.hpp"

namespace talus::core {

// Clears [from, to) of a live block; `is_large`: the block has pages of its own. A long piece of
// whole pages is purged instead, so that pages never touched stay so.
inline void clear_piece(void* block, size_t from, size_t to, bool is_large) noexcept {
  if (from >= to) return;
  TALUS_ASSERT(block != nullptr);
  char* const at = static_cast<char*>(block) + from;
  const size_t bytes = to - from;
  const size_t page_bytes = os::page_bytes();
  const bool is_pages = (reinterpret_cast<uintptr_t>(at) | bytes) % page_bytes == 0;
  const bool may_purge = is_large && is_pages && bytes >= behind_purge_bytes_min;
  if (!may_purge || !purge_pages(at, bytes)) clear_bytes(at, bytes);
}

// A block that is zero up to its usable size; null: no memory. `alignment` is a power of two.
inline void* allocate_zeroed_whole(size_t alignment, size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - slice_bytes || alignment > PTRDIFF_MAX / 2) return nullptr;
  if (alignment < block_alignment) alignment = block_alignment;
  if (bytes > small_bytes_max || alignment > small_bytes_max) {
    const size_t usable = has_class(bytes, alignment)
                              ? size_class_row(class_of_aligned(bytes, alignment)).block_bytes
                              : usable_bytes_of_large(bytes == 0 ? 1 : bytes);
    const size_t whole = sizes_are_exact() ? bytes : usable;
    void* large =
        allocate_with(whole, [=]() noexcept { return allocate_zeroed_large(whole, alignment); });
    // A mode may leave the request to the heap, where a block does not end as the request does. A
    // block of a fitted class ends behind the end of the fixed one.
    if (large != nullptr) clear_piece(large, whole, usable_size(large), false);
    return large;
  }
  void* block = alignment > block_alignment ? allocate_aligned(alignment, bytes) : allocate(bytes);
  if (block != nullptr) clear_bytes(block, usable_size(block));
  return block;
}

// Resizes a block that is zero behind the bytes that the program asked for, and keeps it so. Null:
// no memory, the block is untouched. `bytes` is not 0.
inline void* reallocate_zeroed(void* pointer, size_t bytes) noexcept {
  const size_t before = facts_of(pointer, "talus_rezalloc").usable_bytes;
  void* resized = reallocate(pointer, bytes);
  if (resized == nullptr) return nullptr;
  const BlockFacts after = facts_of(resized, "talus_rezalloc");
  clear_piece(resized, before < bytes ? before : bytes, after.usable_bytes, after.large != nullptr);
  return resized;
}

// Without wasting half of the block. False: it cannot, and is untouched.
inline bool resizes_in_place(void* pointer, size_t bytes, const char* call) noexcept {
  return in_place(pointer, bytes, call, [bytes](const BlockFacts& facts) noexcept {
    return resize_in_place(facts, bytes);
  });
}

// False: the block cannot hold `bytes` in place, and is untouched.
inline bool expand(void* pointer, size_t bytes) noexcept {
  return in_place(pointer, bytes, "talus_expand",
                  [bytes](const BlockFacts& facts) noexcept { return expand_to(facts, bytes); });
}

// Replaces a block, which ends, by one of at least `bytes` bytes (not 0). Null: no memory.
inline void* reallocate_empty(void* pointer, size_t bytes) noexcept {
  if (resizes_in_place(pointer, bytes, "talus_realloc_no_preserve")) return pointer;
  const uintptr_t handle = instance_of(pointer);
  free_block(pointer);
  return allocate_from(handle, bytes, "talus_realloc_no_preserve");
}

// Like reallocate(), to a block at a multiple of `alignment`, a power of two.
inline void* reallocate_aligned(void* pointer, size_t alignment, size_t bytes) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment));
  const bool is_aligned = reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
  if (is_aligned && resizes_in_place(pointer, bytes, "talus_aligned_realloc")) return pointer;
  const size_t before = facts_of(pointer, "talus_aligned_realloc").usable_bytes;
  void* moved = allocate_from(instance_of(pointer), {bytes, alignment, "talus_aligned_realloc"});
  if (moved == nullptr) {
    const bool stays = is_aligned && shrinks_in_place(pointer, bytes, "talus_aligned_realloc");
    return stays ? pointer : nullptr;
  }
  copy_bytes(moved, pointer, before < bytes ? before : bytes);
  free_block(pointer);
  return moved;
}

}  // namespace talus::core

#endif  // TALUS_INSTANCES_RESHAPE_HPP
