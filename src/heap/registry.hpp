// SPDX-License-Identifier: MIT
// heap/registry: all heaps there are, by id, and those that wait for a thread.
//
// Owns: the table of heaps, their locks and the list of orphans. The locks lie together, apart
// from the heaps, so that a fork touches few pages. Invariants: ids are given once, from 1 upward;
// an entry never changes after it was set; an orphan's lists and batches are empty.
// Lock order: registry, heap (by id, two at once only before fork), address space.
// Called on: any thread. Must not know: when threads begin and end.
#ifndef TALUS_HEAP_REGISTRY_HPP
#define TALUS_HEAP_REGISTRY_HPP

#include "heap/heap.hpp"

namespace talus {

struct alignas(cache_line_bytes) HeapLock {
  Lock lock;
};

struct Registry {
  Lock lock;
  Heap* orphans = nullptr;          // under the lock
  Heap* shared_heap = nullptr;      // under the lock; for threads that have no heap
  Atomic<uint32_t> shared_count;    // ids 1 to this exist (zero at start: stays out of the file)
  Atomic<Heap*> shared_heaps[heap_count_max];
  HeapLock locks[heap_count_max];
};

inline Registry registry;

inline Lock& lock_of(HeapId id) noexcept { return registry.locks[index_of(id)].lock; }
inline Lock& lock_of(const Heap& heap) noexcept { return lock_of(heap.id); }

// The heap with this id; it must exist.
inline Heap& heap_with(HeapId id) noexcept {
  return *registry.shared_heaps[index_of(id)].load_acquire();
}

// Calls visit(heap) for every heap, orphans too, in the order of their ids.
template <typename Visit>
void for_each_heap(Visit visit) noexcept {
  const uint32_t count = registry.shared_count.load_acquire();
  for (uint32_t id = 1; id <= count; id++) visit(heap_with(HeapId(static_cast<uint16_t>(id))));
}

// A heap with empty lists and a new id below `id_end`; null: no memory or no id. The registry's
// lock is held.
inline Heap* make_heap(Locked&, uint32_t id_end) noexcept {
  const uint32_t id = registry.shared_count.load_relaxed() + 1;  // [own] registry lock
  if (id >= id_end) return nullptr;
  void* memory = nullptr;
  {
    Locked held{space.lock()};
    memory = space.take_metadata(held, sizeof(Heap));
  }
  if (memory == nullptr) return nullptr;
  // Metadata is zero, which is what every member starts with but these; a constructor would
  // touch all pages of the arrays.
  Heap* heap = static_cast<Heap*>(memory);
  heap->id = HeapId(static_cast<uint16_t>(id));
  for (size_t index = 0; index < class_count; index++) {
    const ClassId class_id{static_cast<uint8_t>(index)};
    void** bottom = list_bottom(*heap, class_id);
    size_t start = size_class_row(class_id).list_blocks_max;
    if (start > list_blocks_start) start = list_blocks_start;
    heap->lists[index].top.store_relaxed(bottom);  // [init]
    heap->lists[index].limit = bottom + start;
  }
  registry.shared_heaps[id].store_release(heap);
  registry.shared_count.store_release(id);
  return heap;
}

// An orphan or a new heap for the calling thread; null: there can be no more.
inline Heap* adopt_or_make_heap() noexcept {
  Locked held{registry.lock};
  Heap* heap = registry.orphans;
  if (heap == nullptr) return make_heap(held, heap_count_max - 1);
  registry.orphans = heap->next_orphan;
  heap->next_orphan = nullptr;
  heap->shared_is_orphan.store_relaxed(false);  // [hint] deliverers only choose who drains
  return heap;
}

// A heap whose thread is gone waits for the next thread. Its lists must be empty.
inline void orphan_heap(Heap& heap) noexcept {
  Locked held{registry.lock};
  heap.shared_is_orphan.store_relaxed(true);  // [hint] as above
  heap.next_orphan = registry.orphans;
  registry.orphans = &heap;
}

// The heap of threads that have none, made when it is first needed; null: no memory. The last id
// is kept for it: it is needed most when the others have run out.
inline Heap* shared_heap() noexcept {
  Locked held{registry.lock};
  if (registry.shared_heap == nullptr) registry.shared_heap = make_heap(held, heap_count_max);
  return registry.shared_heap;
}

}  // namespace talus

#endif  // TALUS_HEAP_REGISTRY_HPP
