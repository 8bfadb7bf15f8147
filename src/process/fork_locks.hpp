// SPDX-License-Identifier: MIT
// process/fork_locks: one walk over all locks that a fork locks.
//
// Owns: the walk. Invariant: it goes in the order of ranks (sync/lock_rank.hpp), which audit builds
// check when a fork locks them. Called on: the forking thread.
#ifndef TALUS_PROCESS_FORK_LOCKS_HPP
#define TALUS_PROCESS_FORK_LOCKS_HPP

#include "pools/pool.hpp"
#include "space/space.hpp"
#include "bounded/bounded.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/registry.hpp"
#include "statistics/print_statistics.hpp"
#include "threads/helper.hpp"
#include "threads/threads.hpp"

namespace talus::core {

// Calls visit(lock) for every lock that a fork locks, in the order of ranks. The locks of files
// follow, with what a fork does to files (space/file_fork.hpp).
template <typename Visit>
void for_each_fork_lock(Visit visit) noexcept {
  visit(helper.lock);
  visit(registry.decaying);
  visit(thread_end.lock);
  visit(registry.lock);
  for_each_heap([&](Heap& heap) noexcept { visit(lock_of(heap)); });
  for_each_instance_slot([&](InstanceSlot& slot) noexcept { visit(slot.lock); });
  visit(bounded_registry.lock);
  for_each_bounded([&](Bounded& instance) noexcept {
    for (size_t index = 0; index < instance.pool_count; index++) visit(instance.pools[index].lock);
  });
  visit(space.lock());
}

// Calls visit(lock) for these, for the idle probe of the thread's cache, and for the printer's: all
// that a signal may have interrupted.
template <typename Visit>
void for_each_lock(Visit visit) noexcept {
  for_each_fork_lock(visit);
  if (ThreadCache* cache = existing_cache()) visit(cache->idle_probe.lock);
  visit(statistics_printer.lock);
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_FORK_LOCKS_HPP
