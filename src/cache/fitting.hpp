// SPDX-License-Identifier: MIT
// cache/fitting: for which sizes the process makes fitted classes, and blocks of these.
//
// A thread whose list was empty notes the size that it asked for. A row of requests for one size,
// among sizes of the same fixed class, makes a class for that size. Sizes of a program that uses
// many at once seldom stand in such a row. So its threads go on with the fixed classes, where a
// free block serves many sizes.
// Owns: the rows of each thread, and the decision. Invariant: processes whose options need slabs of
// known classes make none.
// Called on: the thread that owns the cache, in a slow path without a lock.
#ifndef TALUS_CACHE_FITTING_HPP
#define TALUS_CACHE_FITTING_HPP

#include "base/base.hpp"
#include "classes/fitted.hpp"
#include "classes/size_class.hpp"
#include "settings/machine.hpp"
#include "settings/options.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/block_states.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"

namespace talus::core {

// What a block of this size takes without a fitted class, with its share of its slab.
inline size_t usual_bytes_each(size_t bytes) noexcept {
  if (bytes > medium_bytes_max) return round_up(bytes, slice_bytes);
  const SizeClass& fixed = size_class_row(slow_class_of(bytes));
  return fixed.slab_slices * slice_bytes / fixed.block_count;
}
// Does a class of its own serve this size better?
inline bool is_worth_a_class(size_t bytes, const SizeClass& fitted) noexcept {
  if (bytes >= fitted_spread_bytes_min && bytes <= medium_bytes_max) return true;
  const size_t usual = usual_bytes_each(bytes);
  const size_t bytes_each = fitted.slab_slices * slice_bytes / fitted.block_count;
  return bytes_each + usual / fitted_saved_part < usual;
}

// A slab of a fitted class is long, and its untouched part counts against a limit.
inline bool is_long_for_limit(const SizeClass& fitted) noexcept {
  const size_t limit = limits.hard_bytes.load_hint();
  return limit != 0 && fitted.slab_slices * slice_bytes > limit / fitted_limit_part;
}

// Options that tell slabs apart, or put something between blocks, need fixed classes.
inline bool may_make_classes() noexcept {
  return !options.keep_classes && !options.guard_pages && !keeps_block_states();
}

TALUS_APART void make_fitted_class(size_t bytes) noexcept {
  Held held{registry.lock};
  fitted_classes.make(bytes, [](ClassId id) noexcept {
    const size_t most = list_blocks_of(size_class_row(id).block_bytes, options.list_bytes);
    uint16_t& bound = list_bounds.blocks_max[index_of(id)];
    if (most < bound) bound = static_cast<uint16_t>(most);
  });
}

static_assert(fitted_block_bytes_max / cache_line_bytes <= UINT16_MAX, "a row holds its size");

inline size_t request_row_of(size_t bytes) noexcept {
  return bytes > medium_bytes_max ? request_rows - 1
                                  : index_of(slow_class_of(bytes)) - fast_class_count;
}

// A thread asks for this size, and has no block of it at hand.
TALUS_SLOW void note_request(ThreadCache& cache, size_t bytes) noexcept {
  RequestRow& row = cache.requests[request_row_of(bytes)];
  const auto block_lines = static_cast<uint16_t>(fitted_bytes_of(bytes) / cache_line_bytes);
  if (row.block_lines != block_lines) {
    row.block_lines = block_lines;
    row.length = 0;
  }
  if (row.length == RequestRow::refused) return;
  const uint32_t wanted = bytes < fitted_spread_bytes_min ? fitted_row_small : fitted_row;
  if (++row.length < wanted) return;
  row.length = 0;
  if (!may_make_classes() || !fitted_classes.has_room_for(bytes)) return;
  const SizeClass fitted = derive_fitted_class(bytes);
  if (!is_worth_a_class(bytes, fitted)) {
    row.length = RequestRow::refused;
  } else if (!is_long_for_limit(fitted)) {
    make_fitted_class(bytes);
  }
}

// The class for a request above fast_bytes_max of which the thread has no block at hand. False:
// large.
inline bool find_slow_class(ThreadCache& cache, size_t bytes, ClassId& id) noexcept {
  TALUS_ASSERT(bytes > fast_bytes_max);
  if (bytes > fitted_bytes_max) return false;
  if (fitted_classes.find(bytes, id)) return true;
  note_request(cache, bytes);
  if (bytes > medium_bytes_max) return false;
  id = slow_class_of(bytes);
  return true;
}

}  // namespace talus::core

#endif  // TALUS_CACHE_FITTING_HPP
