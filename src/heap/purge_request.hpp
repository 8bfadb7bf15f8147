// SPDX-License-Identifier: MIT
// heap/purge request: a freeing thread notices here that there is memory to purge.
//
// The freeing thread sets a word, and the background thread or a reclaiming caller does the work.
// Owns: the word, and whether a background thread is at work. Invariants: the check costs slow
// paths two loads and two branches. The background thread is started outside all locks. A
// background thread that ends clears is_served before its last look, so that it misses no request.
// Called on: any thread.
#ifndef TALUS_HEAP_PURGE_REQUEST_HPP
#define TALUS_HEAP_PURGE_REQUEST_HPP

#include "base/base.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/registry.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"

namespace talus::core {

// Defined in process/: starts a background thread if one may run. The caller holds no lock.
TALUS_HOOK void start_helper() noexcept;
// Defined in reclaim/purge_now.hpp: purges what slabs keep, because too much free memory has pages
// or the soft limit is near. The caller holds no lock.
TALUS_HOOK void reclaim() noexcept;

struct PurgeRequest {
  Atomic<bool> is_much;    // there is enough to purge to start a background thread
  Atomic<bool> is_served;  // a background thread is at work
};
TALUS_CONSTINIT inline PurgeRequest purge_request;

// What address space counts as free in slabs is the sum of what all heaps told. Each heap tells
// under the space lock, which is held.
inline bool is_told_sound() noexcept TALUS_REQUIRES(space.lock()) {
  size_t told = 0;
  for_each_heap([&told](const Heap& heap) noexcept { told += heap.told_free_bytes; });
  for_each_instance_slot(
      [&told](const InstanceSlot& slot) noexcept { told += slot.heap->told_free_bytes; });
  return told == space.free_in_slabs();
}
inline void audit_told() noexcept TALUS_REQUIRES(space.lock()) {
  if constexpr (TALUS_AUDIT == 0) return;
  const size_t items = registry.shared_count.load_hint() + instance_table.shared_count.load_hint();
  if (is_audit_due(items)) TALUS_ASSERT(is_told_sound());
}

// Tells address space how much the heap keeps; address space bounds the sum of all slabs and free
// ranges. The caller holds the heap's lock and not the space lock.
TALUS_SLOW void tell_free_bytes(Heap& heap) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  const size_t bytes = free_resident_bytes(heap);
  Held held{space.lock()};
  space.add_free_in_slabs(held, bytes - heap.told_free_bytes);
  const bool is_more = bytes > heap.told_free_bytes;
  heap.told_free_bytes = bytes;
  audit_told();
  if (heap.taken_back_bytes != 0) {
    space.note_taken_back(held, heap.taken_back_bytes);
    heap.taken_back_bytes = 0;
  }
  if (!is_more) return;
  if (space.excess_bytes(held, Reclaimer::caller) >= surplus_bytes_min) space.ask_to_reclaim();
}
// Tells address space after a large change only.
TALUS_FAST void note_free_bytes(Heap& heap) noexcept {
  const size_t change = free_resident_bytes(heap) - heap.told_free_bytes;
  if (TALUS_UNLIKELY(change + free_told_bytes > 2 * free_told_bytes)) tell_free_bytes(heap);
  TALUS_ASSERT(free_resident_bytes(heap) - heap.told_free_bytes + free_told_bytes <=
               2 * free_told_bytes);
}

// Free memory with pages that one heap may have before it asks for a background thread.
inline size_t requested_heap_bytes_min() noexcept {
  const uint32_t heaps = registry.shared_count.load_hint();
  return heaps > 1 ? purge_request_bytes_min / heaps : purge_request_bytes_min;
}

inline bool is_much_for_instance(size_t bytes) noexcept {
  return bytes * instance_table.shared_live_count.load_hint() >= purge_request_bytes_min;
}

// After blocks came home. The caller holds the heap's lock.
inline void request_purge_if_much(Heap& heap) noexcept {
  TALUS_ASSERT(lock_of(heap).is_own());
  if (purge_request.is_served.load_hint()) return;
  const size_t bytes = free_touched_bytes(heap);
  const bool is_much =
      is_instance(heap.id) ? is_much_for_instance(bytes) : bytes >= requested_heap_bytes_min();
  if (!is_much) return;
  purge_request.is_much.store_hint(true);
}

// After a range became free. The caller holds the space lock.
inline void request_purge_if_dirty(Held<SpaceLock>& held) noexcept TALUS_REQUIRES(space.lock()) {
  TALUS_ASSERT(space.lock().is_own());
  if (space.dirty_bytes() < purge_request_bytes_min) return;
  if (space.excess_bytes(held, Reclaimer::caller) >= surplus_bytes_min) space.ask_to_reclaim();
  if (!purge_request.is_served.load_hint()) purge_request.is_much.store_hint(true);
}

// After one more thread got a cache: the caches of many threads hold much memory.
TALUS_USUAL void request_cache_purge() noexcept {
  if (purge_request.is_served.load_hint()) return;
  Held held{registry.lock};
  if (registry.cache_count % caches_requested == 0) purge_request.is_much.store_hint(true);
}

// Ends a slow path, outside all locks.
TALUS_FAST void offer_work() noexcept {
  if (TALUS_UNLIKELY(space.is_asked_to_reclaim())) reclaim();
  if (TALUS_LIKELY(!purge_request.is_much.load_hint())) return;
  if (!purge_request.is_served.load_hint()) start_helper();
}

}  // namespace talus::core

#endif  // TALUS_HEAP_PURGE_REQUEST_HPP
