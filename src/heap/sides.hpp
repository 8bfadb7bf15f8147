// SPDX-License-Identifier: MIT
// heap/sides: contexts whose lists have two sides, so that modes learn of blocks in batches.
//
//   malloc -> class_of_units -> allocation side   | a b c |        pops, until it is empty
//   free   -> page-map entry -> free side         | d e f g h |    pushes, until it is full
//
// The fast paths are as ever: malloc finds its list by the size, and free by the block. In such a
// context the two differ. An allocation side runs empty after as many blocks as were moved there,
// whatever the program frees meanwhile. The slow path that moves the next ones folds in what a mode
// needs: exact counts, and an event after a number of bytes (cache/side_refill.hpp).
//
// Owns: the two sides of each fast class, and their counts. Invariants: blocks on a side are free.
// They lie between its bottom and its top, above two nulls, as in a list (heap/lists.hpp). Blocks
// enter an allocation side and leave a free side only under the lock of the cache's heap. So a fork
// and statistics find each block once. With
//   moved = blocks that came to an allocation side, less those that left it not by malloc
//   left  = blocks that left a free side
// the calls that no mode was told of are
//   allocations = moved - length of the allocation side + begun
//   frees       = left + length of the free side + ended
// where begun and ended are blocks that passed by the sides: of large classes, and of other heaps.
// Modes are told of blocks of a class in advance. While no mode is switched on or off:
//   noted blocks = these allocations + length of the allocation side + prepaid blocks
// Called on: the owner of the cache, or a thread that empties it.
#ifndef TALUS_HEAP_SIDES_HPP
#define TALUS_HEAP_SIDES_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/modes.hpp"

namespace talus::core {

// The index of an allocation side among the tops.
constexpr size_t allocation_index(size_t index) noexcept { return class_count + index; }
static_assert(class_count + fast_class_count <= 256, "class_of_units has bytes");

// Blocks of a class that an allocation side has room for: as many as a list.
inline constexpr size_t side_bytes_max = list_bytes_max;
constexpr size_t side_blocks_of(size_t index) noexcept {
  const size_t blocks = side_bytes_max / size_class_table.rows[index].block_bytes;
  return blocks < list_blocks_min ? list_blocks_min : blocks;
}
// A free side has room for twice as many. While an allocation side runs empty, about as many blocks
// are freed, at times some more. With room for these, no block goes to a slab and comes back.
constexpr size_t free_side_blocks_of(size_t index) noexcept { return 2 * side_blocks_of(index); }
constexpr size_t count_side_places() noexcept {
  size_t places = 0;
  for (size_t index = 0; index < fast_class_count; index++) {
    places += 2 * list_nulls + free_side_blocks_of(index) + side_blocks_of(index);
  }
  return places;
}

struct SidedContext : ModeContext {
  void** free_bottoms[fast_class_count] = {};        // constant
  void** allocation_bottoms[fast_class_count] = {};  // constant
  Atomic<uint64_t> moved[fast_class_count];          // under the heap's lock; statistics read
  Atomic<uint64_t> left[fast_class_count];           // likewise
  Atomic<uint64_t> begun[class_count];               // owner writes; statistics read
  Atomic<uint64_t> ended[class_count];               // likewise
  uint32_t prepaid_blocks[class_count] = {};         // owner in a slow path, or the emptying thread
  uint32_t told_modes = 0;                           // of prepaid blocks; their bits in the chain
  void* storage[count_side_places()] = {};

  bool is_sound() noexcept;  // heap/sound.hpp
};

// One side of a class, as a list.
enum class SideKind : uint8_t { allocation, free };
struct Side {
  Atomic<void**>& top;
  void** const bottom;
  SidedContext& context;
  const size_t index;
  const SideKind kind;

  size_t length() const noexcept { return static_cast<size_t>(top.load_stat() - bottom); }
  size_t room() const noexcept {
    return kind == SideKind::free ? free_side_blocks_of(index) : side_blocks_of(index);
  }
  // Blocks left the side, and not by malloc. The heap's lock is held.
  void note_gone(size_t blocks) const noexcept {
    if (kind == SideKind::free) return context.left[index].own_add(blocks);
    context.moved[index].own_add(0 - uint64_t{blocks});
    context.prepaid_blocks[index] += static_cast<uint32_t>(blocks);
  }
};
inline Side free_side(SidedContext& context, size_t index) noexcept {
  TALUS_ASSERT(index < fast_class_count);
  return {context.tops[index], context.free_bottoms[index], context, index, SideKind::free};
}
inline Side allocation_side(SidedContext& context, size_t index) noexcept {
  TALUS_ASSERT(index < fast_class_count);
  return {context.tops[allocation_index(index)], context.allocation_bottoms[index], context, index,
          SideKind::allocation};
}

// Calls visit(side, id) for both sides of each class of a context.
template <typename Visit>
TALUS_APART void for_each_side_of(SidedContext& context, Visit visit) noexcept {
  for (size_t index = 0; index < fast_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    visit(free_side(context, index), id);
    visit(allocation_side(context, index), id);
  }
}
// The same for a cache, which may have none.
template <typename Visit>
TALUS_FAST void for_each_side(ThreadCache& cache, Visit visit) noexcept {
  SidedContext* context = cache.shared_sides.load_acquire();
  if (TALUS_UNLIKELY(context != nullptr)) for_each_side_of(*context, visit);
}

// Makes a closed context one with two empty sides. Before its first use.
inline void open_sides(SidedContext& context) noexcept {
  void** place = context.storage;
  for (size_t index = 0; index < fast_class_count; index++) {
    context.free_bottoms[index] = place + list_nulls;
    place += list_nulls + free_side_blocks_of(index);
    context.limits[index] = place;
    context.allocation_bottoms[index] = place + list_nulls;
    place += list_nulls + side_blocks_of(index);
    context.tops[index].store_init(context.free_bottoms[index]);
    context.tops[allocation_index(index)].store_init(context.allocation_bottoms[index]);
  }
  learn_classes(context);
  for (uint8_t& index : context.class_of_units) {
    index = static_cast<uint8_t>(allocation_index(index));
  }
}

inline bool has_sides(const ThreadContext& context) noexcept {
  return context.operations != nullptr && context.operations->has_sides;
}
// The calling thread's context, if it has two sides; null: it has not.
TALUS_FAST SidedContext* current_sides() noexcept {
  ThreadContext& context = current_context();
  if (TALUS_LIKELY(context.operations == nullptr)) return nullptr;
  return context.operations->has_sides ? static_cast<SidedContext*>(&context) : nullptr;
}

// Places of a side that are not empty: that of an idle thread may have gaps.
TALUS_NO_RACE_CHECK inline size_t blocks_on(const Side& side) noexcept {
  size_t blocks = 0;
  const size_t length = side.length();
  for (size_t i = 0; i < length; i++) blocks += side.bottom[i] != nullptr ? 1 : 0;
  return blocks;
}

// Calls that modes were not told of, by class. Exact while the thread makes no call.
struct SideCounts {
  uint64_t allocations[class_count] = {};
  uint64_t frees[class_count] = {};
};
inline void add_side_counts(SideCounts& counts, SidedContext& context) noexcept {
  for (size_t index = 0; index < class_count; index++) {
    counts.allocations[index] += context.begun[index].load_stat();
    counts.frees[index] += context.ended[index].load_stat();
  }
  for (size_t index = 0; index < fast_class_count; index++) {
    const uint64_t moved = context.moved[index].load_stat();
    const uint64_t waiting = blocks_on(allocation_side(context, index));
    counts.allocations[index] += moved > waiting ? moved - waiting : 0;
    counts.frees[index] += context.left[index].load_stat();
    counts.frees[index] += blocks_on(free_side(context, index));
  }
}

}  // namespace talus::core

#endif  // TALUS_HEAP_SIDES_HPP
