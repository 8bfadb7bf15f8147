// SPDX-License-Identifier: MIT
// heap: what threads allocate from. A heap owns slabs and is used under its lock; a thread works on
// its own cache in front of one heap, and threads that are many share heaps.
//
//   ThreadCache | ThreadContext | heap | remote batches | kept large blocks | arrays of the lists |
//   Heap        | id | slabs by class | unused messages | remote-free queue |
//
// A heap for each thread would make memory grow with threads: each would hold partly used slabs of
// every class. So there are a few heaps for each processor (docs/decisions/0004).
// Owns: the layout. Invariants: a cache's lists, batches and kept blocks are written by its thread
// only, and hold blocks of its one heap (batches: of any); slabs, counters and descriptors only
// under the heap's lock; neither heaps nor caches are ever freed, both are used again.
// Must not know: how threads are born and die.
#ifndef TALUS_HEAP_HEAP_HPP
#define TALUS_HEAP_HEAP_HPP

#include "heap/context.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"

namespace talus {

// Instances (heap/instance.hpp) are heaps that no thread has a cache for.
constexpr bool is_instance(HeapId id) noexcept { return index_of(id) >= heap_count_max; }

// Owns slabs. Every thread that uses it refills from and flushes to the same ones.
struct Heap {
  HeapId id{};  // constant
  // under the heap's lock
  SlabBins available[class_count];
  SlabBins
      partly_purged[class_count];  // have free blocks, too, but their free pages are given back
  SlabList full;                   // have none; an instance's only, others forget such slabs
  size_t purging_count = 0;        // slabs whose pages are just being given back
  size_t taken_blocks[class_count] = {};   // blocks out of their slabs: lists and program
  uint32_t class_slabs[class_count] = {};  // slabs, in whatever state
  // A line begins with what each refill and flush changes.
  alignas(cache_line_bytes) size_t slab_count = 0;
  size_t slab_bytes = 0;                // of all its slabs
  size_t free_bytes = 0;                // of free blocks in them
  uint32_t refills = 0;                 // so far; wraps
  uint32_t swept_refills = 0;           // when the helper looked last
  size_t partly_purged_free_bytes = 0;  // of these, in partly_purged slabs
  LowMark free_mark;                    // of free_bytes - partly_purged_free_bytes
  size_t purged_page_bytes = 0;  // of free_bytes: pages that were given back, in whatever slab
  size_t told_free_bytes = 0;    // what address space knows of free_bytes - purged_page_bytes
  size_t taken_back_bytes = 0;   // of pages that were away, since it was told last
  RemoteMessage* unused_messages = nullptr;
  uint32_t unused_message_count = 0;
  // shared
  alignas(cache_line_bytes) Inbox remote_queue;
  Atomic<uint32_t> shared_thread_count;  // caches in front of it; written under registry's lock

  bool is_abandoned() const noexcept { return shared_thread_count.load_relaxed() == 0; }  // [hint]
};

// Bytes of free blocks that have their pages and might be given back.
inline size_t free_touched_bytes(const Heap& heap) noexcept {
  return heap.free_bytes - heap.partly_purged_free_bytes;
}
// ... and those that cannot be, because pages hold live blocks, too.
inline size_t free_resident_bytes(const Heap& heap) noexcept {
  return heap.free_bytes - heap.purged_page_bytes;
}

// Blocks freed here that belong to one other heap, or to the thread's own where it does not
// allocate such, until there are enough for a delivery. The message changes under the lock of the
// collector's heap.
struct RemoteBatch {
  HeapId owner = HeapId::nobody;     // owner thread only; nobody: there is no message for it
  RemoteMessage* message = nullptr;  // null: none yet
};

enum class LargeState : uint8_t { unused, live, kept };

// A block of its own range. Descriptors are recycled under the space lock.
struct LargeBlock {
  uintptr_t base = 0;
  size_t slices = 0;
  // From the block's start to the end of a page, not 0; what is left behind it is head-room.
  size_t usable_bytes = 0;
  LargeState state = LargeState::unused;
  LargeBlock* next = nullptr;
  // How many lie between base and the block (paths/aligned_at.hpp): less than a slice.
  size_t front_bytes = 0;
  // In the list of the instance that its page-map entry name, if they name one; under its lock.
  LargeBlock* previous_inside = nullptr;
  LargeBlock* next_inside = nullptr;
};

// A medium or a large block that was just made. Block null: there is no memory for it.
struct BlockMade {
  void* block = nullptr;
  Zeroed zeroed = Zeroed::no;
};

// The large blocks that a thread freed last (cache/large_cache.hpp). The counts are what the pool
// of large blocks has too many; their owner writes them, statistics read.
struct KeptBlocks {
  Atomic<LargeBlock*> of_slices[large_kept_slices];  // stacks; the child of a fork reads, too
  Atomic<size_t> bytes;                              // statistics read, too
  size_t medium_bytes = 0;      // of blocks that the lists of medium classes have room for
  size_t next_displaced = 0;    // a stack, or behind these the list of a medium class
  uint32_t borrowed_count = 0;  // medium blocks that served the class below, of late
  Atomic<size_t> live_bytes_less;
  Atomic<size_t> live_count_less;
};

// The context that a thread finds in the place of its own when it comes back
// (cache/idle_caches.hpp).
struct ProbeContext : ThreadContext {
  ThreadCache* cache = nullptr;     // whose it is
  ThreadContext* before = nullptr;  // the context that was there
};

// What others know of the thread that uses a cache, beside shared_state and shared_busy.
struct IdleProbe {
  Lock lock;
  // under the lock
  // The owner's this_context; null: leave it alone. Others read it to see if the cache is in use.
  // Of a cache that a fork left behind: that of who empties it; under the registry's lock.
  Atomic<Atomic<ThreadContext*>*> context_slot;
  uint64_t asked_ns = 0;      // when it was asked last
  uint64_t asked_before = 0;  // the number of the barrier that comes after that ask
  ProbeContext context;
  // under the registry's lock
  uint64_t seen_activity = 0;  // when the helper looked last

  // In the child of a fork: the owner does not exist here. Its lists stay as they are, and are made
  // whole by who takes the cache home.
  void lose_owner() noexcept {
    lock.reset_in_child();
    context_slot.store_relaxed(nullptr);  // [init] single thread
  }
};

inline constexpr size_t class_words = divide_up(class_count, 64);

// The lists of a thread that run empty and full in turn (cache/wide_lists.hpp). The owner's.
struct WideLists {
  uint64_t turning_words[class_words] = {};  // a bit a class: it turned since it was last asked
  void*** bottoms = nullptr;  // of each class, where its wide place is; null until there is one
  size_t bytes = 0;           // of blocks that lists have room for beyond their usual capacity
  size_t next_asked = 0;      // the class that may have to give up room next
};

// What a thread has for itself.
struct ThreadCache : ThreadContext {
  // owner only
  Heap* heap = nullptr;  // the one that id names; changes only between two threads
  // Lists of the large classes, which are used in slow paths only.
  Atomic<void**> slow_tops[class_count - fast_class_count];
  void** slow_limits[class_count - fast_class_count];
  // Where the first block of each list lies. It changes under the heap's lock; others read it
  // there, or while the owner is at rest (cache/idle_caches.hpp).
  void** bottoms[class_count];
  // A bit a class: the list ran empty, and was not full since.
  uint64_t growing_words[class_words];
  WideLists wide;
  RemoteBatch batches[remote_owners + 1];  // the last one is for the thread's own heap
  KeptBlocks kept;
  IdleProbe idle_probe;
  ThreadContext* mode_context = nullptr;  // of the process's mode, made when first asked for
  // under the registry's lock
  ThreadCache* next = nullptr;      // among those in use, or unused
  ThreadCache* previous = nullptr;  // among those in use
  // owner only: the lists; only as many places are there as list_bounds says
  alignas(cache_line_bytes) void* storage[list_places_most] = {};
};

// The cache behind a context; null: the thread has none.
inline ThreadCache* cache_behind(ThreadContext& context) noexcept {
  return context.operations == nullptr ? static_cast<ThreadCache*>(&context)
                                       : context.operations->cache_of(context);
}
// Is this the context of a thread that has not allocated? Whoever asks for its cache makes one.
inline bool is_of_new_thread(const ThreadContext& context) noexcept {
  return context.operations == &birth_operations;
}
// The calling thread's cache; null: it has none, and none is made.
inline ThreadCache* existing_cache() noexcept {
  ThreadContext& context = current_context();
  return is_of_new_thread(context) ? nullptr : cache_behind(context);
}

}  // namespace talus

#endif  // TALUS_HEAP_HEAP_HPP
