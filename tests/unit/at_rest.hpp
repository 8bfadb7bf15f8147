// SPDX-License-Identifier: MIT
// tests/unit/at_rest: what must hold of a whole process while no other thread uses the heap.
//
//   large blocks  live count      = descriptors out - kept blocks + corrections not yet applied
//   slabs         descriptors out = slabs of all heaps and instances
//   messages      out             = unused ones of heaps + those of batches and queues
//
// While threads work, these sums are never whole: a block may be on its way. Audit builds count
// what is out (base/audit.hpp); elsewhere only the equations of each part are checked.
// Owns: the sums. Invariant: reads only. Called on: tests, when all other threads are at rest.
// Must not know: the code that changes the counters.
#ifndef TALUS_TESTS_UNIT_AT_REST_HPP
#define TALUS_TESTS_UNIT_AT_REST_HPP

#include "heap/sound.hpp"
#include "store/large.hpp"
#include "store/remote.hpp"

namespace talus::core {

struct RestSums {
  size_t slabs = 0;
  size_t messages = 0;
  size_t kept = 0;
  size_t live_count_less = 0;
  bool is_sound = true;

  void add(Heap& heap) noexcept {
    Held held{lock_of(heap)};
    slabs += heap.slab_count;
    messages += heap.unused_message_count;
    const RemoteMessage* message = heap.remote_queue.newest();
    for (; message != nullptr; message = message->next) messages++;
    is_sound = is_sound &&
               (is_instance(heap.id) ? static_cast<Instance&>(heap).is_sound() : heap.is_sound());
  }
  void add(ThreadCache& cache) noexcept {
    for (const RemoteBatch& batch : cache.batches) messages += batch.message != nullptr ? 1 : 0;
    for (const Atomic<LargeBlock*>& head : cache.kept.of_slices) {
      for (const LargeBlock* at = head.load_own(); at != nullptr; at = at->next) kept++;
    }
    live_count_less += cache.kept.live_count_less.load_own();
    is_sound = is_sound && cache.is_sound();
  }
};

inline bool are_pools_at_rest(const RestSums& sums) noexcept {
  if (!large_pool.is_sound() || !descriptor_pool.is_sound() || !message_pool.is_sound()) {
    return false;
  }
  if (TALUS_AUDIT == 0) return true;
  const size_t live = large_pool.live_count - sums.live_count_less;
  return live == large_pool.out_count() - sums.kept && sums.slabs == descriptor_pool.out_count() &&
         sums.messages == message_pool.out_count();
}

inline bool is_sound_at_rest() noexcept {
  RestSums sums;
  Held decaying{registry.decaying};
  Held held{registry.lock};
  for_each_heap([&sums](Heap& heap) noexcept { sums.add(heap); });
  for_each_instance_slot([&sums](InstanceSlot& slot) noexcept { sums.add(*slot.heap); });
  for_each_cache(held, [&sums](ThreadCache& cache) noexcept { sums.add(cache); });
  // An unused cache keeps the empty messages of its batches.
  for (ThreadCache* cache = registry.unused; cache != nullptr; cache = cache->next) {
    sums.add(*cache);
  }
  if (!sums.is_sound || !registry.is_sound() || !instance_table.is_sound()) return false;
  Held space_held{space.lock()};
  return space.is_sound() && is_told_sound() && are_pools_at_rest(sums);
}

}  // namespace talus::core

#endif  // TALUS_TESTS_UNIT_AT_REST_HPP
