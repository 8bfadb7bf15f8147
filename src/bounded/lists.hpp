// SPDX-License-Identifier: MIT
// bounded/lists: batches of blocks between a thread's lists and the pools.
//
// Owns: how many blocks move at a time, and the counts of requests. Invariant: a batch moves under
// the pool's lock, which also covers the store that changes the list. So a fork finds each block in
// one place, and no thread waits for more than bounded_batch_max blocks. Called on: the list's
// thread, or the thread that ends its cache while the list's thread does not use it.
#ifndef TALUS_BOUNDED_LISTS_HPP
#define TALUS_BOUNDED_LISTS_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "pools/pool.hpp"
#include "bounded/bounded.hpp"

namespace talus::core {

constexpr size_t bounded_batch_of(size_t capacity) noexcept {
  return capacity / 2 < bounded_batch_max ? capacity / 2 : bounded_batch_max;
}

// What became of a request. One request may count in several classes.
enum class BoundedEvent : uint8_t { miss, overflow, routed };

inline Atomic<uint64_t>& counter_of(BoundedCounts& counts, BoundedEvent event,
                                    size_t index) noexcept {
  return event == BoundedEvent::miss       ? counts.misses[index]
         : event == BoundedEvent::overflow ? counts.overflows[index]
                                           : counts.routed[index];
}
inline void count_bounded(Bounded& instance, BoundedCache& cache, BoundedEvent event,
                          size_t index) noexcept {
  TALUS_ASSERT(cache.instance == nullptr || cache.instance == &instance);
  if (cache.instance != nullptr) {
    counter_of(cache.counts, event, index).own_add(1);
  } else {
    counter_of(instance.gone, event, index).stat_add(1);
  }
}

// Moves at most `wanted` blocks of a pool into a list, in pieces. Returns how many.
inline size_t fill_list(Pool& pool, BoundedList& list, size_t wanted) noexcept {
  TALUS_ASSERT(list.length() + wanted <= list.capacity());
  size_t came = 0;
  while (came < wanted) {
    const size_t piece = wanted - came < bounded_batch_max ? wanted - came : bounded_batch_max;
    Held held{pool.lock};
    void** top = list.top.load_own();
    const size_t got = pool.take(held, top, piece);
    list.top.store_own(top + got);
    audit(list, pool);
    came += got;
    if (got < piece) break;
  }
  return came;
}

// Flushes the uppermost blocks of a list to its pool, in pieces.
inline void flush_list(Pool& pool, BoundedList& list, size_t count) noexcept {
  TALUS_ASSERT(count <= list.length());
  while (count != 0) {
    const size_t piece = count < bounded_batch_max ? count : bounded_batch_max;
    Held held{pool.lock};
    void** top = list.top.load_own();
    for (size_t i = 1; i <= piece; i++) pool.give(held, top[-static_cast<ptrdiff_t>(i)]);
    list.top.store_own(top - piece);
    audit(list, pool);
    count -= piece;
  }
}

}  // namespace talus::core

#endif  // TALUS_BOUNDED_LISTS_HPP
