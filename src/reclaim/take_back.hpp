// SPDX-License-Identifier: MIT
// reclaim/take_back: empties an idle thread's lists without its help.
//
// Owns: the second half of the idle-cache reclaim protocol (cache/idle_caches.hpp). The thread
// keeps the uppermost block of each list, because it may be about to pop that block.
// Called on: the background thread, or a thread that asked for a release; it holds the registry's
// lock.
#ifndef TALUS_RECLAIM_TAKE_BACK_HPP
#define TALUS_RECLAIM_TAKE_BACK_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "heap/thread_order.hpp"
#include "store/drain.hpp"
#include "store/remote.hpp"
#include "cache/large_cache.hpp"
#include "cache/list_home.hpp"

namespace talus::core {

// Takes up to `count` pointers from an idle owner's list and leaves nulls. The owner wrote them
// with plain stores before. is_ordered() proves that these are visible. No tool sees that, so
// TALUS_TELL_RELEASE in free_block() tells it.
TALUS_NO_RACE_CHECK inline size_t empty_places(void** places, size_t count, void** taken) noexcept {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    taken[found] = places[i];
    if (places[i] != nullptr) found++;
    places[i] = nullptr;
  }
  return found;
}

// All blocks of the slow lists: their owner uses these lists only while it is marked busy.
inline size_t take_slow_lists_back(ThreadCache& cache) noexcept {
  size_t bytes = 0;
  for (size_t index = fast_class_count; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    const size_t length = list_length(cache, id);
    if (length == 0) continue;
    send_home(cache, id, length, 0);
    bytes += length * size_class_row(id).block_bytes;
  }
  return bytes;
}

// All but the uppermost block of one list. Calls note_gone(blocks) under the heap's lock. Returns
// bytes.
template <typename NoteGone>
size_t take_list_back(ThreadCache& cache, ClassId id, Atomic<void**>& top, void** place,
                      NoteGone note_gone) noexcept {
  constexpr size_t batch = foreign_at_a_time;
  size_t bytes = 0;
  size_t left = static_cast<size_t>(top.load_stat() - place);
  TALUS_TELL_ACQUIRE(&top);
  while (left > 1) {
    void* blocks[batch];
    const size_t part = left - 1 < batch ? left - 1 : batch;
    HeapId owner = HeapId::none;
    {
      Held held{lock_of(cache)};
      // From the first block on, the list has gaps. A fork sees both or neither.
      cache.shared_state.store_own(OwnerState::idle);
      const size_t found = empty_places(place, part, blocks);
      owner = flush_with_foreign(held, *cache.heap, blocks, found);
      note_gone(found);
      bytes += found * size_class_row(id).block_bytes;
    }
    if (owner != HeapId::none) drain_for_owner(heap_with(owner), 0);
    place += part;
    left -= part;
  }
  return bytes;
}

// The same for all lists and sides.
TALUS_USUAL size_t take_lists_back(ThreadCache& cache) noexcept {
  size_t bytes = 0;
  for (size_t index = 0; index < fast_class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    bytes += take_list_back(cache, id, cache.tops[index], list_bottom(cache, id),
                            [](size_t) noexcept {});
  }
  for_each_side(cache, [&](const auto& side, ClassId id) noexcept {
    bytes += take_list_back(cache, id, side.top, side.bottom,
                            [&](size_t blocks) noexcept { side.note_gone(blocks); });
  });
  return bytes;
}

// Was the last ask long enough ago, or ordered by this barrier?
inline bool is_ordered(const IdleProbe& idle_probe, uint64_t barrier) noexcept
    TALUS_REQUIRES(idle_probe.lock) {
  return ThreadOrder::covers(barrier, idle_probe.asked_before) ||
         os::System::now_ns() - idle_probe.asked_ns >= idle_probe_wait_us * 1000;
}

// asked -> idle, if the owner did not come back. `barrier` is the number of the last barrier that
// the caller made. Returns bytes of blocks that went home.
TALUS_USUAL size_t take_back(Held<RegistryLock>&, ThreadCache& cache,
                             uint64_t barrier = ThreadOrder::none) noexcept
    TALUS_REQUIRES(registry.lock) {
  IdleProbe& idle_probe = cache.idle_probe;
  if (!idle_probe.lock.try_lock()) return 0;
  size_t bytes = 0;
  // Under the lock.
  if (cache.shared_state.load_own() == OwnerState::asked && is_ordered(idle_probe, barrier) &&
      cache.shared_busy.load_acquire() == 0) {
    flush_modes(cache);
    for (RemoteBatch& batch : cache.batches) {
      if (batch.message != nullptr) bytes += batch.message->bytes.load_stat();
      deliver(cache, batch, Newest::go, 0);
    }
    bytes += cache.kept.bytes.load_own();  // under the lock
    flush_kept(cache);
    bytes += take_slow_lists_back(cache);
    bytes += take_lists_back(cache);
    cache.shared_state.store_own(OwnerState::idle);  // under the lock
  }
  idle_probe.lock.unlock();
  return bytes;
}

// Calls visit(held, cache) for the caches in use, a few at a time under the registry's lock. A
// cache that begins or ends meanwhile may be visited twice or not at all.
template <typename Visit>
TALUS_USUAL void visit_caches(Visit visit) noexcept {
  static constexpr int at_a_time = 4;
  ThreadCache* last = nullptr;
  for (size_t done = 0;; done += at_a_time) {
    Held held{registry.lock};
    ThreadCache* cache = registry.caches;
    if (last != nullptr && last->idle_probe.context_slot.load_own() != nullptr) {
      cache = last->next;  // it is still in the list
    } else {
      for (size_t i = 0; i < done && cache != nullptr; i++) cache = cache->next;
    }
    for (int i = 0; i < at_a_time && cache != nullptr; i++, cache = cache->next) {
      visit(held, *cache);
      last = cache;
    }
    if (cache == nullptr || done > caches_visited_max) return;
  }
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_TAKE_BACK_HPP
