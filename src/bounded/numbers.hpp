// SPDX-License-Identifier: MIT
// bounded/numbers: the statistics of an instance, added up.
//
// Each thread counts in its own cache, so counting shares no cache line. This file sums live and
// ended caches.
//
// Owns: nothing. Invariant: the sums are exact while no thread uses the instance. Otherwise each
// number was true at some time during the call. Called on: any thread.
#ifndef TALUS_BOUNDED_NUMBERS_HPP
#define TALUS_BOUNDED_NUMBERS_HPP

#include "talus/bounded.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/pool.hpp"
#include "bounded/bounded.hpp"

namespace talus::core {

// The last index counts the requests of no class.
inline void add_counts(talus_bounded_numbers& sum, const BoundedCounts& counts,
                       size_t index) noexcept {
  sum.routed += counts.routed[index].load_stat();
  if (index == small_class_count) return;
  sum.misses += counts.misses[index].load_stat();
  sum.overflows += counts.overflows[index].load_stat();
}

inline void add_pool(talus_bounded_numbers& sum, Pool& pool, size_t cached) noexcept {
  Held held{pool.lock};
  sum.block_bytes = pool.block_bytes;
  sum.blocks += pool.block_count;
  sum.peak_blocks += pool.peak_count;
  sum.cached_blocks += cached;
  if (pool.out_count() > cached) sum.live_blocks += pool.out_count() - cached;
}

// Adds what is known of one class, with or without a pool. The registry's lock is held.
inline void add_class(talus_bounded_numbers& sum, Bounded& instance, size_t index) noexcept {
  size_t cached = 0;
  add_counts(sum, instance.gone, index);
  if (index < small_class_count) sum.hits += instance.gone_hits[index].load_stat();
  for (BoundedCache* cache = instance.caches; cache != nullptr; cache = cache->next) {
    add_counts(sum, cache->counts, index);
    if (index >= instance.pool_count) continue;
    sum.hits += cache->lists[index].hits.load_stat();
    cached += cache->lists[index].length();
  }
  if (index < instance.pool_count) add_pool(sum, instance.pools[index], cached);
}

// The numbers of one pool, or of all classes if `index` is SIZE_MAX.
inline talus_bounded_numbers numbers_of_bounded(Bounded& instance, size_t index) noexcept {
  talus_bounded_numbers sum = {};
  Held held{bounded_registry.lock};
  if (index < instance.pool_count) add_class(sum, instance, index);
  if (index != SIZE_MAX) return sum;
  for (size_t each = 0; each <= small_class_count; each++) add_class(sum, instance, each);
  sum.block_bytes = 0;
  return sum;
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_NUMBERS_HPP
