// SPDX-License-Identifier: MIT
// bounded/bounded: data of pool instances and of their thread caches, and the fast paths.
//
//   base        base + stride
//   | pool 0 ...| pool 1 ...| pool 2 ...|          stride = 2^shift, one reservation
//   this_bounded -> BoundedTable: a cache for each instance -> BoundedCache: a list for each pool
//
// The address of a block tells its pool and whether it belongs to the instance: (address - base) >>
// shift, compared with the number of pools. A list is an array of pointers above a null, so a
// popped null means "empty". A thread without caches has a table of closed caches. Their lists are
// both empty and full, so the fast paths need no test for that case.
//
// Owns: the layout; the registry of instances, caches and tables. Invariants: descriptors, caches
// and tables are never unmapped and keep their type and number, so a dead one can still be read.
// Only its thread writes a list. Another thread may write it while that thread does not use the
// instance. Called on: any thread. Must not know:
// what the fallback does, heaps, when threads begin and end.
#ifndef TALUS_BOUNDED_BOUNDED_HPP
#define TALUS_BOUNDED_BOUNDED_HPP

#include <utility>

#include "talus/bounded.h"
#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/pool.hpp"
#include "pools/free_bits.hpp"

namespace talus::core {

struct Bounded;
struct BoundedCache;

// What became of requests, by the requested class. The counts in a cache have one writer, its
// thread. Any thread writes those in an instance.
struct BoundedCounts {
  Atomic<uint64_t> misses[small_class_count];
  Atomic<uint64_t> overflows[small_class_count];
  Atomic<uint64_t> routed[small_class_count + 1];  // the last: of no class
};

// One thread's cache for each instance. One thread at a time uses it.
struct BoundedTable {
  Atomic<BoundedCache*> caches[TALUS_BOUNDED_INSTANCES_MAX];  // written under the registry's lock
  BoundedTable* next_unused = nullptr;
};

// The free blocks of one pool that a thread has at hand, last in, first out. Push and pop commit
// with the one store to top.
struct BoundedList {
  Atomic<void**> top;       // owner writes; statistics and the child of a fork read
  void** limit = nullptr;   // constant while the cache lives: top when the list is full
  Atomic<uint64_t> hits;    // owner writes; requests of this class that the list served
  void** bottom = nullptr;  // constant while the cache lives: top when the list is empty

  size_t length() const noexcept {
    return static_cast<size_t>(top.load_own() - bottom);  // a statistic for others
  }
  size_t capacity() const noexcept { return static_cast<size_t>(limit - bottom); }
  // A null lies below the blocks, all of which are starts of blocks that are out of this pool. Its
  // lock is held.
  bool is_sound(const Pool& pool) const noexcept TALUS_REQUIRES(pool.lock) {
    void** const end = top.load_own();
    if (end < bottom || end > limit || bottom[-1] != nullptr) return false;
    if (length() > pool.out_count()) return false;
    for (void** at = bottom; at != end; at++) {
      const size_t offset = reinterpret_cast<uintptr_t>(*at) - pool.base;
      const size_t index = offset / pool.block_bytes;
      if (offset % pool.block_bytes != 0 || index >= pool.fresh_count) return false;
      if (pool.returned.has(index)) return false;
    }
    return true;
  }
};
static_assert(sizeof(BoundedList) == 32, "two to a cache line, found by a shift");

struct alignas(cache_line_bytes) BoundedCache {
  BoundedList lists[small_class_count];
  // constant while it lives
  uintptr_t base = 0;
  uint32_t shift = 0;
  size_t pool_count = 0;
  Bounded* instance = nullptr;  // null: dead, or closed
  void* memory = nullptr;       // of the arrays
  size_t memory_bytes = 0;
  BoundedCounts counts;
  // under the registry's lock
  BoundedTable* owner = nullptr;  // null: its thread does not exist in this child of a fork
  BoundedCache* next = nullptr;   // of the instance, or among the unused
};

struct alignas(cache_line_bytes) Bounded {
  // constant while it lives: what fast paths read
  uintptr_t base = 0;
  uint32_t shift = 0;
  uint32_t number = 0;    // constant for ever
  size_t pool_count = 0;  // 0: dead
  // constant while it lives
  talus_bounded_fallback fallback = {};
  size_t reserved_bytes = 0;
  void* bits = nullptr;  // the sets of free blocks of all pools
  size_t bits_bytes = 0;
  // under the registry's lock
  BoundedCache* caches = nullptr;
  Atomic<uint32_t> shared_orphan_count;  // caches without an owner; a hint when read without the
                                         // lock
  // shared
  alignas(cache_line_bytes) BoundedCounts gone;  // of ended caches, and of threads without one
  Atomic<uint64_t> gone_hits[small_class_count];
  Pool pools[small_class_count];

  bool is_alive() const noexcept { return pool_count != 0; }
  // Each cache is that of a thread, whose table names it, or an orphan, and orphans are counted.
  // The registry's lock is held.
  bool is_sound() const noexcept {
    uint32_t orphan_count = 0;
    for (const BoundedCache* cache = caches; cache != nullptr; cache = cache->next) {
      if (cache->instance != this || cache->base != base || cache->pool_count != pool_count) {
        return false;
      }
      if (cache->owner == nullptr) orphan_count++;
      if (cache->owner != nullptr && cache->owner->caches[number].load_own() != cache) return false;
    }
    return orphan_count == shared_orphan_count.load_own();
  }
};

struct BoundedRegistry {
  BoundedRegistryLock lock;
  Atomic<uint32_t> shared_count;  // of descriptors, each written before; written under the lock
  Bounded* instances[TALUS_BOUNDED_INSTANCES_MAX] = {};
  BoundedCache* unused_caches TALUS_GUARDED_BY(lock) = nullptr;
  BoundedTable* unused_tables TALUS_GUARDED_BY(lock) = nullptr;
};
TALUS_CONSTINIT inline BoundedRegistry bounded_registry;

static_assert(TALUS_BOUNDED_POOLS_MAX == small_class_count, "what bounded.h says");
static_assert(TALUS_BOUNDED_ALIGNMENT_MAX <= small_bytes_max, "a class is found for it");

// In audit builds, where a batch moved. The pool's lock is held.
inline void audit(const BoundedList& list, const Pool& pool) noexcept TALUS_REQUIRES(pool.lock) {
  if constexpr (TALUS_AUDIT == 0) return;
  if (is_audit_due(list.length())) TALUS_ASSERT(list.is_sound(pool));
}

// A list that is both empty and full.
TALUS_CONSTINIT inline void* bounded_no_blocks[2] = {};

inline void close_bounded_list(BoundedList& list) noexcept {
  list.top.store_init(&bounded_no_blocks[1]);
  list.limit = list.bottom = &bounded_no_blocks[1];
}

// Stands for the missing cache of a thread. Neither this nor the table below is read before the
// first instance, which fills both. As constants they would need 280 addresses that the loader
// writes into each process.
TALUS_CONSTINIT inline BoundedCache closed_bounded_cache;
// The table of threads without caches, and of threads that have ended.
TALUS_CONSTINIT inline BoundedTable closed_bounded_table;

inline void close_bounded_table(BoundedTable& table) noexcept {
  for (Atomic<BoundedCache*>& cache : table.caches) {
    cache.store_init(&closed_bounded_cache);
  }
}
inline void fill_closed_table() noexcept {
  for (BoundedList& list : closed_bounded_cache.lists) close_bounded_list(list);
  close_bounded_table(closed_bounded_table);
}

// Never null.
TALUS_CONSTINIT inline TALUS_THREAD_LOCAL BoundedTable* this_bounded = &closed_bounded_table;

TALUS_FAST BoundedCache& bounded_cache_of(const Bounded& instance) noexcept {
  return *this_bounded->caches[instance.number].load_own();  // this thread's
}

TALUS_FAST BoundedList& bounded_list(BoundedCache& cache, size_t index) noexcept {
  return *keep_in_register(&cache.lists[index]);
}

// The pool of an address in an instance or its cache. A foreign address gives at least pool_count.
template <typename Pools>
TALUS_FAST size_t pool_index_of(const Pools& pools, const void* pointer) noexcept {
  return (reinterpret_cast<uintptr_t>(pointer) - pools.base) >> pools.shift;
}

// Returns the block freed last; null: the list is empty. The class may have no pool.
TALUS_FAST void* pop_bounded(BoundedList& list, bool is_hit) noexcept {
  void** top = list.top.load_own();
  void* block = top[-1];
  if (TALUS_UNLIKELY(block == nullptr)) return nullptr;
  // POINT OF NO RETURN: one store below.
  list.top.store_own(top - 1);
  if (is_hit) list.hits.own_count();
  return block;
}

// False: the list is full.
TALUS_FAST bool push_bounded(BoundedList& list, void* block) noexcept {
  void** top = list.top.load_own();
  if (TALUS_UNLIKELY(top == list.limit)) return false;
  // POINT OF NO RETURN: the block first, then the store that makes it part of the list.
  *top = block;
  list.top.store_own(top + 1);
  return true;
}

// Calls visit(instance) for each live instance. The registry's lock is held, or a fork looks for
// the locks of its own thread. Such a fork may meet instances that begin or end. Each pool_count
// that it reads is one of an instance's life or 0.
template <typename Visit>
void for_each_bounded(Visit visit) noexcept {
  const uint32_t count = bounded_registry.shared_count.load_acquire();
  for (uint32_t number = 0; number < count; number++) {
    Bounded& instance = *bounded_registry.instances[number];
    if (instance.is_alive()) visit(instance);
  }
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_BOUNDED_HPP
