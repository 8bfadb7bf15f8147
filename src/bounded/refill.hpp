// SPDX-License-Identifier: MIT
// bounded/refill: how blocks move between thread caches and pools.
//
// take_bounded(instance, class, alignment)   a block of this class or of one of the next, or null
//   -> take_from_pool                        a batch into the empty list, or one without a cache
//   -> take_orphans_home                     blocks that a fork left in caches without threads
// give_bounded(instance, class, block)       flushes a batch of a full list first, or one block
//                                            without a cache
//
// Owns: which pools serve a request, and in what order. Invariant: no call moves more than
// bounded_batch_max blocks. Called on: any thread; by its own table.
#ifndef TALUS_BOUNDED_REFILL_HPP
#define TALUS_BOUNDED_REFILL_HPP

#include "talus/bounded.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/pool.hpp"
#include "bounded/cache_end.hpp"
#include "bounded/bounded.hpp"
#include "bounded/lists.hpp"

namespace talus::core {

// A block from the pool, and more for the list, which is empty; null: the pool is used up.
inline void* take_from_pool(Pool& pool, BoundedList& list) noexcept {
  const size_t batch = bounded_batch_of(list.capacity());
  if (batch < 2) {
    void* block = nullptr;
    Held held{pool.lock};
    return pool.take(held, &block, 1) == 1 ? block : nullptr;
  }
  TALUS_ASSERT(list.length() == 0);
  if (fill_list(pool, list, batch) == 0) return nullptr;
  void** top = list.top.load_own();
  void* block = top[-1];
  list.top.store_own(top - 1);
  return block;
}

inline void* take_once(Bounded& instance, size_t requested, size_t alignment) noexcept {
  TALUS_ASSERT(is_power_of_two(alignment) && requested < small_class_count);
  BoundedCache& cache = bounded_cache_of(instance);
  unsigned tried = 0;
  for (size_t index = requested; index < instance.pool_count; index++) {
    Pool& pool = instance.pools[index];
    if ((pool.block_bytes & (alignment - 1)) != 0) continue;
    const bool is_wished = index == requested;
    BoundedList& list = cache.lists[index];
    if (void* block = pop_bounded(list, is_wished)) {
      if (!is_wished) count_bounded(instance, cache, BoundedEvent::overflow, requested);
      return block;
    }
    if (void* block = take_from_pool(pool, list)) {
      count_bounded(instance, cache, is_wished ? BoundedEvent::miss : BoundedEvent::overflow,
                    requested);
      return block;
    }
    if (++tried > TALUS_BOUNDED_OVERFLOW_POOLS) break;
  }
  return nullptr;
}

// A block of the class, or of a larger one when its pool is used up; null: these are used up too.
// The blocks of the class are multiples of the alignment.
inline void* take_bounded(Bounded& instance, size_t requested, size_t alignment) noexcept {
  void* block = take_once(instance, requested, alignment);
  if (block != nullptr) return block;
  if (instance.shared_orphan_count.load_hint() == 0) return nullptr;
  take_orphans_home(instance);
  return take_once(instance, requested, alignment);
}

// Pushes to the list if one exists, and otherwise returns the block to the pool.
inline void give_bounded(Bounded& instance, size_t index, void* block) noexcept {
  TALUS_ASSERT(index < instance.pool_count && block != nullptr);
  BoundedList& list = bounded_cache_of(instance).lists[index];
  if (push_bounded(list, block)) return;
  Pool& pool = instance.pools[index];
  const size_t batch = bounded_batch_of(list.capacity());
  if (batch != 0) {
    flush_list(pool, list, batch);
    push_bounded(list, block);
    return;
  }
  Held held{pool.lock};
  pool.give(held, block);
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_REFILL_HPP
