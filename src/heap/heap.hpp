// SPDX-License-Identifier: MIT
// heap: what threads allocate from. A heap owns slabs and is used under its lock.
//
// A thread works on its own cache, and the cache stands before one heap. Many threads share a heap.
//
//   ThreadCache | ThreadContext | heap | remote batches | kept large blocks | arrays of the lists |
//   Heap        | id | slabs by class | unused messages | remote-free queue |
//
// One heap for each thread would make memory grow with the number of threads, because each heap
// would hold partly used slabs of every class. So the number of heaps follows the number of
// processors (docs/decisions/0004).
// Owns: the layout. Invariants: only its thread writes a cache's lists, batches and kept blocks.
// They hold blocks of its one heap; batches hold blocks of any heap. Slabs, counters and
// descriptors change only under the heap's lock. Heaps and caches are never freed; both are used
// again.
// Must not know: how threads begin and end.
#ifndef TALUS_HEAP_HEAP_HPP
#define TALUS_HEAP_HEAP_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "heap/context.hpp"
#include "heap/empty_slabs.hpp"
#include "heap/large_state.hpp"

namespace talus::core {

// Instances (heap/instance.hpp) are heaps that have no thread caches.
constexpr bool is_instance(HeapId id) noexcept { return index_of(id) >= heap_count_max; }

// Owns slabs. All its threads refill from and flush to the same slabs.
struct Heap {
  HeapId id{};  // constant
  // under the heap's lock
  SlabBins available[class_count];
  SlabBins partly_purged[class_count];  // have free blocks, but the kernel has their free pages
  SlabList full;             // have no free block; only instances keep such slabs in a list
  size_t purging_count = 0;  // slabs whose pages are being purged now
  size_t taken_blocks[class_count] = {};   // blocks outside their slabs
  uint32_t class_slabs[class_count] = {};  // slabs in any state
  // A new cache line for what each refill and flush changes.
  alignas(cache_line_bytes) size_t slab_count = 0;
  size_t slab_bytes = 0;                // of all its slabs
  size_t free_bytes = 0;                // of free blocks in them
  uint32_t refills = 0;                 // so far; wraps
  uint32_t swept_refills = 0;           // when the background thread looked last
  size_t partly_purged_free_bytes = 0;  // of free_bytes, in partly_purged slabs
  LowMark free_mark;                    // of free_bytes - partly_purged_free_bytes
  size_t purged_page_bytes = 0;         // of free_bytes, in purged pages of any slab
  size_t told_free_bytes = 0;   // what address space knows of free_bytes - purged_page_bytes
  size_t taken_back_bytes = 0;  // of purged pages in use again, since address space was told
  RemoteMessage* unused_messages = nullptr;
  uint32_t unused_message_count = 0;
  EmptySlabs empty_slabs;
  // shared
  alignas(cache_line_bytes) RemoteQueue remote_queue;
  Atomic<uint32_t> shared_thread_count;  // caches before it; written under the registry's lock

  bool is_sound() const noexcept;  // heap/sound.hpp; the lock is held
  bool is_abandoned() const noexcept { return shared_thread_count.load_hint() == 0; }
};

// Bytes of free blocks outside partly_purged slabs: a purge might return their pages.
inline size_t free_touched_bytes(const Heap& heap) noexcept {
  TALUS_ASSERT(heap.partly_purged_free_bytes <= heap.free_bytes);
  return heap.free_bytes - heap.partly_purged_free_bytes;
}
// Bytes of free blocks that have pages, with pages that no purge returns because live blocks share
// them.
inline size_t free_resident_bytes(const Heap& heap) noexcept {
  TALUS_ASSERT(heap.purged_page_bytes <= heap.free_bytes);
  return heap.free_bytes - heap.purged_page_bytes;
}

// Blocks that a thread collects for one owner until there are enough to deliver. The owner is
// another heap, or the thread's own heap for classes that the thread does not allocate. The message
// changes under the lock of the collecting thread's heap.
struct RemoteBatch {
  HeapId owner = HeapId::none;       // owner thread only; none: there is no message
  RemoteMessage* message = nullptr;  // null: none yet
};

// A block with its own range. Descriptors are recycled under the space lock.
struct LargeBlock {
  uintptr_t base = 0;
  size_t slices = 0;
  // From the block's start to the end of a page, not 0. What lies behind it is head-room.
  size_t usable_bytes = 0;
  Atomic<uint8_t> state;    // a LargeState
  bool is_guarded = false;  // its range begins a slice before base (store/large_guards.hpp)
  bool has_front_guard = false;
  bool has_tail_guard = false;
  LargeBlock* next = nullptr;
  // The distance from base to the block (paths/aligned_at.hpp); less than a slice.
  size_t front_bytes = 0;
  // Links in the instance's list, if the page-map entry names an instance; under its lock.
  LargeBlock* previous_inside = nullptr;
  LargeBlock* next_inside = nullptr;
  // A BlockState: whether the program has it, where the process keeps states.
  Atomic<uint8_t> block_state;

  bool is_sound() const noexcept;  // heap/sound.hpp
  // The program loses the block. False: another thread freed it, or resizes it, at this moment.
  [[nodiscard]] TALUS_FAST bool claim(uint8_t entered) noexcept {
    return LargeState::claim(state, entered);
  }
};

// A medium or a large block that was just made. If the block is null, there was no memory.
struct BlockMade {
  void* block = nullptr;
  Zeroed zeroed = Zeroed::no;
};

// The large blocks that a thread freed last (cache/large_cache.hpp). live_bytes_less and
// live_count_less correct the pool's live counts; the owner writes them, statistics read them.
struct KeptBlocks {
  Atomic<LargeBlock*> of_slices[large_kept_slices];  // stacks; the child of a fork reads them, too
  Atomic<size_t> bytes;                              // statistics read it, too
  size_t medium_bytes = 0;      // of blocks that the lists of medium classes have room for
  size_t next_displaced = 0;    // whose turn it is: a stack, or after these a medium list
  uint32_t borrowed_count = 0;  // recent medium blocks that served the class below
  Atomic<size_t> live_bytes_less;
  Atomic<size_t> live_count_less;

  bool is_sound() const noexcept;  // heap/sound.hpp
};

// What other threads know of a cache's owner, beside shared_state and shared_busy.
struct IdleProbe {
  IdleProbeLock lock;
  // under the lock
  // The owner's this_context; null: leave the owner alone. Other threads read it to see whether the
  // cache is in use. For a cache that a fork left behind it is the this_context of the thread that
  // empties the cache; under the registry's lock.
  Atomic<Atomic<ThreadContext*>*> context_slot;
  // when the last ask was made, and the number of the barrier that comes after it
  uint64_t asked_ns TALUS_GUARDED_BY(lock) = 0;
  uint64_t asked_before TALUS_GUARDED_BY(lock) = 0;
  // The context that the probe context replaced; written under the lock.
  Atomic<ThreadContext*> shared_before;
  // under the registry's lock
  uint64_t seen_activity = 0;  // when the background thread looked last

  // In the child of a fork, where the owner does not exist. The lists stay as they are; the thread
  // that empties the cache makes them whole.
  void lose_owner() noexcept {
    lock.reset_in_child();
    context_slot.store_init(nullptr);  // single thread
  }
};

inline constexpr size_t class_words = divide_up(class_count, 64);

// Requests of one size in a row, among those of the same fixed class (cache/fitting.hpp).
struct RequestRow {
  uint16_t block_lines = 0;  // cache lines of a block of the fitted class that would serve them
  uint16_t length = 0;
  static constexpr uint16_t refused = UINT16_MAX;  // as length: the size gets no class
};
// A row for each class above fast_bytes_max, and one for large blocks.
inline constexpr size_t request_rows = fixed_class_count - fast_class_count + 1;

struct ModeContext;
struct SidedContext;

// Lists that run empty and full in turn (cache/wide_lists.hpp). Owner only.
struct WideLists {
  uint64_t turning_words[class_words] = {};  // a bit a class: it reversed since the last ask
  void*** bottoms = nullptr;  // of each class, where its wide place is; null until there is one
  size_t bytes = 0;           // of blocks that lists have room for beyond their usual capacity
  size_t next_asked = 0;      // the class that may have to give up room next
};

// What one thread has for itself.
struct ThreadCache : ThreadContext {
  // owner only
  Heap* heap = nullptr;  // the heap that id names; changes only between two threads
  // Lists of the large classes; only slow paths use them.
  Atomic<void**> slow_tops[class_count - fast_class_count];
  void** slow_limits[class_count - fast_class_count];
  // Where the first block of each list lies. A bottom changes under the heap's lock. Other threads
  // read it under that lock, or while the owner is idle (cache/idle_caches.hpp).
  void** bottoms[class_count];
  // A bit a class: the list ran empty, and was not full since.
  uint64_t growing_words[class_words];
  WideLists wide;
  RequestRow requests[request_rows];
  RemoteBatch batches[remote_owners + 1];  // the last one is for the thread's own heap
  KeptBlocks kept;
  IdleProbe idle_probe;
  // The context of the process's modes; null: none yet. Made once, under the space lock.
  Atomic<ModeContext*> shared_mode_context;
  // The one with two sides (heap/sides.hpp), likewise.
  Atomic<SidedContext*> shared_sides;
  Atomic<uint64_t> shared_told_bytes;  // heap/allocated.hpp
  // under the registry's lock
  ThreadCache* next = nullptr;      // among those in use, or unused
  ThreadCache* previous = nullptr;  // among those in use
  // owner only: the lists; list_bounds says how many places there are
  alignas(cache_line_bytes) void* storage[list_places_most] = {};

  bool is_sound() noexcept;  // heap/sound.hpp
};

static_assert(alignof(ThreadCache) == cache_line_bytes && alignof(Heap) == cache_line_bytes,
              "threads share no line");
static_assert(sizeof(ThreadCache) % cache_line_bytes == 0 && sizeof(Heap) % cache_line_bytes == 0,
              "nor do their neighbours");

// The cache to which the calling thread attends; null: none, or its end has begun. The probe
// context, which all threads share, finds it here (cache/idle_caches.hpp).
TALUS_CONSTINIT inline TALUS_THREAD_LOCAL ThreadCache* this_cache = nullptr;

// The cache behind a context; null: the thread has none.
inline ThreadCache* cache_behind(ThreadContext& context) noexcept {
  return context.operations == nullptr ? static_cast<ThreadCache*>(&context)
                                       : context.operations->cache_of(context);
}
// Is this the context of a thread that has not allocated? A request for its cache would make one.
inline bool is_of_new_thread(const ThreadContext& context) noexcept {
  return context.operations == &birth_operations;
}
// The calling thread's cache; null: it has none, and none is made.
inline ThreadCache* existing_cache() noexcept {
  ThreadContext& context = current_context();
  return is_of_new_thread(context) ? nullptr : cache_behind(context);
}

}  // namespace talus::core

#endif  // TALUS_HEAP_HEAP_HPP
