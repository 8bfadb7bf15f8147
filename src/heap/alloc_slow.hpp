// SPDX-License-Identifier: MIT
// heap/alloc_slow: what malloc does when the list of the class is empty.
//
// Owns: refilling a list, allocation for threads without a heap, aligned blocks. Invariant: one
// lock round trip a batch. The outline is in heap/alloc.hpp. Called on: any thread.
#ifndef TALUS_HEAP_ALLOC_SLOW_HPP
#define TALUS_HEAP_ALLOC_SLOW_HPP

#include "heap/large.hpp"
#include "heap/slabs.hpp"

namespace talus {

// Doubles a list's capacity up to what its class may have. False: it was there already.
inline bool enlarge_list(Heap& heap, ClassId id) noexcept {
  ThreadList& list = heap.lists[index_of(id)];
  void** bottom = list_bottom(heap, id);
  const size_t capacity = static_cast<size_t>(list.limit - bottom);
  const size_t most = size_class_row(id).list_blocks_max;
  if (capacity >= most) return false;
  list.limit = bottom + (capacity * 2 < most ? capacity * 2 : most);
  return true;
}

// Delivered blocks are brought home before a new slab is made, or when there are many: draining
// late lets deliveries to one slab come home together.
inline bool is_drain_due(const Heap& heap, ClassId id) noexcept {
  if (heap.inbox.is_empty()) return false;
  return heap.available[index_of(id)].first == nullptr ||
         heap.inbox.backlog_bytes() >= remote_drain_bytes;
}

// Fills the empty list of a class with half its capacity and pops one block; null: no memory.
TALUS_SLOW void* refill(Heap& heap, ClassId id) noexcept {
  ThreadList& list = heap.lists[index_of(id)];
  void** bottom = list_bottom(heap, id);
  const size_t wanted = static_cast<size_t>(list.limit - bottom + 1) / 2;
  enlarge_list(heap, id);
  Locked held{lock_of(heap)};
  if (is_drain_due(heap, id)) drain_inbox(heap);
  const size_t taken = take_blocks(heap, id, bottom, wanted);
  if (TALUS_UNLIKELY(taken == 0)) return nullptr;
  list.top.store_relaxed(bottom + taken - 1);  // [own] inside the lock, so that a fork sees it
  return bottom[taken - 1];
}

// One block straight from a slab, for threads that have no list; null: no memory.
inline void* allocate_shared(ClassId id) noexcept {
  Heap* heap = shared_heap();
  if (heap == nullptr) return nullptr;
  Locked held{lock_of(*heap)};
  if (!heap->inbox.is_empty()) drain_inbox(*heap);
  void* block = nullptr;
  return take_blocks(*heap, id, &block, 1) == 1 ? block : nullptr;
}

// A block of a class from a plain heap, or from the shared one.
inline void* allocate_small_on(Heap* heap, ClassId id) noexcept {
  if (heap == nullptr) return allocate_shared(id);
  ThreadList& list = heap->lists[index_of(id)];
  void** top = list.top.load_relaxed();  // [own]
  void* block = top[-1];
  if (block == nullptr) return refill(*heap, id);
  list.top.store_relaxed(top - 1);  // [own]
  return block;
}

// The heap behind a face; null: the shared one.
inline Heap* heap_behind(HeapFace& face) noexcept {
  return face.operations == nullptr ? static_cast<Heap*>(&face) : face.operations->heap_of(face);
}
// Tells the mode of the calling thread, if there is one; a first call may just have got it.
inline void note_allocate(void* block, size_t bytes) noexcept {
  HeapFace& face = *this_face;
  if (face.operations == nullptr || face.operations->note_allocate == nullptr) return;
  if (block != nullptr) face.operations->note_allocate(face, block, bytes);
}

TALUS_SLOW void* allocate_slow(size_t bytes, HeapFace& face) noexcept {
  if (TALUS_LIKELY(face.operations == nullptr && bytes <= small_bytes_max)) {
    return refill(static_cast<Heap&>(face), class_of(bytes));
  }
  Heap* heap = heap_behind(face);
  void* block = bytes <= small_bytes_max ? allocate_small_on(heap, class_of(bytes))
                                         : allocate_large(heap, bytes, granule_bytes).block;
  note_allocate(block, bytes);
  return block;
}

// A block at a multiple of `alignment`, a power of two; null: no memory.
TALUS_SLOW void* allocate_aligned(size_t alignment, size_t bytes) noexcept {
  HeapFace& face = *this_face;
  Heap* heap = heap_behind(face);
  void* block = nullptr;
  if (bytes <= small_bytes_max && alignment <= small_bytes_max) {
    block = allocate_small_on(heap, class_of_aligned(bytes, alignment));
  } else {
    const size_t aligned = alignment > granule_bytes ? alignment : granule_bytes;
    block = allocate_large(heap, bytes, aligned).block;
  }
  note_allocate(block, bytes);
  return block;
}

}  // namespace talus

#endif  // TALUS_HEAP_ALLOC_SLOW_HPP
