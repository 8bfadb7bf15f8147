// SPDX-License-Identifier: MIT
// heap/registry: all heaps and caches, and which cache stands before which heap.
//
// Owns: the table of heaps, their locks, and three lists of caches: in use, unused, and orphaned.
// Orphaned caches belong to threads that did not survive a fork. The locks lie together, apart from
// the heaps, so that a fork touches few pages.
// Invariants: ids are assigned once, from 1 upward. A table entry never changes once it is set. An
// unused cache is empty. A heap's shared_thread_count counts its caches in use and its orphaned
// ones.
// A thread that holds a heap lock uses try_lock for a second one (sync/lock_rank.hpp). Two places
// lock two heaps at once, ordered by id: before a fork, and where an instance's blocks become those
// of a thread's heap.
// Called on: any thread. Must not know: when threads begin and end.
#ifndef TALUS_HEAP_REGISTRY_HPP
#define TALUS_HEAP_REGISTRY_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/machine.hpp"
#include "settings/options.hpp"
#include "arch/probes.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/instance.hpp"
#include "heap/lists.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"

namespace talus::core {

struct alignas(cache_line_bytes) HeapLockLine {
  HeapLock lock;
};

struct Registry {
  DecayingLock decaying;  // held while pages of slabs or of areas of samples are purged
  RegistryLock lock;
  ThreadCache* caches TALUS_GUARDED_BY(lock) = nullptr;    // in use
  ThreadCache* orphaned TALUS_GUARDED_BY(lock) = nullptr;  // a fork left them without owners
  ThreadCache* unused TALUS_GUARDED_BY(lock) = nullptr;
  size_t cache_count TALUS_GUARDED_BY(lock) = 0;        // in use
  size_t cpu_count TALUS_GUARDED_BY(lock) = 0;          // 0: not asked yet
  uint32_t next_donor TALUS_GUARDED_BY(lock) = 0;       // the heap to ask for a slab next
  bool has_made_caches TALUS_GUARDED_BY(lock) = false;  // the layout of lists is fixed
  // What idle threads point at until they come back (cache/idle_caches.hpp). Made before the first
  // cache, so that each thread sees it as it is; constant then.
  ThreadContext* probe_context = nullptr;
  Atomic<uint32_t> shared_count;  // heaps 1 to this exist (zero at start: stays out of the file)
  Atomic<Heap*> shared_heaps[heap_count_max];
  HeapLockLine locks[heap_count_max];

  // Caches in use are counted, and each cache in use or orphaned is a thread of its heap. The lock
  // is held.
  bool is_sound() const noexcept TALUS_REQUIRES(lock) {
    size_t in_use = 0, orphans = 0, threads = 0;
    const ThreadCache* previous = nullptr;
    for (const ThreadCache* cache = caches; cache != nullptr; cache = cache->next) {
      if (cache->previous != previous || cache->id != cache->heap->id) return false;
      previous = cache;
      in_use++;
    }
    for (const ThreadCache* cache = orphaned; cache != nullptr; cache = cache->next) orphans++;
    const uint32_t count = shared_count.load_own();
    for (uint32_t number = 1; number <= count && number < heap_count_max; number++) {
      const Heap& heap = *shared_heaps[number].load_own();
      if (index_of(heap.id) != number) return false;
      threads += heap.shared_thread_count.load_own();
    }
    return in_use == cache_count && threads == in_use + orphans && count < heap_count_max;
  }
};

TALUS_CONSTINIT inline Registry registry;

// In audit builds, where a cache begins or ends. The registry's lock is held.
inline void audit(const Registry& all) noexcept TALUS_REQUIRES(all.lock) {
  if constexpr (TALUS_AUDIT == 0) return;
  const size_t items = all.cache_count + all.shared_count.load_own();
  if (is_audit_due(items)) TALUS_AUDIT_SOUND(all);
}

inline HeapLock& lock_of(HeapId id) noexcept {
  if (TALUS_UNLIKELY(is_instance(id))) return instance_slot(id).lock;
  return registry.locks[index_of(id)].lock;
}
inline HeapLock& lock_of(const Heap& heap) noexcept { return lock_of(heap.id); }
// A thread's heap is never an instance.
inline HeapLock& lock_of(const ThreadCache& cache) noexcept {
  TALUS_ASSERT(!is_instance(cache.id));
  return registry.locks[index_of(cache.id)].lock;
}

// The heap with this id; it must exist.
inline Heap& heap_with(HeapId id) noexcept {
  TALUS_ASSERT(id != HeapId::none && index_of(id) <= instance_id_max);
  if (TALUS_UNLIKELY(is_instance(id))) return *instance_slot(id).heap;
  return *registry.shared_heaps[index_of(id)].load_acquire();
}
inline Heap& heap_number(uint32_t number) noexcept {
  TALUS_ASSERT(number != 0 && number <= registry.shared_count.load_hint());
  return *registry.shared_heaps[number].load_acquire();
}

// Calls visit(heap) for every heap that threads may use, in the order of their ids.
template <typename Visit>
void for_each_heap(Visit visit) noexcept {
  const uint32_t count = registry.shared_count.load_acquire();
  for (uint32_t number = 1; number <= count; number++) visit(heap_number(number));
}

// Visits heaps like for_each_heap(), then instances.
template <typename Visit>
void for_each_heap_and_instance(Visit visit) noexcept {
  for_each_heap(visit);
  for_each_instance(visit);
}

// Calls visit(cache) for every cache that may hold blocks. The caller holds the registry's lock.
template <typename Visit>
void for_each_cache(Held<RegistryLock>&, Visit visit) noexcept TALUS_REQUIRES(registry.lock) {
  for (ThreadCache* cache = registry.caches; cache != nullptr; cache = cache->next) visit(*cache);
  for (ThreadCache* cache = registry.orphaned; cache != nullptr; cache = cache->next) visit(*cache);
}

// How many heaps there may be: one for each processor that the process may use, or that its control
// group pays for. Then running threads seldom meet, and partly used slabs do not multiply. A thread
// collects remote frees for no more than remote_owners.
inline uint32_t heap_limit(Held<RegistryLock>&) noexcept TALUS_REQUIRES(registry.lock) {
  if (options.heaps != 0) return static_cast<uint32_t>(options.heaps);
  if (registry.cpu_count == 0) registry.cpu_count = os::System::cpu_count();
  // The quota is not cached: the first thread may come before it has been read.
  const size_t heaps = within_quota(registry.cpu_count);
  static_assert(remote_owners < heap_count_max, "an id for each heap");
  return static_cast<uint32_t>(heaps < remote_owners ? heaps : remote_owners);
}

// A heap with a new id; null: no memory or no id.
inline Heap* make_heap(Held<RegistryLock>&) noexcept TALUS_REQUIRES(registry.lock) {
  TALUS_ASSERT(registry.lock.is_own());
  const uint32_t number = registry.shared_count.load_own() + 1;  // registry lock
  if (number >= heap_count_max) return nullptr;
  void* memory = nullptr;
  {
    Held held{space.lock()};
    memory = space.take_metadata(held, sizeof(Heap));  // every member starts as zero
  }
  if (memory == nullptr) return nullptr;
  Heap* heap = static_cast<Heap*>(memory);
  TALUS_ASSERT(registry.shared_heaps[number].load_own() == nullptr);
  heap->id = HeapId(static_cast<uint16_t>(number));
  registry.shared_heaps[number].store_release(heap);
  registry.shared_count.store_release(number);
  return heap;
}

// The heap for one more thread: one without threads, else a new one, else the one with the fewest
// threads. Null: there is no heap and no memory for one.
TALUS_USUAL Heap* choose_heap(Held<RegistryLock>& held) noexcept TALUS_REQUIRES(registry.lock) {
  TALUS_ASSERT(registry.lock.is_own());
  const uint32_t count = registry.shared_count.load_own();  // registry lock
  Heap* fewest = nullptr;
  uint32_t threads = UINT32_MAX;
  for (uint32_t number = 1; number <= count && threads != 0; number++) {
    Heap& heap = heap_number(number);
    if (heap.shared_thread_count.load_own() >= threads) continue;  // registry lock
    threads = heap.shared_thread_count.load_own();                 // registry lock
    fewest = &heap;
  }
  if (threads == 0 || (count >= heap_limit(held) && fewest != nullptr)) return fewest;
  Heap* fresh = make_heap(held);
  return fresh != nullptr ? fresh : fewest;
}

// The heap for threads without a cache; null: no memory.
inline Heap* abandoned_heap() noexcept {
  Held held{registry.lock};
  return choose_heap(held);
}

// The bytes of a cache with as many places for lists as list_bounds says.
inline size_t cache_bytes(Held<RegistryLock>&) noexcept TALUS_REQUIRES(registry.lock) {
  TALUS_ASSERT(list_bounds.places <= list_places_most);
  const size_t without_lists = sizeof(ThreadCache) - sizeof(ThreadCache::storage);
  return without_lists + list_bounds.places * sizeof(void*);
}

// Bounds what lists may hold from now on. Once there are caches, their layout stays, and only lower
// bounds take effect.
inline void bound_lists(size_t list_bytes) noexcept {
  const ListBounds requested = derive_list_bounds(list_bytes);
  Held held{registry.lock};
  if (!registry.has_made_caches) {
    list_bounds = requested;
    return;
  }
  for (size_t index = 0; index < class_count; index++) {
    uint16_t& most = list_bounds.blocks_max[index];
    if (requested.blocks_max[index] < most) most = requested.blocks_max[index];
  }
}

// Defined in cache/: the cache of the calling thread, which gets its own context again.
TALUS_HOOK ThreadCache* cache_of_probe(ThreadContext& context) noexcept;
inline constexpr ContextOperations probe_operations = {cache_of_probe, nullptr, true};

// False: no memory. The caller holds the registry's lock.
TALUS_USUAL bool make_probe_context() noexcept {
  Held held{space.lock()};
  void* memory = space.take_metadata(held, sizeof(ThreadContext));
  if (memory == nullptr) return false;
  registry.probe_context = static_cast<ThreadContext*>(memory);
  close_context(*registry.probe_context, probe_operations);
  return true;
}

// An unused cache or a new one, with empty lists; null: no memory.
TALUS_USUAL ThreadCache* take_cache(Held<RegistryLock>& registry_held) noexcept
    TALUS_REQUIRES(registry.lock) {
  if (ThreadCache* cache = registry.unused) {
    registry.unused = cache->next;
    arch::probe_adopt(cache);
    return cache;
  }
  if (registry.probe_context == nullptr && !make_probe_context()) return nullptr;
  void* memory = nullptr;
  {
    Held held{space.lock()};
    memory = space.take_metadata(held, cache_bytes(registry_held));
  }
  if (memory == nullptr) return nullptr;
  registry.has_made_caches = true;
  // Metadata is zero, and every other member starts as zero. A constructor would touch all pages of
  // the arrays.
  auto* cache = static_cast<ThreadCache*>(memory);
  learn_classes(*cache);
  for (size_t index = 0; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    void** bottom = first_place(*cache, id);
    cache->bottoms[index] = bottom;
    const ThreadList list = list_of(*cache, id);
    list.top.store_init(bottom);
    list.limit = bottom;
    if (index >= fast_class_count) close_list(*cache, index);
  }
  return cache;
}

// A cache for one more thread, before a heap; null: no memory.
TALUS_USUAL ThreadCache* attach_cache() noexcept {
  Held held{registry.lock};
  Heap* heap = choose_heap(held);
  ThreadCache* cache = heap == nullptr ? nullptr : take_cache(held);
  if (cache == nullptr) return nullptr;
  cache->heap = heap;
  cache->id = heap->id;
  heap->shared_thread_count.own_add(1);  // under the registry's lock
  cache->previous = nullptr;
  cache->next = registry.caches;
  if (cache->next != nullptr) cache->next->previous = cache;
  registry.caches = cache;
  registry.cache_count++;
  audit(registry);
  return cache;
}

// Parks a detached cache for reuse by the next thread. It must be empty and in no list. Returns
// whether its heap is abandoned now.
inline bool retire_cache(Held<RegistryLock>&, ThreadCache& cache) noexcept
    TALUS_REQUIRES(registry.lock) {
  TALUS_ASSERT(registry.lock.is_own() && cache.kept.bytes.load_own() == 0);
  TALUS_ASSERT(cache.heap->shared_thread_count.load_own() != 0);  // registry lock
  for (size_t index = 0; index < class_count; index++) {
    TALUS_ASSERT(list_length(cache, ClassId{static_cast<uint8_t>(index)}) == 0);
  }
  cache.heap->shared_thread_count.own_add(~uint32_t{0});  // under the registry's lock
  cache.next = registry.unused;
  registry.unused = &cache;
  return cache.heap->is_abandoned();
}
inline void remove_from_use(Held<RegistryLock>&, ThreadCache& cache) noexcept
    TALUS_REQUIRES(registry.lock) {
  TALUS_ASSERT(registry.lock.is_own() && registry.cache_count != 0);
  (cache.previous != nullptr ? cache.previous->next : registry.caches) = cache.next;
  if (cache.next != nullptr) cache.next->previous = cache.previous;
  registry.cache_count--;
}

inline void lose_owner(ThreadCache& cache) noexcept {
  cache.shared_busy.store_init(0);  // single thread
  cache.idle_probe.lose_owner();
}

// The child of a fork has one thread, so all caches but its own become orphaned, with their blocks.
// Orphaned caches that other threads were emptying become free to be adopted again.
// The analysis does not know that a single thread needs no lock.
inline void leave_other_caches(ThreadCache* own) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  ThreadCache** link = &registry.caches;
  while (ThreadCache* cache = *link) {
    if (cache != own) {
      lose_owner(*cache);
      link = &cache->next;
    } else {
      *link = own->next;
    }
  }
  for (ThreadCache* cache = registry.orphaned; cache != nullptr; cache = cache->next) {
    if (cache->idle_probe.context_slot.load_own() != &this_context) lose_owner(*cache);
  }
  *link = registry.orphaned;
  registry.orphaned = registry.caches;
  registry.caches = own;
  registry.cache_count = own != nullptr ? 1 : 0;
  if (own != nullptr) own->next = own->previous = nullptr;
  audit(registry);
}

// An orphaned cache for the caller to empty; null: none. It stays in its list, where another fork
// finds it, until it is retired.
inline ThreadCache* take_orphaned_cache() noexcept {
  Held held{registry.lock};
  for (ThreadCache* cache = registry.orphaned; cache != nullptr; cache = cache->next) {
    Atomic<Atomic<ThreadContext*>*>& taker = cache->idle_probe.context_slot;
    if (taker.load_own() != nullptr) continue;  // registry lock
    taker.store_own(&this_context);             // registry lock
    return cache;
  }
  return nullptr;
}
inline void retire_orphaned_cache(Held<RegistryLock>& held, ThreadCache& cache) noexcept
    TALUS_REQUIRES(registry.lock) {
  ThreadCache** link = &registry.orphaned;
  while (*link != &cache) link = &(*link)->next;
  *link = cache.next;
  cache.idle_probe.context_slot.store_own(nullptr);  // registry lock
  retire_cache(held, cache);
  audit(registry);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_REGISTRY_HPP
