// SPDX-License-Identifier: MIT
// paths/alloc_slow: what malloc does when the list of the class is empty.
//
// Owns: which way a request takes; aligned blocks. paths/alloc.hpp has the outline.
// Called on: any thread.
#ifndef TALUS_PATHS_ALLOC_SLOW_HPP
#define TALUS_PATHS_ALLOC_SLOW_HPP

#include "base/base.hpp"
#include "classes/fitted.hpp"
#include "classes/size_class.hpp"
#include "heap/modes.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/sides.hpp"
#include "cache/fitting.hpp"
#include "cache/large_cache.hpp"
#include "cache/refill.hpp"
#include "cache/side_refill.hpp"
#include "cache/idle_caches.hpp"
#include "cache/medium_lists.hpp"

namespace talus::core {

// Defined in reclaim/purge_now.hpp. There was no memory for `bytes`: should the caller try again?
// The first attempt has number 0. The caller holds no lock and is in no slow path.
TALUS_HOOK bool find_memory(size_t bytes, unsigned attempt) noexcept;

// Runs attempt() until it succeeds or find_memory() gives up. The result is a block or a handle;
// null or zero: no memory. For slow paths; those that call this need not call offer_work()
// themselves.
template <typename Attempt>
TALUS_FAST auto allocate_with(size_t bytes, Attempt attempt) noexcept {
  auto made = attempt();
  for (unsigned tries = 0; TALUS_UNLIKELY(!made) && find_memory(bytes, tries); tries++) {
    made = attempt();
  }
  offer_work();
  return made;
}

// Blocks that a thread has at hand beyond the fast paths. Null: there is none, the owner must come
// back, or the context is no cache. These functions call nothing, so they save no register for a
// call. The first pops the newest block of a slow list, or of the next class if that may serve.
TALUS_FAST void* pop_slow(ClassId id, Fit fit, ThreadContext& context) noexcept {
  const BriefWork work{context};
  if (TALUS_UNLIKELY(!work.may_begin)) return nullptr;
  return pop_fitting(static_cast<ThreadCache&>(context), id, fit);
}
// A large block that the thread kept, for `bytes` bytes if these exceed `more_than`.
TALUS_FAST void* pop_kept_block(size_t bytes, size_t more_than, ThreadContext& context) noexcept {
  const bool may_be_kept = bytes > more_than && bytes <= large_kept_slices * slice_bytes;
  return may_be_kept ? take_kept_at_hand(context, bytes) : nullptr;
}
// Blocks of fitted classes come from pop_fitted(), so that this has no more to look at.
TALUS_FAST void* take_at_hand(size_t bytes, ThreadContext& context) noexcept {
  if (TALUS_LIKELY(bytes - fast_bytes_max - 1 < medium_bytes_max - fast_bytes_max)) {
    const ClassId id = fitted_classes.class_near(bytes);
    return TALUS_LIKELY(!is_fitted(id)) ? pop_slow(id, Fit::near, context) : nullptr;
  }
  return pop_kept_block(bytes, medium_bytes_max, context);
}
// The context is a cache.
TALUS_FAST void* pop_fitted(size_t bytes, ThreadContext& context) noexcept {
  ClassId id{};
  if (TALUS_LIKELY(bytes <= fast_bytes_max || bytes > fitted_bytes_max)) return nullptr;
  return fitted_classes.find(bytes, id) ? pop_slow(id, Fit::exact, context) : nullptr;
}

// A block of more than fast_bytes_max bytes by way of a cache. Where there is no memory for a slab
// of a fitted class, there may be some for a shorter one, or for a block of its own.
TALUS_SLOW BlockMade allocate_above_fast(ThreadCache& cache, size_t bytes, Fit fit) noexcept {
  ClassId id{};
  if (!find_slow_class(cache, bytes, id)) return allocate_large(&cache, bytes, slice_bytes);
  const BlockMade made = allocate_on(&cache, id, fit);
  if (TALUS_LIKELY(made.block != nullptr) || !is_fitted(id)) return made;
  if (bytes > medium_bytes_max) return allocate_large(&cache, bytes, slice_bytes);
  return allocate_on(&cache, slow_class_of(bytes), fit);
}

// By way of any context; the list of the class may have blocks.
TALUS_USUAL void* allocate_by_context(size_t bytes, ThreadContext& context) noexcept {
  ThreadCache* cache = cache_behind(context);
  const MaybeWorking working{cache};
  if (SidedContext* sides = current_sides()) {
    if (void* block = allocate_by_sides(*sides, bytes, block_alignment, Fit::near)) return block;
  }
  if (TALUS_LIKELY(context.operations == nullptr) && bytes > fast_bytes_max) {
    return allocate_above_fast(*cache, bytes, Fit::near).block;
  }
  if (void* special = allocate_by_mode({bytes, block_alignment, 0})) return special;
  void* block = bytes <= medium_bytes_max ? allocate_on(cache, class_of(bytes), Fit::near).block
                                          : allocate_large(cache, bytes, slice_bytes).block;
  note_allocate(block, bytes);
  return block;
}

// The allocation side of the class was found empty. Null: the usual way.
TALUS_FAST void* refill_side(size_t bytes, SidedContext& context) noexcept {
  const Working working{*context.cache};
  if (TALUS_UNLIKELY(&current_context() != &context)) return nullptr;  // it left its sides
  return pop_from_side(context, *context.cache, class_of(bytes));
}
// The short ways in a context with two sides. Above fast_bytes_max it is pop_slow(), if the modes
// were told of such blocks in advance.
TALUS_APART void* pop_untold(size_t bytes, ThreadContext& found) noexcept {
  if (bytes > medium_bytes_max) return nullptr;
  auto& context = static_cast<SidedContext&>(found);
  if (TALUS_LIKELY(bytes <= fast_bytes_max)) return refill_side(bytes, context);
  const ClassId id = slow_class_of(bytes);
  uint32_t& prepaid = context.prepaid_blocks[index_of(id)];
  const BriefWork work{*context.cache};
  if (TALUS_UNLIKELY(!work.may_begin || prepaid == 0)) return nullptr;
  void* block = pop_fitting(*context.cache, id, Fit::exact);
  if (TALUS_UNLIKELY(block == nullptr)) return nullptr;
  prepaid--;
  context.begun[index_of(id)].own_add(1);
  return block;
}

// By way of the context whose list of the class was found empty.
inline void* allocate_first(size_t bytes, ThreadContext& context) noexcept {
  if (TALUS_UNLIKELY(has_sides(context))) {
    if (void* block = pop_untold(bytes, context)) return block;
  }
  if (context.operations != nullptr || bytes > fast_bytes_max)
    return allocate_by_context(bytes, context);
  auto& cache = static_cast<ThreadCache&>(context);
  const Working working{cache};
  return refill(cache, class_of(bytes));
}

// The way of all contexts; a thread in a mode with ways of its own gets here when these do not do.
TALUS_SLOW void* allocate_usual(size_t bytes, ThreadContext& context) noexcept {
  void* block = allocate_first(bytes, context);
  for (unsigned made = 0; TALUS_UNLIKELY(block == nullptr) && find_memory(bytes, made); made++) {
    block = allocate_by_context(bytes, current_context());  // it may have changed
  }
  offer_work();
  return block;
}
TALUS_APART void* allocate_by_operations(size_t bytes, ThreadContext& context) noexcept {
  if (const Mode* mode = mode_alone(context)) return mode->allocate_alone(bytes, context);
  return allocate_usual(bytes, context);
}

TALUS_SLOW void* allocate_slower(size_t bytes, ThreadContext& context) noexcept {
  if (context.operations != nullptr) return allocate_by_operations(bytes, context);
  if (void* block = pop_fitted(bytes, context)) return block;
  return allocate_usual(bytes, context);
}

TALUS_SLOW void* allocate_slow(size_t bytes, ThreadContext& context) noexcept {
  if (void* block = take_at_hand(bytes, context)) return block;
  return allocate_slower(bytes, context);
}

// Does any block for this request lie at a multiple of its alignment? Blocks above fast_bytes_max
// begin at cache lines, those of fitted classes too.
TALUS_FAST bool is_aligned_anyway(size_t alignment, size_t bytes) noexcept {
  return alignment <= cache_line_bytes && bytes > fast_bytes_max;
}

TALUS_USUAL void* allocate_aligned_once(size_t alignment, size_t bytes) noexcept {
  ThreadContext& context = current_context();
  ThreadCache* cache = cache_behind(context);
  const MaybeWorking working{cache};
  if (SidedContext* sides = current_sides()) {
    if (void* block = allocate_by_sides(*sides, bytes, alignment, Fit::exact)) return block;
  }
  if (context.operations == nullptr && is_aligned_anyway(alignment, bytes)) {
    return allocate_above_fast(*cache, bytes, Fit::near).block;
  }
  if (void* special = allocate_by_mode({bytes, alignment, 0})) return special;
  void* block = nullptr;
  if (has_class(bytes, alignment)) {
    block = allocate_on(cache, class_of_aligned(bytes, alignment), Fit::exact).block;
  } else {
    const size_t aligned = alignment > slice_bytes ? alignment : slice_bytes;
    block = allocate_large(cache, bytes, aligned).block;
  }
  note_allocate(block, bytes);
  return block;
}

TALUS_SLOW void* allocate_aligned_slower(size_t alignment, size_t bytes) noexcept {
  return allocate_with(bytes, [=]() noexcept { return allocate_aligned_once(alignment, bytes); });
}

// A block at a multiple of `alignment`, a power of two; null: no memory.
TALUS_SLOW void* allocate_aligned_slow(size_t alignment, size_t bytes) noexcept {
  ThreadContext& context = current_context();
  TALUS_ASSERT(is_power_of_two(alignment));
  // allocate_slow counts on an empty list; for zero bytes the list may have blocks.
  if (alignment < block_alignment) alignment = block_alignment;
  void* block = nullptr;
  if (is_aligned_anyway(alignment, bytes)) {
    block = take_at_hand(bytes, context);
    if (block == nullptr && context.operations == nullptr) block = pop_fitted(bytes, context);
  } else if (has_class(bytes, alignment)) {
    const size_t rounded = bytes_at_alignment(bytes, alignment);
    // No other class: its blocks may lie elsewhere.
    if (rounded > fast_bytes_max) block = pop_slow(slow_class_of(rounded), Fit::exact, context);
  } else if (alignment <= slice_bytes) {
    block = pop_kept_block(bytes, 0, context);
  }
  if (block != nullptr) return block;
  return allocate_aligned_slower(alignment, bytes);
}

}  // namespace talus::core

#endif  // TALUS_PATHS_ALLOC_SLOW_HPP
