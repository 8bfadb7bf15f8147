// SPDX-License-Identifier: MIT
// process/fork: the heap survives fork in any state.
//
// Before a fork, a handler locks all locks in their order. So no thread refills or flushes a list,
// delivers blocks, or moves a range. Pushes and pops of other threads commit with one store. Memory
// in files is copied, so that each process has its own (space/file_fork.hpp). The handler does not
// wait for ranges that are being purged, because other threads may begin more at any time. The
// parent unlocks in the opposite order (process/fork_locks.hpp).
//
// In the child, the locks are made anew and these ranges are free again. The caches of threads that
// do not exist there become orphans. A thread that starts later adopts one. A process with one
// thread, such as a shell, takes no locks: each lock written is a page that parent and child then
// copy. A signal handler may fork while its thread holds some of the locks:
// process/interrupted_fork.hpp.
//
// The handlers lock and unlock in different functions, and the child has no other thread. So the
// thread safety analysis leaves them out.
//
// Owns: the three handlers. Called on: the forking thread.
#ifndef TALUS_PROCESS_FORK_HPP
#define TALUS_PROCESS_FORK_HPP

#include <pthread.h>

#include "base/base.hpp"
#include "settings/options.hpp"
#include "os/os.hpp"
#include "sync/lock_rank.hpp"
#include "sync/ranked_lock.hpp"
#include "space/space.hpp"
#include "bounded/life.hpp"
#include "heap/heap.hpp"
#include "heap/instance.hpp"
#include "heap/modes.hpp"
#include "heap/purge_request.hpp"
#include "heap/registry.hpp"
#include "heap/sound.hpp"
#include "store/instance_large.hpp"
#include "store/write_prefetch.hpp"
#include "statistics/print_statistics.hpp"
#include "threads/helper.hpp"
#include "threads/helper_fork.hpp"
#include "threads/helper_thread.hpp"
#include "threads/library_parts.hpp"
#include "threads/threads.hpp"
#include "process/fork_locks.hpp"
#include "process/interrupted_fork.hpp"

// The function behind pthread_atfork in glibc; other C libraries do not have it.
extern "C" {
[[gnu::weak]] TALUS_EXPORT int __register_atfork(void (*before)(), void (*in_parent)(),
                                                 void (*in_child)(), void* object) noexcept;
extern TALUS_HIDDEN void* __dso_handle;  // of the object that contains this code
}

namespace talus::core {

// True when no other thread can write to the heap now. A helper that exists before and after the
// count is in the count.
inline bool is_only_thread() noexcept {
  const auto has_helper = []() noexcept {
    HelperLife* life = helper.shared_life.load_acquire();
    return life != nullptr && life->shared_id.load_acquire() != 0;
  };
  const bool had_helper = has_helper();
  const size_t tasks = os::System::task_count();
  return tasks == 1 || (tasks == 2 && had_helper && has_helper());
}

// True when no other thread can be in the heap until a thread is made. libc says so, and it does
// not know Talus' own thread.
inline bool is_single_threaded() noexcept {
  const char* const told = talus_library_parts.single_threaded;
  return told != nullptr && *told != 0 && !may_have_helper();
}

// Memory in files is copied under the locks, or by a thread that holds some of them.
inline void before_fork() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  stop_prefetching();
  const bool was_alone = forks.is_alone.load_own();  // where it changes there is one thread
  bool is_alone = is_single_threaded() && file_stores.is_empty();
  // The signal may have interrupted a fork that took all locks.
  if (is_alone && !was_alone && holds_a_lock()) is_alone = false;
  if (was_alone != is_alone) forks.is_alone.store_own(is_alone);
  if (is_alone) return;
  if (holds_a_lock()) {
    before_interrupted_fork();
    return file_stores.before_fork(is_only_thread);
  }
  {
    const LocksOfOneRank in_order;
    for_each_fork_lock([](auto& lock) TALUS_NO_THREAD_SAFETY_ANALYSIS noexcept { lock.lock(); });
  }
  TALUS_ASSERT(space.is_sound() && is_told_sound());  // here no other thread changes them
  audit(registry);
  audit(instance_table);
  file_stores.before_fork(is_only_thread);
}

inline void after_fork_in_parent() noexcept TALUS_NO_THREAD_SAFETY_ANALYSIS {
  if (forks.is_alone.load_own()) return;
  file_stores.after_fork_in_parent(is_only_thread);
  if (ends_interrupted_fork()) return;
  for_each_fork_lock_backwards([](auto& lock)
                                   TALUS_NO_THREAD_SAFETY_ANALYSIS noexcept { lock.unlock(); });
  TALUS_ASSERT(holds_no_rank());
}

inline void take_space_over() noexcept {
  Held held{space.lock()};
  space.take_back_purges(held);
  space.purge_causes().forget_others();
  TALUS_ASSERT(space.is_sound());
  space.forget_moves(held);
}

// The process has another id, and so has its thread.
inline void renew_ids() noexcept {
  if (helper.shared_life.load_acquire() != nullptr) {
    forget_helper();
  } else {
    learn_process_id();
  }
  begin_clock_samples();
  renew_modes_in_child();
}

inline void after_fork_in_child() noexcept {
  // The kernel's permission does not pass on to children.
  if (options.observers == Observers::any) os::System::admit_observers();
  // The thread has another id, and may be the one that reported a fault.
  if (os::reporting_thread.load_init() != 0) os::System::note_report();
  if (forks.is_alone.load_own()) return renew_ids();
  file_stores.after_fork_in_child();  // first: after this the memory is this process's own
  if (ends_interrupted_fork()) return after_interrupted_fork_in_child();
  for_each_fork_lock([](auto& lock) noexcept { lock.reset_in_child(); });
  forget_helper();
  reset_printer_in_child();
  take_space_over();
  thread_end.ending_count.store_init(0);  // threads that were ending do not exist here
  for_each_instance_slot([](InstanceSlot& slot) noexcept { forget_moves(slot); });
  leave_bounded_caches();
  leave_other_caches(existing_cache());
  renew_modes_in_child();
}

// At start, or before the first handlers of others (entry/fork_order.cpp). Acts once.
TALUS_START void watch_forks() noexcept {
  if (forks.is_watched.load_init()) return;  // constructors run one after the other
  forks.is_watched.store_init(true);
  auto* register_by = talus_library_parts.register_forks;
  if (register_by == nullptr) register_by = __register_atfork;
  // A unit that calls pthread_atfork gets a copy of it at its far end. That copy would touch more
  // pages in every process.
  if (register_by != nullptr &&
      register_by(before_fork, after_fork_in_parent, after_fork_in_child, __dso_handle) == 0) {
    return;
  }
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace talus::core

#endif  // TALUS_PROCESS_FORK_HPP
