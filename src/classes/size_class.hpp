// SPDX-License-Identifier: MIT
// classes/size_class: which block sizes exist, and which of them serves a request.
//
// Owns: the derivation, the table and its inverse, all computed at compile time from the roots in
// base/config.hpp. Rule: multiples of 16 bytes up to 128. Then 8 classes to each doubling up to
// small_bytes_max, so that rounding wastes at most 1/8 and 1/16 on average. Then 4 up to
// medium_bytes_max, in short slabs of few blocks. Every power of two is a class, so that aligned
// blocks are block starts (slabs are slice aligned). These classes are fixed. Behind them are
// places for fitted classes, which are made while the program runs (classes/fitted.hpp).
// Invariant: the fixed classes are monotone, complete, minimal; tests/unit/classes proves it for
// every size.
#ifndef TALUS_CLASSES_SIZE_CLASS_HPP
#define TALUS_CLASSES_SIZE_CLASS_HPP

#include "base/base.hpp"

namespace talus::core {

inline constexpr size_t linear_class_count = linear_bytes_max / block_alignment;
inline constexpr size_t classes_per_doubling = size_t{1} << class_spacing_shift;
inline constexpr size_t medium_per_doubling = size_t{1} << medium_spacing_shift;
inline constexpr size_t small_class_count =
    linear_class_count +
    classes_per_doubling * (highest_bit(small_bytes_max) - highest_bit(linear_bytes_max));
inline constexpr size_t fixed_class_count =
    small_class_count +
    medium_per_doubling * (highest_bit(medium_bytes_max) - highest_bit(small_bytes_max));
inline constexpr size_t fitted_small_first = fixed_class_count;
inline constexpr size_t fitted_medium_first = fitted_small_first + fitted_small_classes;
inline constexpr size_t class_count = fitted_medium_first + fitted_medium_classes;

// The constants of all slabs of one class.
struct SizeClass {
  uint64_t reciprocal = 0;    // divide_by_reciprocal(offset, reciprocal) = index of the block
  uint32_t block_bytes = 0;   // size of each block
  uint32_t block_count = 0;   // blocks in a slab
  uint16_t slab_slices = 0;   // slices of a slab
  uint16_t bitmap_words = 0;  // 64-bit words of a bitmap with one bit a block
};

// Bytes of the blocks of a fixed class, by the rule above.
constexpr size_t class_bytes_by_rule(size_t index) noexcept {
  TALUS_ASSERT(index < fixed_class_count);
  if (index < linear_class_count) return (index + 1) * block_alignment;
  const bool is_small = index < small_class_count;
  const size_t step = index - (is_small ? linear_class_count : small_class_count);
  const size_t per_doubling = is_small ? classes_per_doubling : medium_per_doubling;
  const size_t base = (is_small ? linear_bytes_max : small_bytes_max) << (step / per_doubling);
  return base + (step % per_doubling + 1) * (base / per_doubling);
}

// A block of `block_bytes` is too large for fewer bytes than this; another block serves these
// better. The block would waste half of a small block (above the tiny ones) or a quarter of a
// medium one.
constexpr size_t least_bytes_of(size_t block_bytes) noexcept {
  if (block_bytes <= 4 * block_alignment) return 0;
  return block_bytes <= small_bytes_max ? block_bytes / 2 : block_bytes - block_bytes / 4;
}

// How many blocks of `block_bytes` a thread list may hold, where lists may hold `list_bytes`.
// Medium blocks share one bound with large ones (cache/medium_lists.hpp), which one class may use
// up.
constexpr size_t list_blocks_of(size_t block_bytes, size_t list_bytes) noexcept {
  const size_t factor = block_bytes <= fast_bytes_max    ? 1
                        : block_bytes <= small_bytes_max ? slow_list_factor
                                                         : large_kept_factor;
  const size_t blocks = list_bytes * factor / block_bytes;
  if (blocks > list_blocks_max) return list_blocks_max;
  return blocks < list_blocks_min ? list_blocks_min : blocks;
}

// A slab of the first classes has a power of two of slices, and lies at a multiple of its size. So
// the address alone gives the offset of a block in its slab (heap/context.hpp).
inline constexpr size_t self_aligned_bytes_max = slice_bytes / slab_blocks_min;
constexpr bool has_self_aligned_slabs(size_t block_bytes) noexcept {
  return block_bytes <= self_aligned_bytes_max;
}

// Slices of the slabs of a class.
constexpr size_t slab_slices_of(size_t block_bytes) noexcept {
  const bool is_small = block_bytes <= small_bytes_max;
  const bool is_power = has_self_aligned_slabs(block_bytes);
  const size_t bytes_min = is_small ? block_bytes * slab_blocks_min : block_bytes;
  size_t slices = divide_up(bytes_min, slice_bytes);
  if (block_bytes <= fast_bytes_max) return slices;
  while (slices * slice_bytes % block_bytes > slices * slice_bytes / slab_rest_part) {
    slices += is_power ? slices : 1;
  }
  return slices;
}

constexpr SizeClass make_size_class(size_t bytes, size_t slices, size_t front_room) noexcept {
  SizeClass derived;
  const size_t blocks = (slices * slice_bytes - front_room) / bytes;
  derived.block_bytes = static_cast<uint32_t>(bytes);
  derived.reciprocal = reciprocal_of(bytes);
  derived.block_count = static_cast<uint32_t>(blocks);
  derived.slab_slices = static_cast<uint16_t>(slices);
  derived.bitmap_words = static_cast<uint16_t>(divide_up(blocks, 64));
  return derived;
}
constexpr SizeClass derive_size_class(size_t index) noexcept {
  const size_t bytes = class_bytes_by_rule(index);
  return make_size_class(bytes, slab_slices_of(bytes), 0);
}

// Blocks of a fitted class for requests of this size are this large. An odd number of cache lines
// spreads neighbours over all sets of a processor's cache. Blocks for large requests are larger
// than all for medium ones.
constexpr size_t fitted_bytes_of(size_t bytes) noexcept {
  const size_t lines = divide_up(bytes, cache_line_bytes) + (bytes <= medium_bytes_max ? 0 : 2);
  return (lines | 1) * cache_line_bytes;
}
inline constexpr size_t fitted_block_bytes_max = fitted_bytes_of(fitted_bytes_max);
inline constexpr size_t fitted_medium_bytes_max = fitted_bytes_of(medium_bytes_max);
// Does a freed block go to its slab at once? Then each second free of it is told, as with blocks of
// their own, which are as large.
TALUS_FAST constexpr bool is_home_at_once(size_t block_bytes) noexcept {
  return block_bytes > fitted_medium_bytes_max;
}
// A slab of few large blocks begins with a number of bytes, less than this, that differs from slab
// to slab. So its blocks begin in other sets than those of the slab before.
inline constexpr size_t fitted_front_room = page_bytes_min;
constexpr size_t fitted_front_room_of(size_t block_bytes) noexcept {
  return block_bytes <= small_bytes_max ? 0 : fitted_front_room;
}
inline constexpr size_t fitted_slab_bytes_max = fitted_slices_max * slice_bytes;
// Blocks in a slab of this length.
constexpr size_t fitted_blocks_of(size_t block_bytes, size_t slices) noexcept {
  return (slices * slice_bytes - fitted_front_room_of(block_bytes)) / block_bytes;
}
// Slabs of this length lie in one arena, which has a length that suits them (space/arenas.hpp).
// What part of it is blocks, in 1/2^16?
constexpr size_t fitted_share_of(size_t block_bytes, size_t slices) noexcept {
  const size_t slab_bytes = slices * slice_bytes;
  const size_t blocks_bytes = fitted_blocks_of(block_bytes, slices) * block_bytes;
  // Only arenas of few ranges are made to suit them.
  const size_t last = is_home_at_once(block_bytes) ? arena_longer_max : fitted_slab_bytes_max;
  size_t best = 0;
  for (size_t bytes = fitted_slab_bytes_max; bytes <= last; bytes += arena_alignment) {
    const size_t share = (bytes / slab_bytes * blocks_bytes << 16) / bytes;
    if (share > best) best = share;
  }
  return best;
}
// The least number of slices from `first` on whose share is this, or `last`.
constexpr size_t fitted_slices_with(size_t block_bytes, size_t share, size_t first,
                                    size_t last) noexcept {
  while (first < last && fitted_share_of(block_bytes, first) < share) first++;
  return first;
}
// Slices of the slabs of a fitted class. Long slabs are seldom empty, so that less of them goes
// back. A shorter slab is worth a little memory, and more where it would be long.
constexpr size_t fitted_slices_of(size_t block_bytes) noexcept {
  const size_t blocks_min = block_bytes <= small_bytes_max ? slab_blocks_min : 2;
  const size_t front_room = fitted_front_room_of(block_bytes);
  const size_t first = divide_up(block_bytes * blocks_min + front_room, slice_bytes);
  size_t last = first, best = 0;
  for (size_t slices = first; slices <= fitted_slices_max; slices++) {
    if (fitted_blocks_of(block_bytes, slices) > fitted_blocks_max) break;
    const size_t share = fitted_share_of(block_bytes, slices);
    if (share > best) best = share;
    last = slices;
  }
  if (is_home_at_once(block_bytes)) return fitted_slices_with(block_bytes, best, first, last);
  const size_t nearly = best - best / fitted_rest_part;
  const size_t slices = fitted_slices_with(block_bytes, nearly, first, last);
  if (slices <= fitted_slices_usual) return slices;
  return fitted_slices_with(block_bytes, best - best / fitted_long_rest_part, first, last);
}
constexpr SizeClass derive_fitted_class(size_t bytes) noexcept {
  const size_t block_bytes = fitted_bytes_of(bytes);
  return make_size_class(block_bytes, fitted_slices_of(block_bytes),
                         fitted_front_room_of(block_bytes));
}

// The distance of classes above fast_bytes_max, or a divisor of it.
inline constexpr size_t class_step_bytes = fast_bytes_max / classes_per_doubling;

struct SizeClassTable {
  SizeClass rows[fixed_class_count] = {};
  // Class of a request of n bytes: class_of_units[(n + 15) / 16]; zero bytes map to class 0. Above
  // fast_bytes_max: class_of_steps, by class_step_bytes.
  uint8_t class_of_units[small_bytes_max / block_alignment + 1] = {};
  uint8_t class_of_steps[medium_bytes_max / class_step_bytes + 1] = {};
};

constexpr SizeClassTable derive_size_class_table() noexcept {
  SizeClassTable table;
  size_t units = 0, steps = 0;
  for (size_t index = 0; index < fixed_class_count; index++) {
    table.rows[index] = derive_size_class(index);
    const size_t bytes = table.rows[index].block_bytes;
    for (; units * block_alignment <= bytes && bytes <= small_bytes_max; units++) {
      table.class_of_units[units] = static_cast<uint8_t>(index);
    }
    for (; steps * class_step_bytes <= bytes; steps++) {
      table.class_of_steps[steps] = static_cast<uint8_t>(index);
    }
  }
  return table;
}

inline constexpr SizeClassTable size_class_table = derive_size_class_table();

// The least size of the blocks of this class, also if it is not made yet.
constexpr size_t least_block_bytes_at(size_t index) noexcept {
  if (index < fixed_class_count) return size_class_table.rows[index].block_bytes;
  return fitted_bytes_of((index < fitted_medium_first ? fast_bytes_max : small_bytes_max) + 1);
}

// The rows of all classes. Places of fitted classes have the rows of the smallest ones until a
// class is made there; no slab has such a class.
struct SizeClassRows {
  SizeClass rows[class_count] = {};
};
constexpr SizeClassRows derive_size_class_rows() noexcept {
  SizeClassRows all;
  for (size_t index = 0; index < class_count; index++) {
    all.rows[index] = index < fixed_class_count ? size_class_table.rows[index]
                                                : derive_fitted_class(least_block_bytes_at(index));
  }
  return all;
}
TALUS_CONSTINIT inline SizeClassRows size_class_rows = derive_size_class_rows();

// Class that serves a request of at most small_bytes_max bytes.
TALUS_FAST constexpr ClassId small_class_of(size_t bytes) noexcept {
  TALUS_ASSERT(bytes <= small_bytes_max);
  return ClassId{size_class_table.class_of_units[(bytes + block_alignment - 1) / block_alignment]};
}
// Class that serves a request of more than fast_bytes_max and at most medium_bytes_max bytes. There
// is one way for all of them, because branches on the size would be mispredicted.
TALUS_FAST constexpr ClassId slow_class_of(size_t bytes) noexcept {
  TALUS_ASSERT(bytes > fast_bytes_max && bytes <= medium_bytes_max);
  return ClassId{
      size_class_table.class_of_steps[(bytes + class_step_bytes - 1) / class_step_bytes]};
}
// Class that serves a request of at most medium_bytes_max bytes.
TALUS_FAST constexpr ClassId class_of(size_t bytes) noexcept {
  return bytes <= fast_bytes_max ? small_class_of(bytes) : slow_class_of(bytes);
}
TALUS_FAST constexpr bool is_fitted(ClassId id) noexcept {
  return index_of(id) >= fixed_class_count;
}
// Is it a class whose blocks leave their slabs one at a time?
TALUS_FAST constexpr bool is_medium(ClassId id) noexcept {
  const size_t index = index_of(id);
  return index >= small_class_count && index - fitted_small_first >= fitted_small_classes;
}
// May a block of the next class serve a request for this one?
TALUS_FAST constexpr bool has_next_medium(ClassId id) noexcept {
  return index_of(id) - small_class_count < fixed_class_count - small_class_count - 1;
}

TALUS_FAST const SizeClass& size_class_row(ClassId id) noexcept {
  TALUS_ASSERT(index_of(id) < class_count);
  return size_class_rows.rows[index_of(id)];
}

// The slabs of a class lie at multiples of this.
inline size_t slab_alignment_of(ClassId id) noexcept {
  const SizeClass& row = size_class_row(id);
  const bool is_self_aligned = !is_fitted(id) && has_self_aligned_slabs(row.block_bytes);
  return is_self_aligned ? row.slab_slices * slice_bytes : slice_bytes;
}

// The request that yields blocks of at least `bytes` bytes at multiples of `alignment`, a power of
// two: the next multiple above zero. Between two powers of two the classes lie equally far apart.
// If that distance is a multiple of the alignment, so are the classes; if the alignment is larger,
// its multiples are classes. `bytes` must be at most PTRDIFF_MAX.
TALUS_FAST constexpr size_t bytes_at_alignment(size_t bytes, size_t alignment) noexcept {
  return round_up(bytes + (bytes == 0 ? 1 : 0), alignment);
}

// Is there a class for such a block that is not much larger? Slabs lie at multiples of a slice. For
// few bytes at a multiple of a slice, a page is better than a block of a slice.
TALUS_FAST constexpr bool has_class(size_t bytes, size_t alignment) noexcept {
  return bytes <= small_bytes_max ? alignment <= small_bytes_max
                                  : bytes <= medium_bytes_max && alignment <= slice_bytes;
}

// The smallest class whose blocks hold `bytes` and all start at multiples of `alignment` (a power
// of two). The caller checks has_class().
constexpr ClassId class_of_aligned(size_t bytes, size_t alignment) noexcept {
  TALUS_ASSERT(has_class(bytes, alignment));
  return class_of(bytes_at_alignment(bytes, alignment));
}

// How many blocks the first place of a list has room for. A list outgrows it only after it ran
// empty often; a list that runs over stays within it (heap/lists.hpp). Lists of larger blocks are
// short anyway.
constexpr size_t first_list_blocks_of(size_t block_bytes, size_t most) noexcept {
  if (block_bytes > fast_bytes_max) return most;
  size_t first = most / list_over_part;
  if (first > list_batch_blocks) first = list_batch_blocks;
  if (first < list_blocks_start) first = list_blocks_start;
  return first < most ? first : most;
}

// Where the lists of a thread lie in its array of places, and how many blocks each may hold. All
// lists have a first place, close to each other, so that a thread touches few pages. A list that
// may become longer has a usual place as well, behind all first places. Lists of fitted classes,
// which few programs have, lie behind all others. Two nulls lie before each place.
struct ListBounds {
  uint16_t blocks_max[class_count] = {};
  uint16_t first_blocks[class_count] = {};  // in the first place
  uint16_t first_start[class_count] = {};
  uint16_t usual_start[class_count] = {};  // 0: the first place has room for all blocks
  uint32_t places = 0;                     // of all lists
};

// The nulls below the first block of each list (heap/context.hpp).
inline constexpr size_t list_nulls = 2;

constexpr uint16_t take_places(ListBounds& bounds, size_t blocks) noexcept {
  TALUS_ASSERT(blocks != 0 && bounds.places + list_nulls + blocks <= 0xffff);
  const auto start = static_cast<uint16_t>(bounds.places + list_nulls);
  bounds.places += static_cast<uint32_t>(blocks + list_nulls);
  return start;
}

constexpr ListBounds derive_list_bounds(size_t list_bytes) noexcept {
  TALUS_ASSERT(list_bytes <= list_bytes_most);
  ListBounds bounds;
  for (size_t index = 0; index < class_count; index++) {
    const size_t block_bytes = least_block_bytes_at(index);
    const size_t most = list_blocks_of(block_bytes, list_bytes);
    const size_t first = first_list_blocks_of(block_bytes, most);
    bounds.blocks_max[index] = static_cast<uint16_t>(most);
    bounds.first_blocks[index] = static_cast<uint16_t>(first);
    if (index < fixed_class_count) bounds.first_start[index] = take_places(bounds, first);
  }
  for (size_t index = 0; index < class_count; index++) {
    const size_t most = bounds.blocks_max[index], first = bounds.first_blocks[index];
    if (index >= fixed_class_count) bounds.first_start[index] = take_places(bounds, first);
    if (most != first) bounds.usual_start[index] = take_places(bounds, most);
  }
  return bounds;
}

inline constexpr size_t list_places_most = derive_list_bounds(list_bytes_most).places;
static_assert(list_places_most <= 0xffff, "the start of each list fits in 16 bits");

constexpr size_t bitmap_words_max() noexcept {
  size_t most = divide_up(fitted_blocks_max, 64);
  for (const SizeClass& row : size_class_table.rows) {
    if (row.bitmap_words > most) most = row.bitmap_words;
  }
  return most;
}

// Of fixed classes.
constexpr size_t slab_bytes_max() noexcept {
  size_t most = 0;
  for (const SizeClass& row : size_class_table.rows) {
    if (row.slab_slices * slice_bytes > most) most = row.slab_slices * slice_bytes;
  }
  return most;
}

static_assert(class_bytes_by_rule(small_class_count - 1) == small_bytes_max &&
                  class_bytes_by_rule(fixed_class_count - 1) == medium_bytes_max,
              "the last classes are exactly the largest small and the largest medium block");
static_assert(class_count <= 255, "a class id fits in a byte");
constexpr bool classes_are_sound() noexcept {
  for (size_t index = 0; index < fixed_class_count; index++) {
    const SizeClass& row = size_class_table.rows[index];
    if (index > 0 && row.block_bytes <= size_class_table.rows[index - 1].block_bytes) return false;
    if (row.block_bytes % block_alignment != 0 || row.block_count == 0) return false;
    if (size_t{row.block_count} * row.block_bytes > row.slab_slices * slice_bytes) return false;
    if (row.block_count > row.bitmap_words * 64u) return false;
    if (index_of(class_of(row.block_bytes)) != index) return false;
  }
  return true;
}
static_assert(classes_are_sound(),
              "classes rise, their blocks fit their slabs, and serve themselves");
static_assert(index_of(class_of(0)) == 0 &&
                  index_of(class_of(medium_bytes_max)) == fixed_class_count - 1,
              "the first and the last request have a class");
static_assert(fast_bytes_max % class_step_bytes == 0, "steps begin where units end");
static_assert(class_step_bytes % cache_line_bytes == 0, "blocks of steps begin at cache lines");
static_assert(fast_bytes_max < small_bytes_max && class_spacing_shift >= medium_spacing_shift,
              "classes above fast_bytes_max are multiples of a step");
static_assert(is_power_of_two(small_bytes_max) && is_power_of_two(medium_bytes_max),
              "the next multiple of an alignment is in a slab, too");
constexpr bool divisions_are_exact(size_t slab_bytes, size_t block_bytes) noexcept {
  return slab_bytes * block_bytes < (size_t{1} << reciprocal_shift);
}
static_assert(fitted_slab_bytes_max >= 2 * fitted_block_bytes_max + fitted_front_room,
              "a slab has at least two blocks");
static_assert(divisions_are_exact(slab_bytes_max(), medium_bytes_max) &&
                  divisions_are_exact(fitted_slab_bytes_max, fitted_block_bytes_max) &&
                  slice_bytes / block_alignment < (size_t{1} << (64 - reciprocal_shift)),
              "division by reciprocal is exact for every offset in every slab");

}  // namespace talus::core

#endif  // TALUS_CLASSES_SIZE_CLASS_HPP
