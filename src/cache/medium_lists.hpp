// SPDX-License-Identifier: MIT
// cache/medium_lists: medium blocks, which leave slabs one at a time, and lists of freed ones.
//
// A push and a pop are as in other slow lists. The bound is on the sum of what these lists have
// room for (KeptBlocks::medium_bytes) and the large blocks that the thread keeps: at most
// kept_bytes_most(). A list begins without room, and gets room for one block at a time when it is
// full. Where no room is left, another list or a large block yields (displace_kept).
// Owns: how much a thread may have in lists of medium classes, and what is known of zeroes in their
// slabs.
// Invariants: such a list holds freed blocks only. So memory that the program never touched stays
// in slabs, where that is known. Blocks that come home from other threads go to their slabs.
// Called on: the thread that owns the cache, or a thread that holds the heap's lock.
#ifndef TALUS_CACHE_MEDIUM_LISTS_HPP
#define TALUS_CACHE_MEDIUM_LISTS_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "settings/options.hpp"
#include "os/bytes.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/drain.hpp"
#include "store/slabs.hpp"

namespace talus::core {

// Bytes of freed blocks that a thread may keep: large ones, and those in its medium lists.
TALUS_FAST size_t kept_bytes_most() noexcept { return large_kept_factor * options.list_bytes; }
TALUS_FAST bool has_room_to_keep(const KeptBlocks& kept, size_t bytes) noexcept {
  return kept.bytes.load_own() + kept.medium_bytes + bytes <= kept_bytes_most();
}

// May a block of the next larger class serve?
enum class Fit : uint8_t { exact, near };

// A freed block above fast_bytes_max. For a medium size the next larger class may serve: its blocks
// have been touched. Null: neither has a block, or the next class served often enough.
TALUS_FAST void* pop_fitting(ThreadCache& cache, ClassId id, Fit fit) noexcept {
  void* block = pop_from_list(slow_list_of(cache, id));
  const bool has_next = fit == Fit::near && has_next_medium(id);
  if (TALUS_LIKELY(block != nullptr) || !has_next) return block;
  uint32_t& borrowed = cache.kept.borrowed_count;
  if (TALUS_UNLIKELY(borrowed == borrowed_count_most)) return nullptr;
  block = pop_from_list(slow_list_of(cache, ClassId{static_cast<uint8_t>(index_of(id) + 1)}));
  borrowed += block != nullptr ? 1 : 0;
  return block;
}

// A block goes to its slab because its list has no room.
TALUS_USUAL void give_past_lists(ThreadCache& cache, void* pointer) noexcept {
  Held held{lock_of(cache)};
  give_blocks(*cache.heap, &pointer, 1);
  request_purge_if_much(*cache.heap);
}

// Reports a block of the cache's heap that is free in its slab. Costs a round trip to the lock.
TALUS_SLOW void refuse_free_in_slab(ThreadCache& cache, const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Held held{lock_of(cache)};
  const PageMap::Place place = page_map.place_of(address);
  if (place.word().owner() != cache.id) return;  // the slab changed hands meanwhile
  const Slab& slab = *static_cast<const Slab*>(place.descriptor());
  const uint32_t index = slab.prove(pointer);
  if (TALUS_UNLIKELY(slab.is_free(index))) report::double_free(pointer, slab.block_bytes);
}

// A list gets room for one more block, if the thread may keep that much.
inline bool enlarge_medium(ThreadCache& cache, ClassId id) noexcept {
  TALUS_ASSERT(is_medium(id) && list_length(cache, id) <= list_capacity(cache, id));
  const ThreadList list = slow_list_of(cache, id);
  const size_t bytes = size_class_row(id).block_bytes;
  if (list_capacity(cache, id) >= list_most_of(id)) return false;
  if (!has_room_to_keep(cache.kept, bytes)) return false;
  list.limit++;
  cache.kept.medium_bytes += bytes;
  return true;
}

// A list gives up room for one block; if it is full, its oldest block goes. False: it has no room.
inline bool displace_medium(ThreadCache& cache, ClassId id) noexcept {
  const ThreadList list = slow_list_of(cache, id);
  void** bottom = list_bottom(cache, id);
  if (list.limit == bottom) return false;
  void** top = list.top.load_own();
  if (top == list.limit) {
    Held held{lock_of(cache)};
    give_blocks(*cache.heap, bottom, 1);
    request_purge_if_much(*cache.heap);
    move_bytes(bottom, bottom + 1, static_cast<size_t>(top - bottom - 1) * sizeof(void*));
    list.top.store_own(top - 1);  // in the lock
  }
  list.limit--;
  TALUS_ASSERT(cache.kept.medium_bytes >= size_class_row(id).block_bytes);
  cache.kept.medium_bytes -= size_class_row(id).block_bytes;
  return true;
}

// A slab to take one block from; null: no memory. An existing slab comes before a new one, because
// the program may not have touched the new one's memory yet.
inline Slab* slab_for_one(Heap& heap, ClassId id, Fit fit) noexcept {
  if (Slab* slab = choose_slab(heap, id)) return slab;
  if (fit == Fit::near && has_next_medium(id)) {
    if (Slab* slab = heap.available[index_of(id) + 1].fullest()) return slab;
  }
  return find_slab(heap, id);
}

// One block straight from a slab. The caller holds the heap's lock.
TALUS_USUAL BlockMade take_medium(Heap& heap, ClassId id, Fit fit) noexcept {
  Slab* slab = slab_for_one(heap, id, fit);
  if (slab == nullptr) return {};
  BlockMade made;
  TALUS_ASSERT(slab->bitmap_words == 1 && slab->free_count != 0);
  const uint64_t clean_before = slab->clean_bits;
  slab->take_blocks(&made.block, 1);
  if (slab->clean_bits != clean_before) made.zeroed = Zeroed::yes;
  slab_gave_blocks(heap, *slab, &made.block, 1);
  heap.refills++;
  count_taken(heap, slab->class_id, 1);
  audit(heap);
  return made;
}

// The list is empty. Takes only one block, because blocks in a list count as touched.
TALUS_SLOW BlockMade refill_medium(Heap& heap, ClassId id, Fit fit) noexcept {
  Held held{lock_of(heap)};
  if (!heap.remote_queue.is_empty()) drain_remote_queue(heap);
  return take_medium(heap, id, fit);
}

// A medium block by way of a cache, or without one.
TALUS_USUAL BlockMade allocate_medium(ThreadCache* cache, ClassId id, Fit fit) noexcept {
  TALUS_ASSERT(is_medium(id));
  if (cache == nullptr) {
    Heap* heap = abandoned_heap();
    return heap == nullptr ? BlockMade{} : refill_medium(*heap, id, fit);
  }
  void* block = pop_fitting(*cache, id, fit);
  if (block == nullptr && cache->kept.borrowed_count == borrowed_count_most) {
    cache->kept.borrowed_count = 0;
    // A class in such frequent use gets a block of its own. Otherwise, with random sizes, the list
    // that serves could not be predicted.
    if (has_room_to_keep(cache->kept, size_class_row(id).block_bytes)) fit = Fit::exact;
    block = pop_fitting(*cache, id, fit);
  }
  if (block != nullptr) return {block, Zeroed::no};
  return refill_medium(*cache->heap, id, fit);
}

}  // namespace talus::core

#endif  // TALUS_CACHE_MEDIUM_LISTS_HPP
