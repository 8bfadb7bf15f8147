// SPDX-License-Identifier: MIT
// sync/lock_rank: the order of all locks, written once.
//
// A thread that holds a lock may wait only for locks of a higher rank. So no threads wait for each
// other in a circle. Exceptions: try_lock() waits for no thread, so it may ask for any lock. A
// thread locks several locks of one rank only inside LocksOfOneRank, in the order that the rank
// says.
// Owns: LockRank, and in audit builds the ranks that a thread holds. Invariant: the ranks of
// src/README.md are these (tidy compares them). Called on: any thread, before it waits.
#ifndef TALUS_SYNC_LOCK_RANK_HPP
#define TALUS_SYNC_LOCK_RANK_HPP

#include "base/base.hpp"
#include "os/report.hpp"

namespace talus::core {

// From the first lock to the last.
enum class LockRank : uint8_t {
  printer,           // the text of statistics, which names the numbers of all others
  helper_pass,       // one decay pass of the background thread
  helper,            // start and end of the background thread
  decaying,          // pages of slabs or of areas are being purged, outside their locks
  thread_end,        // the threads that end
  registry,          // which heaps, caches and instances there are
  idle_probe,        // what other threads know of a cache's owner
  heap,              // slabs of a heap or an instance; in the order of ids, instances last
  bounded_registry,  // which bounded instances there are, and their caches
  pool,              // blocks of a bounded pool; in the order of instances and pools
  space,             // address space
  file_stores,       // which heaps lie in files
  file_store,        // the file of one heap; in the order of their list
};
inline constexpr size_t lock_rank_count = static_cast<size_t>(LockRank::file_store) + 1;

constexpr const char* name_of(LockRank rank) noexcept {
  switch (rank) {
    case LockRank::printer:
      return "printer";
    case LockRank::helper_pass:
      return "helper_pass";
    case LockRank::helper:
      return "helper";
    case LockRank::decaying:
      return "decaying";
    case LockRank::thread_end:
      return "thread_end";
    case LockRank::registry:
      return "registry";
    case LockRank::idle_probe:
      return "idle_probe";
    case LockRank::heap:
      return "heap";
    case LockRank::bounded_registry:
      return "bounded_registry";
    case LockRank::pool:
      return "pool";
    case LockRank::space:
      return "space";
    case LockRank::file_stores:
      return "file_stores";
    case LockRank::file_store:
      return "file_store";
  }
  return "";
}

#if TALUS_AUDIT
// The ranks that the calling thread holds. All zero at the birth of a thread.
struct HeldRanks {
  uint16_t counts[lock_rank_count];
  uint16_t in_order_count;  // LocksOfOneRank alive
};
TALUS_CONSTINIT inline TALUS_THREAD_LOCAL HeldRanks held_ranks = {};

[[noreturn]] TALUS_COLD void refuse_lock(LockRank wanted, LockRank held) noexcept {
  Text text;
  text.put("lock order: a thread that holds '").put(name_of(held));
  text.put("' waits for '").put(name_of(wanted)).put("'");
  fatal(text.data(), __FILE__, __LINE__);
}
// Before the thread waits for a lock.
inline void check_rank(LockRank wanted) noexcept {
  const size_t first = static_cast<size_t>(wanted) + (held_ranks.in_order_count != 0 ? 1 : 0);
  for (size_t rank = first; rank < lock_rank_count; rank++) {
    if (held_ranks.counts[rank] != 0) refuse_lock(wanted, LockRank(static_cast<uint8_t>(rank)));
  }
}
inline void note_locked(LockRank rank) noexcept { held_ranks.counts[static_cast<size_t>(rank)]++; }
inline void note_unlocked(LockRank rank) noexcept {
  TALUS_CHECK(held_ranks.counts[static_cast<size_t>(rank)] != 0);
  held_ranks.counts[static_cast<size_t>(rank)]--;
}
inline bool holds_no_rank() noexcept {
  for (const uint16_t count : held_ranks.counts) {
    if (count != 0) return false;
  }
  return true;
}
class [[nodiscard]] LocksOfOneRank {
 public:
  LocksOfOneRank() noexcept { held_ranks.in_order_count++; }
  ~LocksOfOneRank() { held_ranks.in_order_count--; }
  LocksOfOneRank(const LocksOfOneRank&) = delete;
  LocksOfOneRank& operator=(const LocksOfOneRank&) = delete;
};
#else
TALUS_FAST void check_rank(LockRank) noexcept {}
TALUS_FAST void note_locked(LockRank) noexcept {}
TALUS_FAST void note_unlocked(LockRank) noexcept {}
constexpr bool holds_no_rank() noexcept { return true; }
// While this lives, the thread may lock several locks of one rank.
class [[nodiscard]] LocksOfOneRank {
 public:
  TALUS_FAST LocksOfOneRank() noexcept {}
};
#endif

}  // namespace talus::core

#endif  // TALUS_SYNC_LOCK_RANK_HPP
