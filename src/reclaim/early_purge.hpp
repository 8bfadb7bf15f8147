// SPDX-License-Identifier: MIT
// reclaim/early_purge: a young process of one thread purges free memory in its own calls.
//
// A background thread is a second thread, and the kernel refuses a new user namespace to a process
// of two threads. A program may ask for one by an instruction of its own, which the library cannot
// foresee. Such programs (sandboxes, containers) ask early, and have one thread then. So the first
// free memory is purged at once, by the call that finds much of it.
//
// Whether the program will need it again is not known at that moment. The first sign that it does
// ends early release for good: pages were touched anew, or blocks came from purged pages. It also
// ends where a background thread serves better: much is free at once, much was purged, or little
// could be.
// Owns: how much was purged this way, and the result. Called on: the only thread, without locks.
// Must not know: whether there may be a background thread, and whether there is one thread.
#ifndef TALUS_RECLAIM_EARLY_PURGE_HPP
#define TALUS_RECLAIM_EARLY_PURGE_HPP

#include "base/base.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/heap.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "reclaim/purge_now.hpp"
#include "reclaim/sources.hpp"

namespace talus::core {

// Written by the only thread; a signal handler may come between, and find a little more or less.
struct EarlyPurge {
  Atomic<bool> is_over;
  size_t purged = 0;        // bytes purged this way
  size_t tries = 0;         // calls that purged; one that found little counts for several
  size_t touched_then = 0;  // touched_bytes() after the last of them
  size_t taken_then = 0;    // Space::taken_back_bytes() then
};
TALUS_CONSTINIT inline EarlyPurge early_purge;

// Bytes that are free and touched, and all bytes that may be touched.
struct TouchedBytes {
  size_t free = 0;
  size_t all = 0;
  size_t taken_back = 0;  // so far, from purged pages of slabs
};
inline TouchedBytes look_at_touched() noexcept {
  TouchedBytes found;
  for_each_heap([&found](Heap& heap) noexcept {
    Held held{lock_of(heap)};
    found.free += free_touched_bytes(heap);
  });
  Held held{space.lock()};
  found.free += space.dirty_bytes();
  found.all = space.counters().given_bytes + space.dirty_bytes();
  found.taken_back = space.taken_back_bytes(held);
  return found;
}

// Bytes that were touched since the last release only because of that release.
inline size_t reused_since_purge(const TouchedBytes& now) noexcept {
  const EarlyPurge& early = early_purge;
  const size_t touched = now.all > early.touched_then ? now.all - early.touched_then : 0;
  TALUS_ASSERT(now.taken_back >= early.taken_then && now.free <= now.all);
  const size_t reused = touched + (now.taken_back - early.taken_then);
  return reused < early.purged ? reused : early.purged;
}

// Purges what the caller's lists, slabs and ranges have. Returns bytes.
inline size_t purge_all_by_call() noexcept {
  const size_t before = purged_bytes_so_far();
  purge_early();
  return purged_bytes_so_far() - before;
}

// The process has one thread, and much is free and touched. False: a background thread is needed.
TALUS_APART bool purge_ahead() noexcept {
  EarlyPurge& early = early_purge;
  if (early.is_over.load_hint()) return false;
  purge_request.is_much.store_hint(false);
  const TouchedBytes now = look_at_touched();
  if (now.free > early_free_bytes_max || early.purged + now.free > early_bytes_max ||
      early.tries >= early_tries_max || reused_since_purge(now) >= early_reused_bytes_max) {
    early.is_over.store_hint(true);
    return false;
  }
  const size_t purged = purge_all_by_call();
  early.purged += purged;
  TALUS_ASSERT(early.tries < early_tries_max);  // so these calls end
  early.tries += purged >= purge_request_bytes_min / 4 ? 1 : early_tries_max / 4;
  const TouchedBytes left = look_at_touched();
  early.touched_then = left.all;
  early.taken_then = left.taken_back;
  return true;
}

}  // namespace talus::core

#endif  // TALUS_RECLAIM_EARLY_PURGE_HPP
