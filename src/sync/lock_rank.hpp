// SPDX-License-Identifier: MIT
// sync/lock_rank: the order of all locks, written once.
//
// A thread that holds a lock may wait only for locks of a higher rank. So no threads wait for each
// other in a circle. Exceptions: try_lock() waits for no thread, so it may ask for any lock. Locks
// of one rank are locked in the order that their rank says.
// Owns: LockRank. Called on: no thread, it is constants.
#ifndef TALUS_SYNC_LOCK_RANK_HPP
#define TALUS_SYNC_LOCK_RANK_HPP

#include "base/base.hpp"

namespace talus::core {

// From the first lock to the last.
enum class LockRank : uint8_t {
  helper_pass,       // one decay pass of the background thread; only that thread waits for it
  helper,            // start and end of the background thread
  decaying,          // pages of slabs are being purged outside the heap's lock
  thread_end,        // threads that end, and the keys of their destructors
  registry,          // heaps, caches and instances: which there are, and which belong together
  idle_probe,        // what other threads know of a cache's owner; one for each cache
  heap,              // the slabs of a heap or an instance; in the order of their ids
  bounded_registry,  // bounded instances and the caches before them
  pool,              // the blocks of a bounded pool; in the order of instances and pools
  space,             // address space
  file_stores,       // which heaps lie in files
  file_store,        // one heap's file; in the order of the list
  printer,           // the text of statistics
};

}  // namespace talus::core

#endif  // TALUS_SYNC_LOCK_RANK_HPP
