// SPDX-License-Identifier: MIT
// heap: what a thread has: its lists, which are its alone, and slabs under a lock.
//
//   HeapFace  | id | operations | one ThreadList a class |     what malloc and free touch
//   Heap      | HeapFace | remote batches | kept large blocks | slabs by class | inbox | arrays |
//
// this_face is never null. It starts at empty_face, whose lists are empty and whose id no page
// word holds: "not initialised" is thus the same test as "list empty" and "owner is another".
// The same holds for a thread that has died (dead_face) and for a mode: a face with operations.
// Owns: the layout. Invariants: lists, batches and kept blocks are written by the owner thread
// only; slabs, counters and descriptors only under the heap's lock; a heap is never freed, a heap
// without a thread is an orphan and waits for adoption.
// Must not know: how threads are born and die (process/ fills in heap_of_new_thread).
#ifndef TALUS_HEAP_HEAP_HPP
#define TALUS_HEAP_HEAP_HPP

#include "slab/remote_free.hpp"
#include "space/space.hpp"

namespace talus {

struct Heap;
struct HeapFace;

// The free blocks of one class that a thread holds: an array of pointers, last in first out.
// Below the first block lies a null, so that "empty" is learnt from the pop itself. A push and a
// pop commit with the one store to top; a fork may find the list at any moment.
struct ThreadList {
  Atomic<void**> top;    // owner writes; the child of a fork and statistics read
  void** limit;          // top of the list when it is full; owner only
};

// What a face does that is no plain heap. Entered from slow paths only.
struct FaceOperations {
  Heap* (*heap_of)(HeapFace& face) noexcept;  // the heap to work on; null: the shared one
  // What happened, for modes that count; null for faces that do not.
  void (*note_allocate)(HeapFace& face, void* block, size_t bytes) noexcept;
  void (*note_free)(HeapFace& face, void* block) noexcept;
};

struct alignas(cache_line_bytes) HeapFace {
  HeapId id = faceless;                         // constant
  const FaceOperations* operations = nullptr;  // constant; null: a plain heap
  ThreadList lists[class_count];               // owner only

  static constexpr HeapId faceless = HeapId{0xffff};  // never in a page word
};

// The page map's tag of a slab: where its owner keeps the list of its class.
constexpr uint16_t list_tag(ClassId id) noexcept {
  return static_cast<uint16_t>(offsetof(HeapFace, lists) + index_of(id) * sizeof(ThreadList));
}
constexpr ClassId class_of_tag(uint16_t tag) noexcept {
  return ClassId{static_cast<uint8_t>((tag - offsetof(HeapFace, lists)) / sizeof(ThreadList))};
}
static_assert(sizeof(HeapFace) <= UINT16_MAX, "a list's offset fits in a tag");

// Where the list for a request of n bytes lies in a face: list_tags.of_units[(n + 15) / 16].
struct ListTags {
  uint16_t of_units[small_bytes_max / block_alignment + 1] = {};
};
constexpr ListTags derive_list_tags() noexcept {
  ListTags tags;
  for (size_t units = 0; units <= small_bytes_max / block_alignment; units++) {
    tags.of_units[units] = list_tag(class_of(units * block_alignment));
  }
  return tags;
}
inline constexpr ListTags list_tags = derive_list_tags();

TALUS_FAST ThreadList& list_at(HeapFace& face, size_t tag) noexcept {
  return *reinterpret_cast<ThreadList*>(reinterpret_cast<char*>(&face) + tag);
}

// Blocks freed here that lie in one word of one slab's bitmap of another heap.
struct RemoteWord {
  Slab* slab = nullptr;
  uint32_t word = 0;
  Atomic<uint64_t> bits;  // 0: the entry is empty; owner thread writes, the child of a fork reads
};

// Blocks freed here that belong to one other heap, until there are enough for a delivery: a hash
// table with open addressing, so that blocks which were allocated together go home together.
struct RemoteBatch {
  HeapId owner = HeapId::nobody;
  uint32_t words_used = 0;
  Atomic<size_t> bytes;  // owner thread writes; statistics read
  RemoteWord words[remote_batch_words];
};

enum class LargeState : uint8_t { unused, live, kept };

// A block of its own range. Descriptors are recycled under the space lock.
struct LargeBlock {
  uintptr_t base = 0;
  size_t granules = 0;
  size_t usable_bytes = 0;  // multiple of the page; the rest of the range is head-room
  LargeState state = LargeState::unused;
  LargeBlock* next = nullptr;
};

struct Heap : HeapFace {
  // owner only
  RemoteBatch batches[remote_owners];
  LargeBlock* kept[large_cache_slots] = {};
  size_t kept_bytes = 0;
  // under the heap's lock
  SlabList available[class_count];
  Slab* unused_descriptors[class_count] = {};
  uint32_t taken_blocks[class_count] = {};  // blocks out of their slabs: lists and program
  size_t slab_count = 0;
  // shared
  alignas(cache_line_bytes) Inbox inbox;
  Atomic<bool> shared_is_orphan;
  Heap* next_orphan = nullptr;  // under the registry's lock
  bool needs_salvage = false;   // its thread did not survive a fork; set and cleared while orphan
  // owner only: for each class a null and then its list
  alignas(cache_line_bytes) void* storage[list_capacity_sum() + class_count] = {};

  static constexpr size_t storage_start(size_t index) noexcept {
    size_t start = 0;
    for (size_t before = 0; before < index; before++) {
      start += 1 + size_class_table.rows[before].list_blocks_max;
    }
    return start + 1;
  }
};

struct StorageStarts {
  uint16_t of[class_count] = {};
};
constexpr StorageStarts derive_storage_starts() noexcept {
  StorageStarts starts;
  for (size_t i = 0; i < class_count; i++) {
    starts.of[i] = static_cast<uint16_t>(Heap::storage_start(i));
  }
  return starts;
}
inline constexpr StorageStarts storage_starts = derive_storage_starts();

// Where a list's first block lies; list.top equals this when it is empty.
TALUS_FAST void** list_bottom(Heap& heap, ClassId id) noexcept {
  return &heap.storage[storage_starts.of[index_of(id)]];
}
inline size_t list_length(Heap& heap, ClassId id) noexcept {
  // [stat] for other threads; [own] for the owner
  return static_cast<size_t>(heap.lists[index_of(id)].top.load_relaxed() - list_bottom(heap, id));
}

// A list that is both empty and full, for faces that must fall into the slow paths.
TALUS_CONSTINIT inline void* no_blocks[2] = {};

// Defined in process/: makes or adopts a heap for the calling thread; null: use the shared heap.
TALUS_HOOK Heap* heap_of_new_thread(HeapFace& face) noexcept;
inline Heap* no_heap(HeapFace&) noexcept { return nullptr; }

inline constexpr FaceOperations birth_operations = {heap_of_new_thread, nullptr, nullptr};
inline constexpr FaceOperations dead_operations = {no_heap, nullptr, nullptr};

template <size_t... Is>
struct Indices {};
template <size_t N, size_t... Is>
struct MakeIndices : MakeIndices<N - 1, N - 1, Is...> {};
template <size_t... Is>
struct MakeIndices<0, Is...> {
  using Type = Indices<Is...>;
};
template <size_t... Is>
constexpr HeapFace make_slow_face(const FaceOperations* does, Indices<Is...>) noexcept {
  return HeapFace{HeapFace::faceless, does,
                  {((void)Is, ThreadList{Atomic<void**>{&no_blocks[1]}, &no_blocks[1]})...}};
}

// The face of threads that have not allocated yet, and of threads whose heap is gone.
TALUS_CONSTINIT inline HeapFace empty_face =
    make_slow_face(&birth_operations, MakeIndices<class_count>::Type{});
TALUS_CONSTINIT inline HeapFace dead_face =
    make_slow_face(&dead_operations, MakeIndices<class_count>::Type{});

inline TALUS_THREAD_LOCAL HeapFace* this_face = &empty_face;

}  // namespace talus

#endif  // TALUS_HEAP_HEAP_HPP
