// SPDX-License-Identifier: MIT
// process/interrupted_fork: a fork in a signal handler that interrupted Talus under a lock.
//
// Such a thread would wait for its own lock. So the fork locks nothing: after it, parent and child
// each continue from the signal, and unlock what they hold. The background thread must not change
// the heap during the copy. At the copy it has ended its pass, or it waits for a lock of the
// forking thread. That wait lasts as long as the handler runs.
//
// Owns: what such a fork does instead of taking all locks. Invariants: nothing here waits for a
// lock of the calling thread, or without an end; the word of a lock names its holder
// (sync/lock.hpp). The child loses what the background thread held in the middle of a pass: at most
// a batch of slabs whose pages it purged, and blocks on their way home. Other threads of the
// program may be in the middle of any step. Then the child may call only what POSIX allows, as with
// other allocators. Called on: the forking thread.
#ifndef TALUS_PROCESS_INTERRUPTED_FORK_HPP
#define TALUS_PROCESS_INTERRUPTED_FORK_HPP

#include "base/base.hpp"
#include "classes/size_class.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "heap/context.hpp"
#include "heap/heap.hpp"
#include "heap/lists.hpp"
#include "heap/modes.hpp"
#include "heap/registry.hpp"
#include "statistics/print_statistics.hpp"
#include "threads/helper.hpp"
#include "threads/helper_fork.hpp"
#include "threads/threads.hpp"
#include "process/fork_locks.hpp"

namespace talus::core {

// Forks of this kind that are under way. Each entry has the mark of its thread, and whether the
// fork keeps the background thread from beginning a pass. A handler may interrupt another fork.
struct InterruptedForks {
  static constexpr size_t most = 16;
  static constexpr uint32_t keeps_helper = 1;
  Atomic<uint32_t> marks[most];

  // False: too many are under way.
  bool begin(uint32_t mark) noexcept {
    for (Atomic<uint32_t>& place : marks) {
      uint32_t none = 0;
      if (place.cas_acq_rel(none, mark)) return true;
    }
    return false;
  }
  // Ends one fork of the calling thread. Returns the mark that it began with; 0: the thread has
  // none.
  uint32_t end() noexcept {
    const uint32_t own = os::System::thread_mark();
    for (Atomic<uint32_t>& place : marks) {
      const uint32_t mark = place.load_own();  // others write other marks
      if ((mark & ~keeps_helper) != own) continue;
      place.store_release(0);
      return mark;
    }
    return 0;
  }
  // In the child.
  void forget_others() noexcept {
    const uint32_t own = os::System::thread_mark();
    for (Atomic<uint32_t>& place : marks) {
      if ((place.load_init() & ~keeps_helper) != own) place.store_init(0);
    }
  }
};

// What fork handlers leave for the handlers after the fork.
struct Forks {
  Atomic<bool> is_watched;  // the handlers are registered; written once, before threads begin
  // The present fork locked nothing. In the child libc may report one thread although the parent
  // had more, so the child uses this value instead.
  Atomic<bool> is_alone;
  InterruptedForks interrupted;
};
TALUS_CONSTINIT inline Forks forks;

// The longest wait for the background thread, as a pass may wait for a slow kernel.
inline constexpr uint64_t interrupted_patience_ms = 2000;

// True when a signal interrupted this thread under a lock.
inline bool holds_a_lock() noexcept {
  bool is_held = false;
  for_each_lock([&](Lock& lock) noexcept { is_held |= lock.is_own(); });
  return is_held;
}

// The background thread waits for this thread, and will until the handler returns.
inline bool is_helper_kept_waiting() noexcept {
  bool is_awaited = false;
  for_each_lock([&](Lock& lock) noexcept {
    if (lock.is_own()) is_awaited |= lock.is_awaited();
  });
  return is_awaited;
}

// True: it begins no pass until its lock is unlocked.
inline bool keep_helper() noexcept TALUS_TRY_ACQUIRE(true, helper.pass) {
  if (!may_have_helper() || helper.pass.is_own()) return false;
  const uint64_t until_ms = os::System::now_ms() + interrupted_patience_ms;
  is_helper_kept_waiting();  // clears a mark that an earlier waiter left
  while (!helper.pass.try_lock()) {
    os::System::sleep_us(50);
    if (is_helper_kept_waiting() || os::System::now_ms() > until_ms) return false;
  }
  return true;
}

// The analysis does not know that the fork unlocks at its end what this one locked or not.
inline void before_interrupted_fork() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  const bool is_kept = keep_helper();
  const uint32_t mark = os::System::thread_mark() | (is_kept ? InterruptedForks::keeps_helper : 0);
  while (!forks.interrupted.begin(mark)) os::System::sleep_us(50);
}

// False: this fork is of another kind.
inline bool ends_interrupted_fork() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  const uint32_t mark = forks.interrupted.end();
  if ((mark & InterruptedForks::keeps_helper) != 0) helper.pass.unlock();
  return mark != 0;
}

// A thread that does not exist here was emptying this thread's cache. Its slow lists may name
// blocks that already went home.
inline void forget_emptying(ThreadCache& cache) noexcept {
  if (!cache.idle_probe.lock.is_locked() || cache.idle_probe.lock.is_own()) return;
  for (size_t index = fast_class_count; index < class_count; index++) {
    const ClassId id{static_cast<uint8_t>(index)};
    list_of(cache, id).top.store_init(list_bottom(cache, id));  // single thread
  }
}

inline void after_interrupted_fork_in_child() noexcept {
  forks.interrupted.forget_others();
  if (!registry.decaying.is_own()) {
    for_each_heap_and_instance([](Heap& heap) noexcept { heap.purging_count = 0; });
  }
  if (ThreadCache* cache = existing_cache()) forget_emptying(*cache);
  for_each_lock([](Lock& lock) noexcept {
    if (!lock.is_own()) lock.reset_in_child();
  });
  if (!helper.pass.is_own()) helper.pass.reset_in_child();
  if (!space.lock().is_own()) {
    Held held{space.lock()};
    space.take_back_purges(held);  // all but those of this thread
  }
  thread_end.ending_count.store_init(0);  // threads that were ending do not exist here
  forget_helper_thread();
  if (!registry.lock.is_own()) leave_other_caches(existing_cache());
  begin_clock_samples();
  renew_modes_in_child();
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_INTERRUPTED_FORK_HPP
