// SPDX-License-Identifier: MIT
// cache/list_home: blocks of a thread's lists go home.
//
// Owns: the way of blocks from a list to their slabs, and of foreign blocks to their heaps.
// Invariant: the lock of the cache's heap is held where a block leaves a list, so that a fork finds
// it in one place. The exception: there is no memory for a message.
// Called on: the thread that owns the cache, or the thread that empties it.
#ifndef TALUS_CACHE_LIST_HOME_HPP
#define TALUS_CACHE_LIST_HOME_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "os/report.hpp"
#include "sync/ranked_lock.hpp"
#include "slab/remote_free.hpp"
#include "slab/slab.hpp"
#include "space/space.hpp"
#include "heap/purge_request.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/remote.hpp"
#include "store/drain.hpp"
#include "store/slabs.hpp"

namespace talus::core {

// How many blocks go home at a time from a list that may have foreign blocks.
inline constexpr size_t foreign_at_a_time = RemoteMessage::blocks_max;

// Puts listed blocks into their slabs, and sends foreign blocks home in one message. Returns the
// heap that got the message, which may need draining; none: no message. `held` is the lock of
// this heap. At most foreign_at_a_time blocks. The analysis cannot unlock a proof that is a
// parameter.
TALUS_USUAL HeapId flush_with_foreign(Held<HeapLock>& held, Heap& heap, void* const* blocks,
                                      size_t count) noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  TALUS_ASSERT(count <= foreign_at_a_time && !is_instance(heap.id));
  RemoteMessage* message = nullptr;
  HeapId owner = HeapId::none;
  for (size_t done = 0; done < count;) {
    void* block = blocks[done];
    const PageMap::Place place = page_map.place_of(reinterpret_cast<uintptr_t>(block));
    const PageEntry word = place.word();
    if (word.owner() == heap.id) {
      auto& slab = *static_cast<Slab*>(place.descriptor());
      done += give_to_slab(heap, slab, blocks + done, count - done);
      continue;
    }
    // The slab can have died since only if the block was freed twice.
    if (!word.is_slab() || is_instance(word.owner())) report::foreign_pointer(block, "free");
    if (message == nullptr) message = take_message(heap);
    if (TALUS_LIKELY(message != nullptr)) {
      message->add(block, block_bytes_of(word));
      owner = word.owner();  // that heap sends on what is not its own
    } else {
      held.unlock_for_a_while();
      free_to_slab(block);
      held.lock_again();
    }
    done++;
  }
  if (message != nullptr) heap_with(owner).remote_queue.push(*message);
  note_free_bytes(heap);
  audit(heap);
  return owner;
}

// The oldest blocks of a list go home; the younger ones stay. Drains for the owner of foreign
// blocks if `backlog_max` bytes wait there.
TALUS_USUAL void send_home(ThreadCache& cache, ClassId id, size_t count,
                           size_t backlog_max) noexcept {
  Heap& heap = *cache.heap;
  void** bottom = list_bottom(cache, id);
  while (count > 0) {
    HeapId owner = HeapId::none;
    size_t part = count;
    {
      Held held{lock_of(cache)};
      const size_t length = list_length(cache, id);
      TALUS_ASSERT(count <= length);
      if (may_have_foreign(id)) {
        if (part > foreign_at_a_time) part = foreign_at_a_time;
        owner = flush_with_foreign(held, heap, bottom, part);
      } else {
        give_blocks(heap, bottom, part);
      }
      request_purge_if_much(heap);
      move_bytes(bottom, bottom + part, (length - part) * sizeof(void*));
      list_of(cache, id).top.store_own(bottom + length - part);  // in the lock
    }
    if (owner != HeapId::none) drain_for_owner(heap_with(owner), backlog_max);
    count -= part;
  }
}

}  // namespace talus::core

#endif  // TALUS_CACHE_LIST_HOME_HPP
