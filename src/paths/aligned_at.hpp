// SPDX-License-Identifier: MIT
// paths/aligned_at: blocks that are aligned at an offset, not at their start.
//
// Blocks start at multiples of 16, so the offset is such a multiple, too. Some block sizes meet
// every residue in turn: in their slabs one block of a few is right, and the others remain for
// requests without an offset. If no class does that, or too few of its blocks are right, the block
// gets slices of its own and starts some bytes into them.
// Owns: the choice of a block whose address plus an offset is a multiple of an alignment.
// Invariant: the result is the start of a block for free() and all other calls.
// Called on: any thread.
#ifndef TALUS_PATHS_ALIGNED_AT_HPP
#define TALUS_PATHS_ALIGNED_AT_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/large.hpp"
#include "store/slabs.hpp"
#include "cache/idle_caches.hpp"
#include "paths/alloc_slow.hpp"

namespace talus::core {

// The aligned place of a block. The alignment is a power of two. The offset is smaller, a multiple
// of 16, and not 0.
struct AlignedPlace {
  size_t alignment = 0;
  size_t offset = 0;

  bool is_met_by(const void* block) const noexcept {
    return (reinterpret_cast<uintptr_t>(block) + offset) % alignment == 0;
  }
  // One of this many neighbours in a slab of such blocks is right; 0: none is.
  size_t period(size_t block_bytes) const noexcept {
    TALUS_ASSERT(is_power_of_two(alignment) && offset < alignment);
    const size_t step = size_t{1} << lowest_bit(block_bytes);
    return offset % step == 0 ? alignment / step : 0;
  }
};

// One right block must come within this many bytes; otherwise the block gets its own pages.
inline constexpr size_t place_period_bytes_max = 8 * kib;
// The number of slabs searched in each bin before a new one is made.
inline constexpr size_t place_looks_max = 16;

// The bits of right blocks in each word of a slab's bitmap, if their period is at most a word.
inline uint64_t right_bits(AlignedPlace place, size_t block_bytes) noexcept {
  uint64_t bits = 0;
  for (size_t index = 0; index < 64; index++) {
    if ((index * block_bytes + place.offset) % place.alignment == 0) bits |= uint64_t{1} << index;
  }
  return bits;
}

// Takes the first free block out of a slab whose bit is in `right`; null: none is free.
inline void* take_right_block(Slab& slab, uint64_t right) noexcept {
  for (size_t word = slab.first_word; word < slab.bitmap_words; word++) {
    const uint64_t found = slab.free_bits()[word] & right;
    if (found == 0) continue;
    const unsigned bit = lowest_bit(found);
    TALUS_ASSERT(word * 64 + bit < slab.block_count);
    slab.free_bits()[word] &= ~(uint64_t{1} << bit);
    slab.free_count--;
    TALUS_AUDIT_SOUND(slab);
    return reinterpret_cast<void*>(slab.base + (word * 64 + bit) * slab.block_bytes);
  }
  return nullptr;
}

// Searches the emptiest slabs first for a right block. The caller updates the slab for the block
// that it lost.
inline void* find_right_block(Heap& heap, ClassId id, uint64_t right, Slab*& slab) noexcept {
  SlabBins& bins = heap.available[index_of(id)];
  for (size_t bin = SlabBins::count; bin-- > 0;) {
    slab = bins.bins[bin].first;
    for (size_t looks = 0; looks < place_looks_max && slab != nullptr; looks++) {
      if (void* found = take_right_block(*slab, right)) return found;
      slab = slab->next;
    }
  }
  slab = slab_unused_to_available(heap, id);
  return slab == nullptr ? nullptr : take_right_block(*slab, right);
}

// A right block of a class; null: no memory.
inline void* take_small_at(Heap& heap, ClassId id, uint64_t right) noexcept {
  Held held{lock_of(heap)};
  Slab* slab = nullptr;
  void* found = find_right_block(heap, id, right, slab);
  if (found == nullptr) return nullptr;
  slab_gave_blocks(heap, *slab, &found, 1);
  count_taken(heap, id, 1);
  audit(heap);
  return found;
}

// A right block in a slab; null: no class has one, or there is no memory.
inline void* allocate_small_at(ThreadCache* cache, AlignedPlace place, size_t bytes) noexcept {
  if (bytes > small_bytes_max) return nullptr;
  Heap* heap = cache == nullptr ? abandoned_heap() : cache->heap;
  if (heap == nullptr) return nullptr;
  const size_t first = index_of(class_of(bytes));
  for (size_t index = first; index < fixed_class_count; index++) {
    const SizeClass& row = size_class_table.rows[index];
    if (row.block_bytes > 2 * size_class_table.rows[first].block_bytes) break;
    const size_t period = place.period(row.block_bytes);
    if (period == 0 || period > 64 || period > row.block_count) continue;
    if (period * row.block_bytes > place_period_bytes_max) continue;
    const uint64_t right = right_bits(place, row.block_bytes);
    if (right != 0) return take_small_at(*heap, ClassId{static_cast<uint8_t>(index)}, right);
  }
  return nullptr;
}

// A block that starts a few bytes into its own range; the alignment is at most a slice. Null: no
// memory.
inline void* allocate_large_at(AlignedPlace place, size_t bytes) noexcept {
  TALUS_ASSERT(place.offset != 0 && place.offset % block_alignment == 0);
  const size_t front = place.alignment - place.offset;
  Zeroed zeroed = Zeroed::no;
  const size_t whole = front + (bytes == 0 ? 1 : bytes);  // a block has at least one byte
  LargeBlock* large = take_large(whole, divide_up(whole, slice_bytes), Placing{}, zeroed);
  if (large == nullptr) return nullptr;
  Held held{space.lock()};
  large_pool.live_bytes -= front;
  large->usable_bytes -= front;
  large->front_bytes = front;
  TALUS_AUDIT_SOUND(*large);
  return start_of(*large);
}

inline void* allocate_at_once(AlignedPlace place, size_t bytes) noexcept {
  ThreadCache* cache = cache_behind(current_context());
  const MaybeWorking working{cache};
  void* special = allocate_by_mode({bytes, place.alignment, place.offset});
  if (special != nullptr) return special;
  void* block = allocate_small_at(cache, place, bytes);
  if (block == nullptr) block = allocate_large_at(place, bytes);
  note_allocate(block, bytes);
  return block;
}

// A block whose address plus the place's offset is a multiple of its alignment, which is at most a
// slice; null: no memory.
TALUS_SLOW void* allocate_aligned_at(AlignedPlace place, size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - 2 * slice_bytes) return nullptr;
  return allocate_with(bytes, [=]() noexcept { return allocate_at_once(place, bytes); });
}

}  // namespace talus::core

#endif  // TALUS_PATHS_ALIGNED_AT_HPP
