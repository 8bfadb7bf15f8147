// SPDX-License-Identifier: MIT
// heap/lists: the lists of free blocks that a thread holds, one for each class.
//
// Lists of some classes may also hold blocks of other heaps: foreign blocks.
// Owns: where lists lie in a cache, how many blocks they may hold, and how many move at a time.
// Invariants: while a thread lives, the capacity of a list of small blocks only grows, up to
// list_bounds. Beyond these bounds, cache/wide_lists.hpp decides. A list's blocks lie between its
// bottom and its top (heap/context.hpp). A list begins in its first place. It moves only while it
// is empty and the heap's lock is held.
// Called on: the thread that owns the cache, or the thread that empties it. Must not know: slabs.
#ifndef TALUS_HEAP_LISTS_HPP
#define TALUS_HEAP_LISTS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"

namespace talus::core {

// The bounds of all lists. The layout is fixed before the first cache is made. Later the bounds may
// only become lower (configuration/configuration.hpp).
TALUS_CONSTINIT inline ListBounds list_bounds = derive_list_bounds(list_bytes_max);

inline size_t list_most_of(ClassId id) noexcept { return list_bounds.blocks_max[index_of(id)]; }

// May lists of this class hold foreign blocks? The first is for fixed classes. Blocks of fitted
// classes are whole cache lines.
inline constexpr size_t foreign_class_first = index_of(class_of(foreign_bytes_min));
TALUS_FAST bool may_have_fixed_foreign(ClassId id) noexcept {
  return index_of(id) - foreign_class_first < small_class_count - foreign_class_first;
}
TALUS_FAST bool may_have_foreign(ClassId id) noexcept {
  return may_have_fixed_foreign(id) || index_of(id) - fitted_small_first < fitted_small_classes;
}
constexpr bool foreign_blocks_share_no_line() noexcept {
  for (size_t index = foreign_class_first; index < small_class_count; index++) {
    if (size_class_table.rows[index].block_bytes % cache_line_bytes != 0) return false;
  }
  return true;
}
static_assert(foreign_blocks_share_no_line(),
              "two processors may use blocks that lie beside each other");

// The bit of a class in its word.
TALUS_FAST uint64_t class_bit(ClassId id) noexcept { return uint64_t{1} << (index_of(id) % 64); }
// Where a list's first block lies; list.top equals this when the list is empty.
TALUS_FAST void** list_bottom(ThreadCache& cache, ClassId id) noexcept {
  return cache.bottoms[index_of(id)];
}
// Where a list lies until it becomes longer.
inline void** first_place(ThreadCache& cache, ClassId id) noexcept {
  return &cache.storage[list_bounds.first_start[index_of(id)]];
}
inline bool is_wide(ThreadCache& cache, ClassId id) noexcept {
  const WideLists& wide = cache.wide;
  return wide.bottoms != nullptr && list_bottom(cache, id) == wide.bottoms[index_of(id)];
}
// For classes that the fast paths do not use.
TALUS_FAST ThreadList slow_list_of(ThreadCache& cache, ClassId id) noexcept {
  TALUS_ASSERT(index_of(id) >= fast_class_count && index_of(id) < class_count);
  const size_t slow = index_of(id) - fast_class_count;
  return ThreadList{cache.slow_tops[slow], cache.slow_limits[slow]};
}
// For the others, by index.
TALUS_FAST ThreadList fast_list_of(ThreadCache& cache, size_t index) noexcept {
  TALUS_ASSERT(index < fast_class_count);
  return ThreadList{cache.tops[index], cache.limits[index]};
}
TALUS_FAST ThreadList list_of(ThreadCache& cache, ClassId id) noexcept {
  const size_t index = index_of(id);
  if (index < fast_class_count) return fast_list_of(cache, index);
  return slow_list_of(cache, id);
}
inline size_t list_length(ThreadCache& cache, ClassId id) noexcept {
  // A statistic for other threads, the owner's own for the owner.
  return static_cast<size_t>(list_of(cache, id).top.load_stat() - list_bottom(cache, id));
}
inline size_t list_capacity(ThreadCache& cache, ClassId id) noexcept {
  return static_cast<size_t>(list_of(cache, id).limit - list_bottom(cache, id));
}

// The first capacity of a list of small blocks, set when the thread first allocates of the class.
// Until then it is 0. For large blocks it is 1: a thread that allocates one block of each of many
// classes would otherwise hold the rest for no use.
inline size_t list_first_of(ClassId id) noexcept {
  const size_t by_bytes = list_bytes_start / size_class_row(id).block_bytes;
  if (by_bytes == 0) return 1;
  const size_t blocks = by_bytes < list_blocks_start ? by_bytes : list_blocks_start;
  return blocks < list_most_of(id) ? blocks : list_most_of(id);
}
inline bool is_begun(ThreadCache& cache, ClassId id) noexcept {
  return list_of(cache, id).limit != list_bottom(cache, id);
}
// The capacity that a list may reach by running full. At least a few blocks: otherwise each further
// block would need its own trip to the slabs. At most the first place, because the list is not
// empty then and cannot move. Slow lists do not grow this way.
inline size_t list_over_of(ClassId id) noexcept {
  if (index_of(id) >= fast_class_count) return 0;
  const size_t most = list_most_of(id) / list_over_part;
  const size_t first = list_bounds.first_blocks[index_of(id)];
  const size_t least = most < list_blocks_min ? list_blocks_min : most;
  return least < first ? least : first;
}

// Twice the capacity of a list, up to `most`.
TALUS_FAST size_t larger_capacity(size_t capacity, size_t most) noexcept {
  return 2 * capacity < most ? 2 * capacity : most;
}

// Moves an empty list to another place, with room for `capacity` blocks. Returns where it begins.
// The caller holds the heap's lock, so that a fork and statistics find the list in one place.
TALUS_SLOW void** move_list(Held<HeapLock>&, ThreadCache& cache, ClassId id, void** bottom,
                            size_t capacity) noexcept {
  TALUS_ASSERT(list_length(cache, id) == 0 && bottom != nullptr);
  cache.bottoms[index_of(id)] = bottom;
  const ThreadList list = list_of(cache, id);
  list.top.store_own(bottom);  // in the lock
  list.limit = bottom + capacity;
  return bottom;
}

// Gives an empty list room for `capacity` blocks, at most the usual number of its class. Returns
// where it begins; the list may have moved. The caller holds the heap's lock.
TALUS_FAST void** lengthen_list(Held<HeapLock>& held, ThreadCache& cache, ClassId id,
                                size_t capacity) noexcept {
  TALUS_ASSERT(list_length(cache, id) == 0 && capacity <= list_most_of(id));
  void** bottom = list_bottom(cache, id);
  const size_t index = index_of(id);
  if (TALUS_UNLIKELY(capacity > list_bounds.first_blocks[index]) &&
      bottom == first_place(cache, id)) {
    bottom = &cache.storage[list_bounds.usual_start[index]];
    return move_list(held, cache, id, bottom, capacity);
  }
  list_of(cache, id).limit = bottom + capacity;
  return bottom;
}

// The block of a list that was freed last; null: the list is empty.
TALUS_FAST void* pop_from_list(ThreadList list) noexcept {
  void** top = list.top.load_own();
  void* block = top[-1];
  if (block != nullptr) list.top.store_own(top - 1);
  return block;
}

// Pushes a block of the cache's heap on the list of its class. False: the list is at its capacity.
TALUS_FAST bool push_within(ThreadList list, void* block) noexcept {
  void** top = list.top.load_own();
  TALUS_ASSERT(block != nullptr);  // a null ends a list
  if (TALUS_UNLIKELY(top == list.limit)) return false;
  *top = block;
  list.top.store_own(top + 1);
  return true;
}
// Like push_within(), but a full list grows a little if it has begun. Medium lists grow elsewhere,
// where their bytes are counted (cache/medium_lists.hpp). A thread that mostly frees must not fill
// its lists for no use. A thread that also allocates lets its lists run empty, and refills enlarge
// them. False: the list is full.
TALUS_FAST bool push_on_list(ThreadCache& cache, void* block, ClassId id) noexcept {
  const ThreadList list = list_of(cache, id);
  if (TALUS_LIKELY(push_within(list, block))) return true;
  const size_t capacity = list_capacity(cache, id), most = list_over_of(id);
  if (capacity == 0 || capacity >= most) return false;
  list.limit = list_bottom(cache, id) + larger_capacity(capacity, most);
  return push_within(list, block);
}

// Is this one of the two blocks of its list that were freed last? A search of the whole list would
// cost more than the rest of free. The block's slab finds what this test misses. Two nulls lie
// below the first block.
TALUS_FAST bool is_uppermost(void** top, const void* block) noexcept {
  return top[-1] == block || top[-2] == block;
}
TALUS_FAST bool was_just_freed(ThreadList list, const void* block) noexcept {
  return is_uppermost(list.top.load_own(), block);
}

// Reports a block that is one of the two uppermost of its list.
TALUS_FAST void refuse_just_freed(ThreadCache& cache, const void* block, ClassId id) noexcept {
  if (TALUS_LIKELY(!was_just_freed(list_of(cache, id), block))) return;
  report::double_free(block, size_class_row(id).block_bytes);
}

// How a list develops: it grows when it runs empty, and shrinks when it is full.
enum class Trend : uint8_t { shrinks, grows };

// Notes that a list ran empty or is full. Returns whether the event before was the other one: then
// the trend reversed.
TALUS_FAST bool turn_list(ThreadCache& cache, ClassId id, Trend trend) noexcept {
  uint64_t& word = cache.growing_words[index_of(id) / 64];
  const uint64_t bit = class_bit(id);
  const bool has_reversed = ((word & bit) != 0) != (trend == Trend::grows);
  word = trend == Trend::grows ? word | bit : word & ~bit;
  return has_reversed;
}

// How many blocks to move between the slabs and a list of this capacity, which is empty or full.
// The rule is one half, so that the list may go either way next. A list that repeats its trend
// moves a batch, as far as there is room, because the trip to the slabs costs more than a block.
// Slow lists always move one half: they hold four times as many bytes, so a batch would be too much
// memory.
TALUS_FAST size_t blocks_to_move(ClassId id, size_t capacity, bool has_reversed) noexcept {
  TALUS_ASSERT(capacity != 0);
  const size_t half = (capacity + 1) / 2;
  const bool is_slow_list = index_of(id) >= fast_class_count;
  if (has_reversed || is_slow_list || half >= list_batch_blocks) return half;
  return capacity < list_batch_blocks ? capacity : list_batch_blocks;
}

}  // namespace talus::core

#endif  // TALUS_HEAP_LISTS_HPP
