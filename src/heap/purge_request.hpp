// SPDX-License-Identifier: MIT
// heap/purge request: who frees memory notices here that there is something to give back.
//
// Owns: the word that says so, and whether a helper is at work already. Invariant: noticing costs
// the slow paths two loads and two branches; the helper is started outside all locks. A helper
// that ends says so before it looks for the last time, so that nothing is missed in between.
// Called on: any thread.
#ifndef TALUS_HEAP_PURGE_REQUEST_HPP
#define TALUS_HEAP_PURGE_REQUEST_HPP

#include "heap/registry.hpp"

namespace talus {

// Defined in process/: sees to it that a helper thread runs, if it may. No lock is held.
TALUS_HOOK void start_helper() noexcept;
// Defined in reclaim/release.hpp: too much is free and touched, or the soft limit is near: gives
// back what slabs keep. No lock is held.
TALUS_HOOK void reclaim() noexcept;

struct PurgeRequest {
  Atomic<bool> is_much;    // there is enough to give back to start a helper
  Atomic<bool> is_served;  // a helper is at work
};
inline PurgeRequest purge_request;

// Tells address space, which bounds what all slabs and free ranges keep together. The heap's lock
// is held, the space lock is not.
TALUS_SLOW void tell_free_bytes(Heap& heap) noexcept {
  const size_t bytes = free_resident_bytes(heap);
  Locked held{space.lock()};
  space.add_free_in_slabs(held, bytes - heap.told_free_bytes);
  const bool is_more = bytes > heap.told_free_bytes;
  heap.told_free_bytes = bytes;
  if (heap.taken_back_bytes != 0) {
    space.note_taken_back(held, heap.taken_back_bytes);
    heap.taken_back_bytes = 0;
  }
  if (!is_more) return;
  if (space.excess_bytes(held, Reclaimer::caller) >= surplus_bytes_min) space.ask_to_reclaim();
}
// The same when it became much more or much less.
TALUS_FAST void note_free_bytes(Heap& heap) noexcept {
  const size_t change = free_resident_bytes(heap) - heap.told_free_bytes;
  if (TALUS_UNLIKELY(change + free_told_bytes > 2 * free_told_bytes)) tell_free_bytes(heap);
}

// Free memory with pages that one heap may have before a helper is called for it.
inline size_t requested_heap_bytes_min() noexcept {
  const uint32_t heaps = registry.shared_count.load_relaxed();  // [hint]
  return heaps > 1 ? purge_request_bytes_min / heaps : purge_request_bytes_min;
}

inline bool is_much_for_instance(size_t bytes) noexcept {
  return bytes * instance_table.shared_live_count.load_relaxed() >=
         purge_request_bytes_min;  // [hint]
}

// Under the heap's lock, after blocks came home.
inline void request_purge_if_much(Heap& heap) noexcept {
  if (purge_request.is_served.load_relaxed()) return;  // [hint]
  const size_t bytes = free_touched_bytes(heap);
  const bool is_much =
      is_instance(heap.id) ? is_much_for_instance(bytes) : bytes >= requested_heap_bytes_min();
  if (!is_much) return;
  purge_request.is_much.store_relaxed(true);  // [hint]
}

// Under the space lock, after a range was given.
inline void request_purge_if_dirty(Locked& held) noexcept {
  if (space.dirty_bytes() < purge_request_bytes_min) return;
  if (space.excess_bytes(held, Reclaimer::caller) >= surplus_bytes_min) space.ask_to_reclaim();
  if (!purge_request.is_served.load_relaxed()) purge_request.is_much.store_relaxed(true);  // [hint]
}

// After one more thread got a cache: what many threads hold is much.
TALUS_USUAL void request_cache_purge() noexcept {
  if (purge_request.is_served.load_relaxed()) return;  // [hint]
  Locked held{registry.lock};
  if (registry.cache_count % caches_requested == 0)
    purge_request.is_much.store_relaxed(true);  // [hint]
}

// At the end of slow paths, outside all locks.
TALUS_FAST void offer_work() noexcept {
  if (TALUS_UNLIKELY(space.is_asked_to_reclaim())) reclaim();
  if (TALUS_LIKELY(!purge_request.is_much.load_relaxed())) return;  // [hint]
  if (!purge_request.is_served.load_relaxed()) start_helper();      // [hint]
}

}  // namespace talus

#endif  // TALUS_HEAP_PURGE_REQUEST_HPP
