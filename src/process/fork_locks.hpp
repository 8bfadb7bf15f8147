// SPDX-License-Identifier: MIT
// process/fork_locks: all locks that a fork locks, in both directions.
//
// Owns: which locks these are. Invariants: a fork locks in the order of ranks (sync/lock_rank.hpp),
// which audit builds check, and unlocks in the opposite order. The list of the locks of a rank
// changes only under a lock of a lower rank. So both walks meet the same locks. If a fork unlocked
// the guard of a list first, another thread could change the list before the walk reached it. The
// locks of an ended instance would stay locked, and the lock of a new heap would be unlocked under
// its holder. Called on: the forking thread.
#ifndef TALUS_PROCESS_FORK_LOCKS_HPP
#define TALUS_PROCESS_FORK_LOCKS_HPP

#include <utility>

#include "base/base.hpp"
#include "sync/lock_rank.hpp"
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

// Calls visit(lock) for every lock of a rank that a fork locks. The ranks of files have none here:
// space/file_fork.hpp locks them.
template <LockRank Rank, typename Visit>
void for_each_fork_lock_of(Visit& visit) noexcept {
  if constexpr (Rank == LockRank::helper) visit(helper.lock);
  if constexpr (Rank == LockRank::decaying) visit(registry.decaying);
  if constexpr (Rank == LockRank::thread_end) visit(thread_end.lock);
  if constexpr (Rank == LockRank::registry) visit(registry.lock);
  if constexpr (Rank == LockRank::heap) {
    for_each_heap([&](Heap& heap) noexcept { visit(lock_of(heap)); });
    for_each_instance_slot([&](InstanceSlot& slot) noexcept { visit(slot.lock); });
  }
  if constexpr (Rank == LockRank::bounded_registry) visit(bounded_registry.lock);
  if constexpr (Rank == LockRank::pool) {
    for_each_bounded([&](Bounded& instance) noexcept {
      for (size_t index = 0; index < instance.pool_count; index++) {
        visit(instance.pools[index].lock);
      }
    });
  }
  if constexpr (Rank == LockRank::space) visit(space.lock());
}

template <typename Visit, size_t... Ranks>
void for_each_fork_lock_in(std::index_sequence<Ranks...>, Visit& visit) noexcept {
  (for_each_fork_lock_of<LockRank(static_cast<uint8_t>(Ranks))>(visit), ...);
}
using AllRanks = std::make_index_sequence<lock_rank_count>;
template <size_t... Ranks>
constexpr auto reversed(std::index_sequence<Ranks...>) noexcept {
  return std::index_sequence<(lock_rank_count - 1 - Ranks)...>{};
}

// Calls visit(lock) for every lock that a fork locks, from the first rank to the last.
template <typename Visit>
void for_each_fork_lock(Visit visit) noexcept {
  for_each_fork_lock_in(AllRanks{}, visit);
}
// The same from the last rank to the first. All of them are locked, and the visit may unlock.
template <typename Visit>
void for_each_fork_lock_backwards(Visit visit) noexcept {
  for_each_fork_lock_in(reversed(AllRanks{}), visit);
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
