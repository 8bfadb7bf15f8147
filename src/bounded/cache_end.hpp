// SPDX-License-Identifier: MIT
// bounded/cache_end: the end of a thread's cache; its blocks and counts go to the instance.
//
// A cache ends with its thread, with its instance, or when the program says so. A fork can leave a
// cache without its thread; such a cache ends when another thread needs its blocks.
//
// Owns: the unused caches. Invariant: a cache is closed in its thread's table before its lists go.
// Called on: under the registry's lock, while the cache's thread does not use the instance.
#ifndef TALUS_BOUNDED_CACHE_END_HPP
#define TALUS_BOUNDED_CACHE_END_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/pool.hpp"
#include "bounded/lists.hpp"
#include "bounded/bounded.hpp"

namespace talus::core {

// The cache loses its owner and its lists. The caller has moved its blocks.
inline void retire_bounded_cache(Held<BoundedRegistryLock>&, BoundedCache& cache) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  TALUS_ASSERT(bounded_registry.lock.is_own() && cache.instance != nullptr);
  Bounded& instance = *cache.instance;
  if (cache.owner != nullptr) {
    cache.owner->caches[cache.instance->number].store_own(&closed_bounded_cache);
  } else {
    cache.instance->shared_orphan_count.own_add(~uint32_t{0});  // under the lock
  }
  for (BoundedList& list : cache.lists) close_bounded_list(list);
  BoundedCache** link = &cache.instance->caches;
  while (*link != &cache) link = &(*link)->next;
  *link = cache.next;
  cache.instance = nullptr;
  TALUS_AUDIT_SOUND(instance);
  cache.pool_count = 0;
  cache.owner = nullptr;
  os::unmap_or_purge(cache.memory, cache.memory_bytes);
  cache.next = bounded_registry.unused_caches;
  bounded_registry.unused_caches = &cache;
}

// Moves the blocks and counts to the instance.
inline void end_bounded_cache(Held<BoundedRegistryLock>& held, BoundedCache& cache) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  Bounded& instance = *cache.instance;
  const auto move = [](Atomic<uint64_t>& to, const Atomic<uint64_t>& from) noexcept {
    to.stat_add(from.load_own());
  };
  for (size_t index = 0; index < small_class_count; index++) {
    if (index < instance.pool_count) {
      flush_list(instance.pools[index], cache.lists[index], cache.lists[index].length());
    }
    move(instance.gone_hits[index], cache.lists[index].hits);
    move(instance.gone.misses[index], cache.counts.misses[index]);
    move(instance.gone.overflows[index], cache.counts.overflows[index]);
    move(instance.gone.routed[index], cache.counts.routed[index]);
  }
  move(instance.gone.routed[small_class_count], cache.counts.routed[small_class_count]);
  for (const BoundedList& list : cache.lists) TALUS_ASSERT(list.length() == 0);
  retire_bounded_cache(held, cache);
}

inline void end_orphans(Held<BoundedRegistryLock>& held, Bounded& instance) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  for (BoundedCache* cache = instance.caches; cache != nullptr;) {
    BoundedCache* next = cache->next;
    if (cache->owner == nullptr) end_bounded_cache(held, *cache);
    cache = next;
  }
}
TALUS_COLD void take_orphans_home(Bounded& instance) noexcept {
  Held held{bounded_registry.lock};
  end_orphans(held, instance);
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_CACHE_END_HPP
