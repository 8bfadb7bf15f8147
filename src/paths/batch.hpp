// SPDX-License-Identifier: MIT
// paths/batch: many blocks at once, out of the heap and back.
//
// allocate_batch(bytes, count, places)   from the list first, the rest straight from slabs
// free_many(blocks, count)           to lists while they have room, the rest straight to slabs
//
// Owns: the two paths that bypass the lists. One round trip to the heap's lock serves up to
// batch_blocks_max blocks, and neighbours in a slab are marked together. Invariant: while the lock
// is free, each block is in a list, in a slab or with the program, where a fork finds it.
// Called on: any thread. Must not know: errno.
#ifndef TALUS_PATHS_BATCH_HPP
#define TALUS_PATHS_BATCH_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "store/drain.hpp"
#include "store/remote.hpp"
#include "store/slabs.hpp"
#include "cache/idle_caches.hpp"
#include "cache/large_cache.hpp"
#include "paths/alloc_slow.hpp"
#include "paths/free_slow.hpp"

namespace talus::core {

// Pops up to `wanted` blocks from the list of a class, uppermost first. Returns how many.
inline size_t pop_many(ThreadCache& cache, ClassId id, void** places, size_t wanted) noexcept {
  const ThreadList list = list_of(cache, id);
  void** top = list.top.load_own();
  const size_t length = list_length(cache, id);
  const size_t popped = wanted < length ? wanted : length;
  TALUS_ASSERT(places != nullptr && length <= list_capacity(cache, id));
  for (size_t i = 0; i < popped; i++) places[i] = top[-1 - static_cast<ptrdiff_t>(i)];
  list.top.store_own(top - popped);
  return popped;
}

// Takes up to `wanted` blocks from slabs. Returns how many; fewer only when there is no memory.
inline size_t take_many(Heap& heap, ClassId id, void** places, size_t wanted) noexcept {
  size_t taken = 0;
  while (taken < wanted) {
    const size_t left = wanted - taken;
    const size_t end = taken + (left < batch_blocks_max ? left : batch_blocks_max);
    Held held{lock_of(heap)};
    while (taken < end) {
      if (is_time_to_drain(heap, id)) drain_remote_queue(heap);
      const size_t more = take_blocks(heap, id, places + taken, end - taken);
      if (more == 0) return taken;
      TALUS_ASSERT(more <= end - taken);
      taken += more;
    }
  }
  return taken;
}

inline size_t allocate_slab_batch(ThreadCache* cache, ClassId id, size_t count,
                                  void** places) noexcept {
  const size_t popped = cache == nullptr ? 0 : pop_many(*cache, id, places, count);
  if (popped == count) return count;
  Heap* heap = cache == nullptr ? abandoned_heap() : cache->heap;
  return heap == nullptr ? popped : popped + take_many(*heap, id, places + popped, count - popped);
}

inline size_t allocate_batch_once(size_t bytes, size_t count, void** places) noexcept {
  ThreadCache* cache = cache_behind(current_context());
  const MaybeWorking working{cache};
  size_t special = 0;  // blocks of a mode come first
  while (special < count) {
    places[special] = allocate_by_mode({bytes, block_alignment, 0});
    if (places[special] == nullptr) break;
    special++;
  }
  size_t made = special;
  if (bytes <= medium_bytes_max) {
    made += allocate_slab_batch(cache, class_of(bytes), count - made, places + made);
  } else {
    for (; made < count; made++) {
      places[made] = allocate_large(cache, bytes, slice_bytes).block;
      if (places[made] == nullptr) break;
    }
  }
  if (TALUS_LIKELY(current_context().operations == nullptr)) return made;
  for (size_t i = special; i < made; i++) note_allocate(places[i], bytes);
  return made;
}

// Allocates `count` blocks of at least `bytes` bytes to places[0...]. Returns how many; fewer than
// `count` only when there is no memory for more.
TALUS_SLOW size_t allocate_batch(size_t bytes, size_t count, void** places) noexcept {
  size_t made = count == 0 ? 0 : allocate_batch_once(bytes, count, places);
  for (unsigned attempt = 0; made < count && find_memory(bytes, attempt); attempt++) {
    made += allocate_batch_once(bytes, count - made, places + made);
  }
  offer_work();
  return made;
}

// How many of the blocks, from the first on, have this page-map entry: same heap, same class.
inline size_t run_of(PageEntry word, void* const* blocks, size_t count) noexcept {
  if (count > batch_blocks_max) count = batch_blocks_max;
  size_t run = 0;
  for (; run < count; run++) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(blocks[run]);
    if (page_map.word_anywhere(address).bits() != word.bits()) break;
  }
  return run;
}

// Frees one block of any kind; null is nothing.
inline void free_one_of(ThreadCache* cache, void* pointer) noexcept {
  if (is_no_block(pointer)) return;
  note_free(pointer);
  free_by_modes(cache, pointer);
}

// Frees the first of the blocks, or a run of them whose list is full. Returns how many. Only for
// threads that have a cache and are in no mode.
TALUS_FAST size_t free_some(ThreadCache& cache, void* const* blocks, size_t count) noexcept {
  void* const first = blocks[0];
  const uintptr_t address = reinterpret_cast<uintptr_t>(first);
  const PageEntry word = page_map.word_anywhere(address);
  if (TALUS_UNLIKELY(word.owner() != cache.id)) {
    free_one_of(&cache, first);
    return 1;
  }
  const ClassId id = class_of_tag(word.tag());
  refuse_inside(first);
  refuse_just_freed(cache, first, id);
  if (TALUS_LIKELY(push_on_list(cache, first, id))) return 1;
  if (!is_medium(id) && !is_begun(cache, id)) {
    free_unlisted(cache, first, id);
    return 1;
  }
  const size_t run = run_of(word, blocks, count);
  TALUS_ASSERT(run != 0 && run <= count);  // so the batch ends
  Held held{lock_of(cache)};
  give_blocks(*cache.heap, blocks, run);
  request_purge_if_much(*cache.heap);
  return run;
}

// Frees `count` blocks of any sizes and heaps; null ones are nothing.
TALUS_SLOW void free_many(void* const* blocks, size_t count) noexcept {
  ThreadCache* cache = cache_behind(current_context());
  {
    const MaybeWorking working{cache};
    const bool is_plain = cache != nullptr && current_context().operations == nullptr;
    for (size_t done = 0; done < count;) {
      if (TALUS_LIKELY(is_plain)) {
        done += free_some(*cache, blocks + done, count - done);
      } else {
        free_one_of(cache, blocks[done++]);
      }
    }
  }
  offer_work();
}

}  // namespace talus::core

#endif  // TALUS_PATHS_BATCH_HPP
