// SPDX-License-Identifier: MIT
// reclaim/purge_now: purges memory now: on request (malloc_trim, talus_release), beyond the goal,
// and where an allocation failed.
//
// Owns: nothing; the sources and their order are reclaim/sources.hpp. Invariant: a request acts on
// the memory of all threads, sleeping ones included; a thread in a slow path keeps its lists.
// Called on: any thread, without locks.
#ifndef TALUS_RECLAIM_PURGE_NOW_HPP
#define TALUS_RECLAIM_PURGE_NOW_HPP

#include "base/base.hpp"
#include "settings/machine.hpp"
#include "arch/probes.hpp"
#include "os/os.hpp"
#include "retention/retention.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/purge_request.hpp"
#include "paths/alloc_slow.hpp"
#include "reclaim/caches.hpp"
#include "reclaim/sources.hpp"

namespace talus::core {

inline size_t purged_bytes_so_far() noexcept {
  Held held{space.lock()};
  return space.counters().purged_bytes;
}

// Purges free memory of all heaps: blocks that threads hold, delivered blocks, empty slabs and
// pages without blocks. Also purges the touched free ranges, all but `keep_bytes`. Returns the
// bytes purged meanwhile.
inline size_t purge_beyond(size_t keep_bytes) noexcept {
  const PurgeReason reason{space.purge_causes(), PurgeCause::call};
  const size_t before = purged_bytes_so_far();
  purge_on_request(keep_bytes);
  return purged_bytes_so_far() - before;
}

// Purges at least `bytes` if that much is free. Returns the bytes purged meanwhile.
inline size_t purge_bytes(size_t bytes) noexcept {
  if (bytes == 0) return 0;
  const PurgeReason reason{space.purge_causes(), PurgeCause::call};
  size_t before = 0;
  {
    Held held{space.lock()};
    before = space.counters().purged_bytes;
    const size_t dirty = space.dirty_bytes();
    space.purge_beyond(held, dirty > bytes ? dirty - bytes : 0);
    if (space.counters().purged_bytes - before >= bytes) {
      return space.counters().purged_bytes - before;
    }
  }
  purge_beyond(0);
  return purged_bytes_so_far() - before;
}

TALUS_HOOK void reclaim() noexcept {
  if (reclaim_to_goal(Reclaimer::caller, reclaim_bytes_max)) gather_blocks();
}

// Called when an allocation failed. First purges all free memory, unless that was tried a moment
// ago; then calls the program's handler, if it has set one.
TALUS_HOOK bool find_memory(size_t bytes, unsigned attempt) noexcept {
  arch::probe_no_memory(bytes, attempt);
  if (bytes > PTRDIFF_MAX - slice_bytes) return false;
  if (attempt == 0) {
    static Atomic<uint64_t> tried_ms;
    const uint64_t now = os::System::now_ms();
    const uint64_t last = tried_ms.load_hint();
    tried_ms.store_hint(now);
    if (last + find_memory_pause_ms <= now) {
      const PurgeReason reason{space.purge_causes(), PurgeCause::limit};
      purge_on_request(0);
      return true;
    }
  }
  const LimitHandler handler = limits.handler.load_acquire();
  return handler != nullptr && attempt < find_memory_attempts && handler(bytes) != 0;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_PURGE_NOW_HPP
