// SPDX-License-Identifier: MIT
// bounded/lists: batches of blocks between a thread's lists and the pools.
//
// Owns: how many blocks move at a time, and what became of requests. Invariant: a batch moves under
// the pool's lock, with the store that changes the list inside, so that a fork finds each block in
// one place, and nobody waits for more than bounded_batch_max blocks. Called on: the list's thread,
// or whoever ends its cache while that does not use it.
#ifndef TALUS_BOUNDED_LISTS_HPP
#define TALUS_BOUNDED_LISTS_HPP

#include "bounded/bounded.hpp"

namespace talus {

constexpr size_t bounded_batch_of(size_t capacity) noexcept {
  return capacity / 2 < bounded_batch_max ? capacity / 2 : bounded_batch_max;
}

// A request, or one of several classes, has one of these.
enum class BoundedEvent : uint8_t { miss, overflow, routed };

inline Atomic<uint64_t>& counter_of(BoundedCounts& counts, BoundedEvent event,
                                    size_t index) noexcept {
  return event == BoundedEvent::miss       ? counts.misses[index]
         : event == BoundedEvent::overflow ? counts.overflows[index]
                                           : counts.routed[index];
}
inline void count_bounded(Bounded& instance, BoundedCache& cache, BoundedEvent event,
                          size_t index) noexcept {
  if (cache.instance != nullptr) {
    counter_of(cache.counts, event, index).own_add_relaxed(1);  // [own]
  } else {
    counter_of(instance.gone, event, index).fetch_add_relaxed(1);  // [stat]
  }
}

// Blocks of a pool into a list, `wanted` at most, in pieces. Returns how many came.
inline size_t fill_list(Pool& pool, BoundedList& list, size_t wanted) noexcept {
  size_t came = 0;
  while (came < wanted) {
    const size_t piece = wanted - came < bounded_batch_max ? wanted - came : bounded_batch_max;
    Locked held{pool.lock};
    void** top = list.top.load_relaxed();  // [own]
    const size_t got = pool.take(held, top, piece);
    list.top.store_relaxed(top + got);  // [own]
    came += got;
    if (got < piece) break;
  }
  return came;
}

// The uppermost blocks of a list back to its pool, in pieces.
inline void flush_list(Pool& pool, BoundedList& list, size_t count) noexcept {
  while (count != 0) {
    const size_t piece = count < bounded_batch_max ? count : bounded_batch_max;
    Locked held{pool.lock};
    void** top = list.top.load_relaxed();  // [own]
    for (size_t i = 1; i <= piece; i++) pool.give(held, top[-static_cast<ptrdiff_t>(i)]);
    list.top.store_relaxed(top - piece);  // [own]
    count -= piece;
  }
}

}  // namespace talus

#endif  // TALUS_BOUNDED_LISTS_HPP
