// SPDX-License-Identifier: MIT
// bounded/life: how bounded instances and their thread caches begin and end.
//
//   make_bounded, destroy_bounded              one reservation for all pools, one mapping for their
//                                              bits; the next instance reuses a dead descriptor
//   make_bounded_cache, end_bounded_cache      one mapping for all lists
//   end_bounded_thread                         flushes the caches of a thread that ends
//   leave_bounded_caches                       in the child of a fork: orphans the caches of other
//                                              threads until a thread needs their blocks
//
// Owns: the registry's lists. Invariants: every begin and end holds the registry's lock. An
// instance has blocks exactly while its pool_count is not 0. A cache that ends is closed in its
// thread's table before its lists go. Called on: any thread, without locks.
#ifndef TALUS_BOUNDED_LIFE_HPP
#define TALUS_BOUNDED_LIFE_HPP

#include "talus/bounded.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "pools/free_bits.hpp"
#include "pools/pool.hpp"
#include "bounded/bounded.hpp"
#include "bounded/cache_end.hpp"
#include "bounded/lists.hpp"

namespace talus::core {

inline size_t budget_of(const talus_bounded_options& request, size_t index) noexcept {
  return request.budgets != nullptr ? request.budgets[index] : request.budget_bytes;
}

// A dead descriptor, or a new one; null: no memory, or all are alive.
inline Bounded* take_bounded_descriptor(Held<BoundedRegistryLock>&) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  const uint32_t number = bounded_registry.shared_count.load_own();  // registry lock
  for (uint32_t other = 0; other < number; other++) {
    Bounded* instance = bounded_registry.instances[other];
    if (!instance->is_alive()) return instance;
  }
  if (number == TALUS_BOUNDED_INSTANCES_MAX) return nullptr;
  void* memory = nullptr;
  {
    Held held{space.lock()};
    memory = space.take_metadata(held, sizeof(Bounded));  // zero, as its members begin
  }
  if (memory == nullptr) return nullptr;
  if (number == 0) fill_closed_table();
  auto* instance = static_cast<Bounded*>(memory);
  instance->number = number;
  bounded_registry.instances[number] = instance;
  bounded_registry.shared_count.store_release(number + 1);
  return instance;
}

// No other thread knows the instance yet, so the pool needs no lock.
inline void begin_pool(Pool& pool, size_t index, uintptr_t base,
                       size_t budget_bytes) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  pool.base = base;
  pool.block_bytes = size_class_row(ClassId{static_cast<uint8_t>(index)}).block_bytes;
  pool.block_count = budget_bytes / pool.block_bytes;
  pool.reciprocal = wide_reciprocal_of(pool.block_bytes);
  pool.fresh_count = pool.returned_count = pool.peak_count = 0;
  TALUS_ASSERT(base % os::page_bytes() == 0 && budget_bytes <= bounded_budget_max);
  TALUS_ASSERT(pool.block_count * pool.block_bytes <= budget_bytes);
}

// The bytes of the pages that a pool may use.
inline size_t pool_range_bytes(const Pool& pool) noexcept {
  return round_up(pool.block_count * pool.block_bytes, os::page_bytes());
}

// Reserves addresses and allows access within the budgets. False: the kernel refused.
inline bool map_pools(Bounded& instance, const talus_bounded_options& request) noexcept {
  size_t stride = os::page_bytes();
  for (size_t index = 0; index < request.pools; index++) {
    while (stride < budget_of(request, index)) stride *= 2;
  }
  const size_t bytes = stride * request.pools;
  void* base = os::reserve_pages(bytes);
  if (base == nullptr) return false;
  TALUS_ASSERT(is_power_of_two(stride) && !instance.is_alive());
  instance.base = reinterpret_cast<uintptr_t>(base);
  instance.shift = highest_bit(stride);
  instance.reserved_bytes = bytes;
  bool is_allowed = true;
  for (size_t index = 0; index < request.pools && is_allowed; index++) {
    Pool& pool = instance.pools[index];
    begin_pool(pool, index, instance.base + index * stride, budget_of(request, index));
    const size_t range_bytes = pool_range_bytes(pool);
    if (range_bytes == 0) continue;
    is_allowed = os::System::allow(reinterpret_cast<void*>(pool.base), range_bytes);
  }
  if (!is_allowed) os::System::unmap(base, bytes);
  return is_allowed;
}

// Maps the sets of free blocks. False: the kernel refused. Without the locks of the pools, as
// begin_pool().
inline bool map_bits(Bounded& instance,
                     size_t pool_count) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  size_t words = 0;
  for (size_t index = 0; index < pool_count; index++) {
    words += FreeBits::words_for(instance.pools[index].block_count);
  }
  instance.bits_bytes = round_up(words * sizeof(uint64_t), os::page_bytes());
  instance.bits = words == 0 ? nullptr : os::map_pages(nullptr, instance.bits_bytes);
  if (words != 0 && instance.bits == nullptr) return false;
  auto* next = static_cast<uint64_t*>(instance.bits);
  for (size_t index = 0; index < pool_count; index++) {
    Pool& pool = instance.pools[index];
    pool.returned.begin(next, pool.block_count);
    next += FreeBits::words_for(pool.block_count);
  }
  TALUS_ASSERT(next == static_cast<uint64_t*>(instance.bits) + words);
  return true;
}

// Counters start again with each life of an instance or cache.
inline void forget_counts(BoundedCounts& counts) noexcept {
  for (size_t index = 0; index < small_class_count; index++) {
    counts.misses[index].store_init(0);
    counts.overflows[index].store_init(0);
    counts.routed[index].store_init(0);
  }
  counts.routed[small_class_count].store_init(0);
}

// Null: no memory, or too many instances are alive. The caller has checked the request.
inline Bounded* make_bounded(const talus_bounded_options& request,
                             const talus_bounded_fallback& fallback) noexcept {
  Held held{bounded_registry.lock};
  Bounded* instance = take_bounded_descriptor(held);
  if (instance == nullptr || !map_pools(*instance, request)) return nullptr;
  if (!map_bits(*instance, request.pools)) {
    os::System::unmap(reinterpret_cast<void*>(instance->base), instance->reserved_bytes);
    return nullptr;
  }
  forget_counts(instance->gone);
  for (Atomic<uint64_t>& hits : instance->gone_hits) hits.store_init(0);
  instance->fallback = fallback;
  instance->pool_count = request.pools;
  TALUS_ASSERT(instance->pool_count <= small_class_count && instance->caches == nullptr);
  TALUS_AUDIT_SOUND(*instance);
  return instance;
}

// Gives memory to all pages.
inline void touch_pools(const Bounded& instance) noexcept {
  for (size_t index = 0; index < instance.pool_count; index++) {
    const Pool& pool = instance.pools[index];
    const size_t bytes = pool_range_bytes(pool);
    for (size_t at = 0; at < bytes; at += os::page_bytes()) {
      *reinterpret_cast<volatile char*>(pool.base + at) = 0;
    }
  }
}

inline void destroy_bounded(Bounded& instance) noexcept {
  Held held{bounded_registry.lock};
  TALUS_ASSERT(instance.is_alive());
  while (instance.caches != nullptr) retire_bounded_cache(held, *instance.caches);
  TALUS_ASSERT(instance.shared_orphan_count.load_own() == 0);  // the registry's lock
  instance.pool_count = 0;
  os::unmap_or_purge(reinterpret_cast<void*>(instance.base), instance.reserved_bytes);
  if (instance.bits != nullptr) os::unmap_or_purge(instance.bits, instance.bits_bytes);
}

// The calling thread's table, made on first use; null: no memory.
inline BoundedTable* own_bounded_table(Held<BoundedRegistryLock>&) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  if (this_bounded != &closed_bounded_table) return this_bounded;
  BoundedTable* table = bounded_registry.unused_tables;
  if (table != nullptr) {
    bounded_registry.unused_tables = table->next_unused;
  } else {
    Held space_held{space.lock()};
    table = static_cast<BoundedTable*>(space.take_metadata(space_held, sizeof(BoundedTable)));
    if (table == nullptr) return nullptr;
  }
  close_bounded_table(*table);
  this_bounded = table;
  return table;
}

inline BoundedCache* take_bounded_cache(Held<BoundedRegistryLock>&) noexcept
    TALUS_REQUIRES(bounded_registry.lock) {
  if (BoundedCache* cache = bounded_registry.unused_caches) {
    bounded_registry.unused_caches = cache->next;
    return cache;
  }
  Held held{space.lock()};
  return static_cast<BoundedCache*>(space.take_metadata(held, sizeof(BoundedCache)));
}

// The capacity of each list of a cache: the requested one, at most the pool's blocks.
class BoundedCapacities {
 public:
  BoundedCapacities(const Bounded& instance, const size_t* requests) noexcept
      : instance_{instance}, requests_{requests} {}
  size_t operator[](size_t index) const noexcept {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t usual = list_blocks_of(size_class_row(id).block_bytes, list_bytes_max);
    const size_t request = requests_ != nullptr ? requests_[index] : usual;
    const size_t most = instance_.pools[index].block_count;
    return request < most ? request : most;
  }
  // The bytes of all arrays, each with a null below.
  size_t memory_bytes() const noexcept {
    size_t slots = 0;
    for (size_t index = 0; index < instance_.pool_count; index++) slots += 1 + (*this)[index];
    return round_up(slots * sizeof(void*), os::page_bytes());
  }

 private:
  const Bounded& instance_;
  const size_t* requests_;
};

// Makes empty lists in memory that is zero, so that a null lies below each.
inline void lay_out_lists(BoundedCache& cache, const BoundedCapacities& capacities) noexcept {
  auto** next = static_cast<void**>(cache.memory);
  for (size_t index = 0; index < small_class_count; index++) {
    BoundedList& list = cache.lists[index];
    list.hits.store_init(0);
    close_bounded_list(list);
    if (index >= cache.pool_count) continue;
    list.bottom = next + 1;
    list.top.store_init(list.bottom);
    list.limit = next = list.bottom + capacities[index];
    TALUS_ASSERT(list.bottom[-1] == nullptr && list.capacity() == capacities[index]);
  }
}

inline bool has_bounded_cache(const Bounded& instance) noexcept {
  return &bounded_cache_of(instance) != &closed_bounded_cache;
}

// Makes a cache for the calling thread, which has none for this instance; null: no memory.
inline BoundedCache* make_bounded_cache(Bounded& instance, const size_t* requests) noexcept {
  TALUS_ASSERT(!has_bounded_cache(instance));
  Held held{bounded_registry.lock};
  if (instance.caches != nullptr) end_orphans(held, instance);
  BoundedTable* table = own_bounded_table(held);
  BoundedCache* cache = table == nullptr ? nullptr : take_bounded_cache(held);
  if (cache == nullptr) return nullptr;
  const BoundedCapacities capacities{instance, requests};
  cache->memory_bytes = capacities.memory_bytes();
  cache->memory = os::map_pages(nullptr, cache->memory_bytes);
  if (cache->memory == nullptr) {
    cache->next = bounded_registry.unused_caches;
    bounded_registry.unused_caches = cache;
    return nullptr;
  }
  cache->base = instance.base;
  cache->shift = instance.shift;
  cache->pool_count = instance.pool_count;
  cache->instance = &instance;
  forget_counts(cache->counts);
  lay_out_lists(*cache, capacities);
  cache->owner = table;
  cache->next = instance.caches;
  instance.caches = cache;
  table->caches[instance.number].store_own(cache);  // this thread's
  TALUS_AUDIT_SOUND(instance);
  return cache;
}

// Fills each list with this part of its capacity, in quarters.
inline void warm_bounded_cache(BoundedCache& cache, size_t quarters) noexcept {
  for (size_t index = 0; index < cache.pool_count; index++) {
    BoundedList& list = cache.lists[index];
    fill_list(cache.instance->pools[index], list, list.capacity() * quarters / 4);
  }
}

inline void destroy_bounded_cache(BoundedCache& cache) noexcept {
  Held held{bounded_registry.lock};
  end_bounded_cache(held, cache);
}

// The thread gets no table again: its late destructors work on the pools.
TALUS_USUAL void end_bounded_thread() noexcept {
  BoundedTable* table = this_bounded;
  if (table == &closed_bounded_table) return;
  this_bounded = &closed_bounded_table;
  Held held{bounded_registry.lock};
  for (Atomic<BoundedCache*>& slot : table->caches) {
    BoundedCache& cache = *slot.load_own();
    if (cache.instance != nullptr) end_bounded_cache(held, cache);
  }
  table->next_unused = bounded_registry.unused_tables;
  bounded_registry.unused_tables = table;
}

// In the child: the other threads do not exist, so their caches become orphans.
inline void leave_bounded_caches() noexcept {
  for_each_bounded([](Bounded& instance) noexcept {
    for (BoundedCache* cache = instance.caches; cache != nullptr; cache = cache->next) {
      if (cache->owner == nullptr || cache->owner == this_bounded) continue;
      cache->owner = nullptr;
      instance.shared_orphan_count.own_add(1);  // single thread
    }
    TALUS_AUDIT_SOUND(instance);
  });
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_LIFE_HPP
