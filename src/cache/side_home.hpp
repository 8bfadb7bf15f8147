// SPDX-License-Identifier: MIT
// cache/side_home: blocks of two-sided lists go home.
//
// Owns: the way of blocks from a side to their slabs, and a push on a side that may be full.
// Invariant: as in cache/list_home.hpp.
// Called on: the thread that owns the cache, or the thread that empties it.
#ifndef TALUS_CACHE_SIDE_HOME_HPP
#define TALUS_CACHE_SIDE_HOME_HPP

#include "base/base.hpp"
#include "os/bytes.hpp"
#include "sync/ranked_lock.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sides.hpp"
#include "store/drain.hpp"
#include "cache/list_home.hpp"

namespace talus::core {

// The oldest blocks of a side go home, as in send_home().
TALUS_APART void send_side_home(ThreadCache& cache, const Side& side, size_t count,
                                size_t backlog_max) noexcept {
  TALUS_ASSERT(count <= side.length());
  while (count > 0) {
    const size_t part = count < foreign_at_a_time ? count : foreign_at_a_time;
    HeapId owner = HeapId::none;
    {
      Held held{lock_of(cache)};
      const size_t length = side.length();
      owner = flush_with_foreign(held, *cache.heap, side.bottom, part);
      request_purge_if_much(*cache.heap);
      move_bytes(side.bottom, side.bottom + part, (length - part) * sizeof(void*));
      side.note_gone(part);
      side.top.store_own(side.bottom + length - part);  // in the lock
    }
    if (owner != HeapId::none) drain_for_owner(heap_with(owner), backlog_max);
    count -= part;
  }
}
TALUS_APART void send_all_home(ThreadCache& cache, SidedContext& context,
                               size_t backlog_max) noexcept {
  for_each_side_of(context, [&](const Side& side, ClassId) noexcept {
    send_side_home(cache, side, side.length(), backlog_max);
  });
}
// All blocks of all sides. The owner is in a slow path, or there is none.
TALUS_FAST void send_sides_home(ThreadCache& cache, size_t backlog_max) noexcept {
  SidedContext* context = cache.shared_sides.load_acquire();
  if (TALUS_UNLIKELY(context != nullptr)) send_all_home(cache, *context, backlog_max);
}

// Pushes a block on the free side of its class. A full side sends half of its blocks home first.
inline void push_on_side(SidedContext& context, ThreadCache& cache, void* pointer,
                         size_t index) noexcept {
  const Side side = free_side(context, index);
  const size_t length = side.length();
  if (length == side.room()) {
    send_side_home(cache, side, (length + 1) / 2, remote_backlog_bytes_max);
  }
  void** top = side.top.load_own();
  *top = pointer;
  side.top.store_own(top + 1);
}

}  // namespace talus::core

#endif  // TALUS_CACHE_SIDE_HOME_HPP
